"""The multiplicative engine against Algorithm 1 as printed, and its invariants."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import TOL
from reference import kernels
from reference import multiplicative as printed
from support.noisy_labels import LITERAL, noisy
from widestreet._src.engines.budget import Budget, OutOfBudget
from widestreet._src.engines.multiplicative.exponentiated_gradient import (
    FixedRate,
    MultiplicativeEngine,
    Projection,
)

pytestmark = pytest.mark.numeric

PACES = {"adaptive": Projection(), "literal": LITERAL, "fixed": FixedRate(2.0)}


class Watched:
    """K as a product, which keeps every vector it met."""

    def __init__(self, K: np.ndarray) -> None:
        self.K, self.met = K, []

    def __call__(self, coef: np.ndarray) -> np.ndarray:
        self.met.append(coef.copy())
        return self.K @ coef


def run(K, sign, pace=LITERAL, prior=None, *, product=None, observer=lambda record: None, **limits):
    engine = MultiplicativeEngine(
        (lambda coef: K @ coef) if product is None else product,
        sign,
        np.ones(len(sign)) if prior is None else prior,
        pace,
        length=np.sqrt(K.diagonal()),
        budget=Budget(**limits),
        observer=observer,
        keep=True,
    )
    return engine.solve()


def of(K, sign) -> np.ndarray:
    return sign[:, None] * K * sign


# -- as printed --------------------------------------------------------------------------------


@pytest.mark.usefixtures("chosen_data")
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("flipped", [0.0, 0.1])
def test_as_printed_until_the_first_rejection(seed, flipped):
    """After it, whether a step overshoots may be decided by the last digit.

    Until then, every step enlarges what the ones before it rounded.
    """
    K, sign = noisy(seed=seed, flipped=flipped)
    walk, found = printed.train(of(K, sign)), run(K, sign)
    same = walk.rejected_after[0]
    assert same > 5
    points = [weight for _, weight in found.members] + [found.last]
    for one, other in zip(walk.points[:same], points[:same], strict=True):
        np.testing.assert_allclose(other, one, rtol=TOL.edge, atol=0)
    etas = [eta for eta, _ in found.members][: same - 1]
    np.testing.assert_allclose(etas, walk.etas[: same - 1], rtol=TOL.edge)
    assert found.trace[same - 1].notes["epsilon"] == 0.1
    assert found.status == "approximate"


@pytest.mark.parametrize("seed", range(3))
def test_as_printed_to_the_end(seed):
    """Where it ends is the same to within what e can tell, and e has fallen below epsilon."""
    K, sign = noisy(seed=seed)
    Q = of(K, sign)
    walk, found = printed.train(Q), run(K, sign)
    rho = walk.points[-1] @ Q @ walk.points[-1]
    assert found.rho["last"] == pytest.approx(rho, rel=LITERAL.start)
    assert abs(found.steps - len(walk.etas)) <= 0.3 * len(walk.etas)
    halved = [record.notes["epsilon"] for record in found.trace]
    assert all(later <= earlier for earlier, later in pairwise(halved))
    assert {LITERAL.start / e for e in halved} <= {2.0**k for k in range(5)}


def test_a_few_steps_are_the_first_of_many():
    K, sign = noisy()
    many, few = run(K, sign), run(K, sign, max_steps=4)
    assert few.status == "iteration_limit"
    assert few.steps == len(few.members) == 4
    for (one, here), (other, there) in zip(few.members, many.members, strict=False):
        assert one == other
        np.testing.assert_array_equal(here, there)


# -- invariants --------------------------------------------------------------------------------


@pytest.mark.parametrize("pace", PACES)
@pytest.mark.parametrize("seed", range(3))
def test_invariants_of_every_step(pace, seed):
    K, sign = noisy(seed=seed)
    Q = of(K, sign)
    product = Watched(K)
    found = run(K, sign, PACES[pace], product=product, max_steps=100)
    assert found.steps == len(found.members) == len(found.trace) - 1 > 5
    best = 2 * printed.optimum(Q).objective
    points = [weight for _, weight in found.members] + [found.last]
    for record, weight in zip(found.trace, points, strict=True):
        rho, margin = weight @ Q @ weight, Q @ weight
        assert (weight > 0).all()
        assert abs(weight.sum() - 1) <= TOL.simplex
        assert record.notes["rho"] == pytest.approx(rho, rel=TOL.twin)
        assert record.notes["lower_bound"] == pytest.approx(
            2 * margin.min() - rho, abs=TOL.twin * rho
        )
        assert record.notes["lower_bound"] <= best * (1 + TOL.bracket)
        assert best <= record.notes["rho"] * (1 + TOL.bracket)
        assert record.dual_objective == -0.5 * record.notes["rho"]
        assert record.gap == record.violation >= 0
    rhos = [record.notes["rho"] for record in found.trace]
    assert all(later <= earlier for earlier, later in pairwise(rhos))
    counts = [record.notes["products"] for record in found.trace]
    assert counts[0] == 1
    assert all(a < b for a, b in pairwise(counts))
    assert counts[-1] <= len(product.met)
    for record in found.trace:
        assert record.n_sv == record.n_free <= record.working_set == len(sign)
        assert (record.pair_steps, record.rows_scanned, record.rows_skipped) == (0, 0, 0)


@pytest.mark.parametrize("growth", [1.0, 1.1, 1.5])
@pytest.mark.parametrize("seed", range(3))
def test_every_point_that_was_tried_has_the_edge_it_should_have(growth, seed):
    """Equation 16, of steps that were not taken as well: a'Q(point before) = rho / (1 + e)."""
    K, sign = noisy(seed=seed)
    product, accepted = Watched(K), []

    def look(record):
        accepted.append((len(product.met) - 1, record.notes["epsilon"]))

    pace = Projection(growth=growth)
    found = run(K, sign, pace, product=product, observer=look)
    weights = sign * np.array(product.met)
    taken = dict(accepted)
    before, e = 0, pace.start
    for at in range(1, len(weights)):
        margin = of(K, sign) @ weights[before]
        rho, edge = weights[before] @ margin, weights[at] @ margin
        if at in taken:
            e = taken[at]
            assert abs(edge - rho / (1 + e)) <= TOL.edge * rho
            before = at
        else:  # with an e that was halved afterwards
            assert edge < rho
            assert rho / edge - 1 <= pace.start * (1 + TOL.edge)
            assert weights[at] @ of(K, sign) @ weights[at] > rho
    assert len(taken) == found.steps + 1


@pytest.mark.parametrize("pace", PACES)
def test_the_ensemble_is_the_mean_of_its_members(pace):
    K, sign = noisy()
    found = run(K, sign, PACES[pace], max_steps=100)
    etas, members = zip(*found.members, strict=True)
    mean = np.average(members, axis=0, weights=etas)
    np.testing.assert_allclose(found.ensemble, mean, rtol=TOL.mean_of_members, atol=0)
    assert abs(found.ensemble.sum() - 1) <= TOL.simplex
    np.testing.assert_array_equal(found.first, members[0])
    for name in ("first", "last", "ensemble"):
        weight = getattr(found, name)
        assert found.rho[name] == pytest.approx(weight @ of(K, sign) @ weight, rel=TOL.twin)
    np.testing.assert_allclose([record.notes["eta"] for record in found.trace[1:]], etas)


def test_a_smaller_epsilon_comes_as_near_as_it_says():
    """To the optimum of the QP, and the last bound proves it."""
    K, sign = noisy(40)
    best = 2 * printed.optimum(of(K, sign)).objective
    gaps = []
    for least in (0.05, 0.005, 1e-5):
        found = run(K, sign, Projection(least=least))
        gaps.append(found.rho["last"] - best)
        assert found.trace[-1].notes["lower_bound"] <= best * (1 + TOL.bracket)
    assert gaps[2] < gaps[1] < gaps[0]
    assert gaps[2] <= 0.1 * gaps[1]


def test_permuted_rows():
    K, sign = noisy()
    order = np.random.default_rng(1).permutation(len(sign))
    prior = np.random.default_rng(2).uniform(0.5, 2.0, len(sign))
    one = run(K, sign, prior=prior, max_steps=6)
    other = run(K[np.ix_(order, order)], sign[order], prior=prior[order], max_steps=6)
    np.testing.assert_allclose(other.last, one.last[order], rtol=TOL.twin)
    np.testing.assert_allclose(other.ensemble, one.ensemble[order], rtol=TOL.twin)


@pytest.mark.parametrize("pace", PACES)
def test_a_repeated_row_is_a_doubled_prior(pace):
    K, sign = noisy()
    twice = np.r_[np.arange(len(sign)), 3, 7, 7]
    prior = np.bincount(twice).astype(float)
    one = run(K, sign, PACES[pace], prior, max_steps=6)
    other = run(K[np.ix_(twice, twice)], sign[twice], PACES[pace], max_steps=6)
    np.testing.assert_allclose(np.bincount(twice, other.last), one.last, rtol=TOL.twin)
    np.testing.assert_allclose(np.bincount(twice, other.ensemble), one.ensemble, rtol=TOL.twin)


@pytest.mark.parametrize("factor", [1e-250, 1e-3, 1e250])
def test_the_size_of_a_prior_does_not_matter(factor):
    K, sign = noisy()
    prior = np.linspace(0.5, 2.0, len(sign))
    one, other = run(K, sign, prior=prior, max_steps=6), run(K, sign, prior=factor * prior)
    np.testing.assert_allclose(other.members[5][1], one.members[5][1], rtol=TOL.twin)


def test_a_prior_that_underflows_leaves_its_rows_out():
    """Even of the sum of all priors, and without a word of NumPy about it."""
    K, sign = noisy()
    kept = np.arange(len(sign)) % 3 > 0
    prior = np.where(kept, 1e200, 1e-200)
    with np.errstate(all="raise", under="ignore"):
        found = run(K, sign, prior=prior, max_steps=6)
    alone = run(K[np.ix_(kept, kept)], sign[kept], max_steps=6)
    np.testing.assert_allclose(found.last[kept], alone.last, rtol=TOL.twin)
    assert found.last[~kept].max() < 1e-100


def test_the_size_of_the_kernel_does_not_matter():
    K, sign = noisy()
    one = run(K, sign, max_steps=6)
    for factor in (1e-12, 1e12):
        other = run(factor * K, sign, max_steps=6)
        np.testing.assert_allclose(other.last, one.last, rtol=TOL.twin)
        assert other.members[0][0] == pytest.approx(one.members[0][0] / factor, rel=TOL.twin)


# -- the end -----------------------------------------------------------------------------------


def test_nothing_to_do_at_the_optimum():
    """Orthogonal rows: equal weights are the hard-margin machine."""
    found = run(np.eye(6), np.repeat([1.0, -1.0], 3))
    assert found.steps == 0
    for weight in (found.first, found.last, found.ensemble):
        assert weight.tolist() == [1 / 6] * 6
    assert found.rho == dict.fromkeys(("first", "last", "ensemble"), pytest.approx(1 / 6))
    assert found.trace[0].gap == pytest.approx(0.0, abs=TOL.exact)


@pytest.mark.usefixtures("chosen_data")
def test_rows_that_contradict_each_other_end_at_zero(rng):
    X = rng.normal(size=(10, 2))
    K = kernels.matrix("rbf", np.r_[X, X], gamma=0.5)
    sign = np.repeat([1.0, -1.0], 10)
    assert run(K, sign).steps == 0
    found = run(K, sign, prior=rng.uniform(0.5, 2.0, 20))
    assert 0 < found.rho["last"] <= 1e-3 * found.rho["first"]
    unequal = [np.abs(weight[:10] - weight[10:]).max() for weight in (found.first, found.last)]
    assert unequal[1] < 0.5 * unequal[0]


@pytest.mark.parametrize("seed", range(20))
def test_a_rho_of_zero_is_not_below_zero(seed):
    """A linear kernel and two classes with one mean: a'Ka is rounding, of either sign."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20, 2))
    X[10:] += X[:10].mean(axis=0) - X[10:].mean(axis=0)
    found = run(X @ X.T, np.repeat([1.0, -1.0], 10))
    assert found.steps == 0
    assert abs(found.rho["first"]) < 1e-14


@pytest.mark.usefixtures("chosen_data")
def test_a_row_far_away_does_not_make_the_others_rounding():
    """Its kernel values are larger than all the others by more than float64 has digits."""
    K, sign = noisy()
    far = np.zeros((len(sign) + 1, len(sign) + 1))
    far[:-1, :-1], far[-1, -1] = K, 1e20
    found = run(far, np.r_[sign, 1.0], Projection(least=0.05), max_steps=1000)
    alone = run(K, sign, Projection(least=0.05))
    assert found.steps > alone.steps
    assert found.rho["last"] == pytest.approx(alone.rho["last"], rel=0.2)


@pytest.mark.parametrize("pace", PACES)
def test_an_indefinite_kernel_is_refused(pace):
    K = np.array([[1.0, 3.0], [3.0, 1.0]])
    with pytest.raises(ValueError, match=r"kernel is not positive semidefinite .* = -1\)"):
        run(K, np.array([1.0, -1.0]), PACES[pace])


def test_a_rate_that_is_too_high_takes_no_step():
    K, sign = noisy()
    found = run(K, sign, FixedRate(1e6))
    assert (found.steps, found.members, found.status) == (0, [], "approximate")
    np.testing.assert_array_equal(found.ensemble, found.first)


@pytest.mark.parametrize("rate", [0.1, 1.0])
def test_a_fixed_rate_is_the_rate_of_all_steps(rate):
    K, sign = noisy()
    found = run(K, sign, FixedRate(rate), max_steps=20)
    assert {eta for eta, _ in found.members} == {rate}
    a = np.full(len(sign), 1.0 / len(sign))
    for _ in range(20):
        a = a * np.exp(-rate * of(K, sign) @ a)
        a /= a.sum()
    np.testing.assert_allclose(found.last, a, rtol=TOL.twin)


def test_a_fixed_rate_ends_where_it_stands_still():
    """At the optimum, or where steps are too short to be seen; without a limit on them."""
    for (K, sign), rate in (((np.eye(3), np.array([1.0, -1.0, 1.0])), 1.0), (noisy(), 1e-300)):
        found = run(K, sign, FixedRate(rate))
        assert (found.steps, found.status) == (0, "approximate")


@pytest.mark.parametrize("error", [KeyboardInterrupt, OutOfBudget("time_limit")])
@pytest.mark.parametrize("at", [1, 2, 5])
def test_stopped_at_any_product(error, at):
    K, sign = noisy()
    calls = []

    def product(coef):
        calls.append(coef)
        if len(calls) == at:
            raise error
        return K @ coef

    found = run(K, sign, product=product)
    whole = run(K, sign)
    assert found.status == ("interrupted" if error is KeyboardInterrupt else "time_limit")
    assert found.steps == max(0, at - 2)
    for weight in (found.first, found.last, found.ensemble):
        assert abs(weight.sum() - 1) <= TOL.simplex
    if at == 1:
        assert set(found.rho.values()) == {np.inf}
    else:
        np.testing.assert_array_equal(found.last, whole.members[at - 2][1])


def test_an_observer_may_stop_it():
    K, sign = noisy()

    def enough(record):
        if record.round == 3:
            raise OutOfBudget("approximate")

    found = run(K, sign, observer=enough)
    assert (found.steps, found.status) == (3, "approximate")


# -- tiny problems -----------------------------------------------------------------------------


@given(
    st.integers(0, 10**6), st.integers(2, 9), st.sampled_from(["rbf", "linear"]),
    st.sampled_from(list(PACES)),
)  # fmt: skip
def test_tiny_problems_keep_the_invariants(seed, n, kernel, pace):
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, size=(n, 2)) / 2.0
    K = kernels.matrix(kernel, X, gamma=0.5) if kernel == "rbf" else X @ X.T
    sign = rng.permutation(np.where(np.arange(n) % 2, 1.0, -1.0))
    found = run(K, sign, PACES[pace], rng.uniform(0.1, 1.0, n), max_steps=300)
    Q, scale = of(K, sign), max(1e-300, K.diagonal().max())
    best = max(0.0, 2 * printed.optimum(Q + 1e-13 * scale * np.eye(n)).objective)
    rhos = [record.notes["rho"] for record in found.trace]
    assert all(later <= earlier for earlier, later in pairwise(rhos))
    for record in found.trace:
        assert record.notes["lower_bound"] <= best + TOL.bracket * scale
        assert best <= record.notes["rho"] + TOL.bracket * scale
    for weight in (found.first, found.last, found.ensemble):
        assert (weight > 0).all()
        assert abs(weight.sum() - 1) <= TOL.simplex
