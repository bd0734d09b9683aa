"""Several classes: every pair is a problem of its own, however the pairs share their work."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from conftest import TOL
from support.class_pairs import FORMS, GAMMA, SMALL, clouds, in_form, machine, ovo, rbf
from widestreet._src.problems.class_pairs import PairLayout
from widestreet._src.training import one_vs_one
from widestreet._src.training.engine_sequence import Solver

# -- the layout --------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def side_by_side(monkeypatch):
    """However few rows: that is what is tested here."""
    monkeypatch.setattr(one_vs_one, "_SERIAL_ROWS", 0)


# -- pairs are binary problems -----------------------------------------------------------------


def binary(model, X, y, i, j, weight=None):
    """The same machine on two classes only, the first of which is the positive one."""
    both = (y == i) | (y == j)
    alone = type(model)(**model.get_params())
    weight = None if weight is None else weight[both]
    return alone.fit(X[both], np.where(y[both] == i, 1, 0), weight)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "laplacian"])
@pytest.mark.parametrize("name", ["SVC", "NuSVC"])
def test_every_pair_is_the_machine_of_its_two_classes(name, kernel, n_jobs):
    X, y = clouds()
    options = {"gamma": GAMMA, "coef0": 1.0, "degree": 2, "kernel": kernel, "n_jobs": n_jobs}
    model = machine(name, **options).fit(X, y)
    decision = ovo(model, X)
    assert len(model.certificates_) == len(model.intercept_) == len(model.n_iter_) == 6
    for p, (i, j) in enumerate(PairLayout(4).pairs):
        alone = binary(model, X, y, i, j)
        apart = np.abs(decision[:, p] - alone.decision_function(X)).max()
        assert apart <= TOL.decision
        one, other = model.certificates_[p], alone.certificate_
        assert one.status == other.status == "optimal"
        assert one.n_rows == other.n_rows == np.isin(y, [i, j]).sum()
        assert one.dual_objective == pytest.approx(other.dual_objective, rel=TOL.objective_rel)


@pytest.mark.parametrize("name", ["SVC", "NuSVC"])
def test_weights_reach_every_pair(name, rng):
    X, y = clouds(3)
    weight = rng.choice([0.0, 0.5, 1.0, 2.0], len(y))
    weight[[np.flatnonzero(y == c)[0] for c in range(3)]] = 1.0
    class_weight = {0: 0.5, 2: 2.0}
    options = {} if name == "SVC" else {"nu": 0.2}
    model = machine(name, class_weight=class_weight, **options).fit(X, y, weight)
    assert model.class_weight_.tolist() == [0.5, 1.0, 2.0]
    decision, whole = ovo(model, X), model.class_weight_[y] * weight
    for p, (i, j) in enumerate(PairLayout(3).pairs):
        alone = binary(machine(name, **options), X, y, i, j, whole)
        assert np.abs(decision[:, p] - alone.decision_function(X)).max() <= TOL.decision


def test_balanced_classes_are_balanced_among_all():
    X, y = clouds(3)
    balanced = machine(class_weight="balanced").fit(X, y)
    weight = len(y) / (3 * np.bincount(y))
    given = machine(class_weight=dict(enumerate(weight))).fit(X, y)
    np.testing.assert_allclose(balanced.class_weight_, weight, rtol=TOL.exact)
    assert np.abs(ovo(balanced, X) - ovo(given, X)).max() <= TOL.decision


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["SVC", "NuSVC"])
def test_the_form_of_the_rows_does_not_matter(name, form):
    X, y = clouds()
    rows, kernel = in_form(form, X)
    model, plain = machine(name, kernel=kernel).fit(rows, y), machine(name).fit(X, y)
    assert np.abs(ovo(model, rows) - ovo(plain, X)).max() <= TOL.decision
    assert np.array_equal(model.predict(rows), plain.predict(X))


def test_coef_of_the_pairs():
    X, y = clouds()
    for rows in (X, sparse.csr_matrix(X)):
        model = machine(kernel="linear").fit(rows, y)
        values = np.asarray(rows @ model.coef_.T + model.intercept_)
        assert model.coef_.shape == (6, 3)
        np.testing.assert_allclose(values, ovo(model, rows), atol=TOL.decision)


@pytest.mark.parametrize("name", ["SVC", "NuSVC"])
def test_shapes_and_order_of_the_attributes(name):
    X, y = clouds(5)
    labels = np.array(["e", "b", "d", "a", "c"])[y]
    model = machine(name).fit(X, labels)
    plain = machine(name).fit(X, np.unique(labels, return_inverse=True)[1])
    assert model.classes_.tolist() == list("abcde")
    assert np.array_equal(model.dual_coef_, plain.dual_coef_)
    assert model.dual_coef_.shape == (4, len(model.support_))
    assert np.array_equal(labels[model.support_], np.sort(labels[model.support_]))
    count = [(labels[model.support_] == label).sum() for label in model.classes_]
    assert model.n_support_.tolist() == count
    assert np.array_equal(model.support_vectors_, X[model.support_])
    assert model.decision_function(X).shape == (len(y), 5)
    assert ovo(model, X).shape == (len(y), 10)
    assert set(model.predict(X)) <= set(labels)


# -- odd classes -------------------------------------------------------------------------------


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_classes_of_one_row(n_jobs):
    X, y = clouds(3)
    X, y = np.vstack([X, [[9.0, 0, 0], [0, 9.0, 0]]]), np.append(y, [3, 4])
    model = machine(n_jobs=n_jobs).fit(X, y)
    assert model.certificate_.status == "optimal"
    assert model.predict(X[-2:]).tolist() == [3, 4]
    only = machine().fit(np.eye(4), [0, 1, 2, 3])  # every pair is two rows
    assert np.array_equal(only.predict(np.eye(4)), np.arange(4))
    assert np.allclose(np.abs(only.dual_coef_), np.abs(only.dual_coef_[0, 0]), rtol=TOL.decision)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_many_small_classes(n_jobs, rng):
    centre = 10 * rng.normal(size=(30, 3))
    X, y = np.repeat(centre, 4, axis=0) + rng.normal(size=(120, 3)), np.repeat(np.arange(30), 4)
    model = machine(gamma=0.1, n_jobs=n_jobs, tol=1e-3).fit(X, y)
    assert len(model.certificates_) == 435
    assert all(c.status == "optimal" and c.n_rows == 8 for c in model.certificates_)
    assert model.score(X, y) > 0.95
    p = PairLayout(30).pairs.index((7, 21))
    alone = binary(machine(gamma=0.1), X, y, 7, 21)
    tight = machine(gamma=0.1, n_jobs=n_jobs).fit(X, y)
    assert np.abs(ovo(tight, X)[:, p] - alone.decision_function(X)).max() <= TOL.decision


def test_equal_rows_in_one_class_are_merged_and_across_classes_are_not(rng):
    X, y = clouds(3)
    again = rng.integers(0, len(y), 60)
    other = (y[again] + (np.arange(60) % 2)) % 3  # every other one with another label
    Z, z = np.vstack([X, X[again]]), np.append(y, other)
    model = machine().fit(Z, z)
    for p, (i, j) in enumerate(PairLayout(3).pairs):
        both = (z == i) | (z == j)
        alone = machine(kernel="precomputed")  # which merges nothing
        alone.fit(rbf(Z[both], Z[both]), np.where(z[both] == i, 1, 0))
        decision = alone.decision_function(rbf(X, Z[both]))
        assert np.abs(ovo(model, X)[:, p] - decision).max() <= TOL.decision


# -- side by side and one after the other --------------------------------------------------------


@pytest.mark.parametrize("name", ["SVC", "NuSVC"])
def test_the_way_to_train_does_not_change_the_model(name, monkeypatch):
    X, y = clouds(5, 300)
    beside = machine(name, n_jobs=2, strategy=SMALL).fit(X, y)
    monkeypatch.setattr(one_vs_one, "_PARALLEL_ROWS", 0)
    for n_jobs in (1, 2):
        after = machine(name, n_jobs=n_jobs, strategy=SMALL).fit(X, y)
        assert np.abs(ovo(beside, X) - ovo(after, X)).max() <= TOL.decision
        for one, other in zip(beside.certificates_, after.certificates_, strict=True):
            assert one.dual_objective == pytest.approx(other.dual_objective, rel=TOL.objective_rel)


@pytest.mark.parametrize("small", [0, 4000])
@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_same_random_state_and_threads_same_model(small, n_jobs, monkeypatch):
    """Whoever of the pairs is first."""
    monkeypatch.setattr(one_vs_one, "_PARALLEL_ROWS", small)
    X, y = clouds(5, 300)
    one, other = (
        machine(n_jobs=n_jobs, tol=1e-3, strategy=SMALL, random_state=3).fit(X, y) for _ in range(2)
    )
    assert np.array_equal(one.dual_coef_, other.dual_coef_)
    assert np.array_equal(one.intercept_, other.intercept_)
    assert one.n_kernel_values_ == other.n_kernel_values_
    assert np.array_equal(one.n_iter_, other.n_iter_)


@pytest.mark.usefixtures("by_rounds")
def test_pairs_in_order_begin_with_rows_that_served_before(monkeypatch):
    begun = []
    solve = Solver.by_rounds

    def watching(self, problem, observe):
        solution = solve(self, problem, observe)
        begun.append((problem, solution))
        return solution

    monkeypatch.setattr(Solver, "by_rounds", watching)
    monkeypatch.setattr(one_vs_one, "_MOST_FIRST_ROWS", 7)
    X, y = clouds(4)
    machine(n_jobs=1).fit(X, y)
    served = [np.zeros((y == c).sum(), dtype=int) for c in range(4)]
    for (problem, solution), (i, j) in zip(begun, PairLayout(4).pairs, strict=True):
        first = problem.first
        halves = first[first < len(served[i])], first[first >= len(served[i])] - len(served[i])
        for c, rows in zip((i, j), halves, strict=True):
            assert len(rows) == min(7, np.count_nonzero(served[c]))
            assert (served[c][rows] > 0).all()
            left_out = np.delete(served[c], rows)
            assert left_out.max(initial=0) <= served[c][rows].min(initial=99)
        support = np.split(solution.beta[0] != 0, [len(served[i])])
        served[i] += support[0]
        served[j] += support[1]
    begun.clear()
    machine(n_jobs=2).fit(X, y)
    assert all(problem.first is None for problem, _ in begun)
