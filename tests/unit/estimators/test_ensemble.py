"""EnsembleSVC: its model is the mean of machines on their way, whatever form its rows have."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import widestreet as ws
from conftest import OF_THREE, TOL
from reference import kernels
from reference import multiplicative as printed
from support.fitting import coefficients, cut_short
from support.machines import CONVEX, GAMMA, data

# Such a fit ends with its first step that overshoots: until then nothing depends on rounding.
FIRM = {"epsilon": 0.1, "epsilon_start": 0.1, "learning_rate": "literal", "gamma": GAMMA}
STEPS = 20  # of fits whose rho would fall to zero, where rounding decides when it is enough
AGGREGATES = ("ensemble", "last", "parzen")
FORMS = {
    "as it is": {},
    "low rank": {"rank": 20},
    "hardly any rank": {"rank": 2},
    "offset": {"intercept": True},
    "offset and low rank": {"rank": 0.1, "intercept": True},
    "last": {"aggregate": "last", "epsilon": 1e-3},
    "parzen": {"aggregate": "parzen"},
    "linear": {"kernel": "linear"},
    "fixed rate": {"learning_rate": 0.5, "max_iter": 20},
}


def ensemble(**options) -> ws.EnsembleSVC:
    return ws.EnsembleSVC(**{"n_jobs": 1, "random_state": 0, "folds": None} | options)


def firm(**options) -> ws.EnsembleSVC:
    return ensemble(**FIRM | {"prune": 0.0} | options)


def fitted(X, y, weight=None, **options) -> ws.EnsembleSVC:
    """A fit that may have run out of steps."""
    with cut_short():
        return ensemble(**{"gamma": GAMMA} | options).fit(X, y, weight)


def kernel_of(model, X, Z=None) -> np.ndarray:
    """Kernel values of a fitted model, the offset included."""
    name = model.kernel
    known = {"gamma": model._gamma, "coef0": model.coef0, "degree": model.degree}
    wanted = {"rbf": ["gamma"], "laplacian": ["gamma"], "linear": []}.get(name, list(known))
    K = kernels.matrix(name, X, Z, **{key: known[key] for key in wanted})
    return K + float(model.intercept)


def assert_same(one, other, X, Z=None) -> None:
    values = one.decision_function(X), other.decision_function(X if Z is None else Z)
    np.testing.assert_allclose(*values, rtol=0, atol=TOL.decision)


# -- against the paper -------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("aggregate", AGGREGATES)
@pytest.mark.parametrize("kernel", CONVEX)
def test_the_model_is_that_of_the_paper(kernel, aggregate, intercept):
    X, y = data("svc")
    parameters = {name: value for name, value in CONVEX[kernel].items() if name != "kernel"}
    K = kernels.matrix(kernel, X, **parameters)
    K += float(intercept)
    walk = printed.train(y[:, None] * K * y, 0.1, 0.1, most=STEPS)
    chosen = {"ensemble": walk.ensemble, "last": walk.points[-1], "parzen": walk.points[0]}
    options = FIRM | CONVEX[kernel] | {"prune": 0.0, "max_iter": STEPS}
    model = fitted(X, y, **options, aggregate=aggregate, intercept=intercept)
    wanted = K @ (y * chosen[aggregate])
    np.testing.assert_allclose(
        model.decision_function(X), wanted, rtol=0, atol=TOL.decision * np.abs(wanted).max()
    )
    steps = 1 if aggregate == "parzen" else len(walk.etas)
    assert model.n_iter_.tolist() == [steps]
    ended = "iteration_limit" if steps == STEPS else "approximate"
    assert model.certificate_.status == ended


def test_defaults_are_those_of_the_paper():
    X, y = data("svc")
    square = np.mean(np.sum((X - X.mean(axis=0)) ** 2, axis=1))
    model = ensemble().fit(X, y)
    assert model._gamma == pytest.approx(1 / square, rel=TOL.exact)
    told = ensemble(gamma=model._gamma, epsilon=0.005, epsilon_start=0.1, prune=1e-3).fit(X, y)
    np.testing.assert_array_equal(model.dual_coef_, told.dual_coef_)
    assert model.trace_[0].notes["rho"] == pytest.approx(
        y @ kernel_of(model, X) @ y / len(y) ** 2, rel=TOL.twin
    )


def test_attributes():
    X, y = data("svc")
    model = ensemble(prune=0.0).fit(X, y)
    assert model.dual_coef_.shape == (1, len(model.support_))
    assert np.abs(model.dual_coef_).sum() == pytest.approx(1.0, abs=TOL.simplex)
    np.testing.assert_array_equal(np.sign(model.dual_coef_[0]), y[model.support_])
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])
    assert model.n_support_.tolist() == [np.sum(y[model.support_] == c) for c in (-1, 1)]
    assert model.intercept_.tolist() == [0.0]
    assert model.shape_fit_ == X.shape
    assert model.fit_status_ == 0
    assert (model.pruning_bound_.tolist(), model.trace_left_.tolist()) == ([0.0], [0.0])
    assert len(model.trace_) == model.n_iter_[0] + 1
    assert model.n_kernel_values_ == 2 * len(y) ** 2  # held once, certified once
    with pytest.raises(AttributeError, match="linear"):
        _ = model.coef_


def test_weights_of_features():
    X, y = data("svc")
    model = ensemble(kernel="linear", intercept=True).fit(X, y)
    np.testing.assert_allclose(
        X @ model.coef_[0] + model.intercept_, model.decision_function(X), rtol=0, atol=TOL.twin
    )
    assert model.intercept_[0] == pytest.approx(model.dual_coef_.sum(), rel=TOL.exact)


# -- low rank ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", CONVEX)
def test_full_rank_is_the_kernel_itself(kernel):
    X, y = data("svc")
    options = FIRM | CONVEX[kernel] | {"max_iter": STEPS}
    exact = fitted(X, y, **options)
    for rank in (1000, 1e-13):
        model = fitted(X, y, **options, rank=rank)
        assert_same(model, exact, X)
        assert model.trace_left_[0] <= TOL.kernel_float64


def test_the_rank_is_what_was_asked_for():
    X, y = data("svc", 400)
    exact = firm().fit(X, y)
    for rank, most in ((10, 1.0), (100, 1.0), (0.2, 0.2), (0.01, 0.01)):
        model = firm(rank=rank).fit(X, y)
        assert 0 < model.trace_left_[0] < most
        assert np.mean(model.predict(X) == exact.predict(X)) > 0.9
        if rank == 10:
            distinct = len(np.unique(np.c_[X, y], axis=0))
            made = model.n_kernel_values_ - distinct**2  # the latter are those that certify
            assert 10 * distinct <= made < 20 * distinct  # some of the rows drawn are put back
    again, other = firm(rank=10).fit(X, y), firm(rank=10, random_state=1).fit(X, y)
    np.testing.assert_array_equal(again.dual_coef_, firm(rank=10).fit(X, y).dual_coef_)
    assert again.trace_left_ != other.trace_left_


def test_memory_decides_how_products_are_computed(rng):
    """A matrix that does not fit is computed anew for each product: the same model."""
    X, y = data("svc")
    whole, n = firm().fit(X, y), len(y)
    streamed = firm(max_memory=16 * n * n - 1).fit(X, y)
    assert whole.n_kernel_values_ == 2 * n * n
    assert streamed.n_kernel_values_ > 5 * n * n
    assert_same(whole, streamed, X)
    assert firm(max_memory=16 * n * n).fit(X, y).n_kernel_values_ == 2 * n * n
    with pytest.raises(ValueError, match=r"rank=50.*needs ([0-9,]+) bytes.*max_memory") as caught:
        firm(rank=50, max_memory=n * n).fit(X, y)
    needed = int(str(caught.value).split("needs ")[1].split(" ")[0].replace(",", ""))
    assert firm(rank=50, max_memory=needed).fit(X, y).trace_left_[0] < 1
    with pytest.raises(ValueError, match="max_memory"):
        firm(rank=50, max_memory=needed - 1).fit(X, y)


def test_a_part_of_the_trace_that_memory_does_not_allow_is_refused():
    X, y = data("svc", 400)
    little = {"max_memory": 8 * 400 * 220}
    missed = r"rank=0\.001.* 14 columns .*miss a fraction 0\.[0-9]+ of the trace"
    with pytest.raises(ValueError, match=missed):
        firm(rank=0.001, **little).fit(X, y)
    with pytest.raises(ValueError, match=r"rank=0\.9.*max_memory"):
        firm(rank=0.9, max_memory=1000).fit(X, y)
    assert firm(rank=0.9, **little).fit(X, y).trace_left_[0] <= 0.9


# -- the certificate ---------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("prune", [0.0, 0.05])
def test_the_certificate_is_of_the_exact_kernel(form, prune):
    X, y = data("svc", 60)
    model = fitted(X, y, **FORMS[form] | {"prune": prune})
    a = y * coefficients(model)
    a /= a.sum()
    Q = y[:, None] * kernel_of(model, X) * y
    rho, least, found = a @ Q @ a, (Q @ a).min(), model.certificate_
    exactly = {"rel": TOL.twin, "abs": TOL.twin * rho}
    assert found.dual_objective == pytest.approx(-rho / 2, **exactly)
    assert found.primal_objective == pytest.approx(rho / 2 - least, **exactly)
    assert found.gap == found.kkt_violation == pytest.approx(rho - least, **exactly)
    assert found.tol == pytest.approx(model.epsilon * rho, rel=TOL.twin)
    assert found.n_rows == len(y)
    if form == "fixed rate":
        assert found.status == "iteration_limit"
    else:
        assert found.status == ("optimal" if rho - least <= found.tol else "approximate")
    best = -printed.optimum(Q).objective
    assert found.dual_objective <= best + TOL.bracket <= found.primal_objective + 2 * TOL.bracket


def test_optimal_is_what_is_within_epsilon():
    """Orthogonal rows at the start, separable ones after many steps; not before."""
    X, y = np.eye(6), [0, 0, 0, 1, 1, 1]
    assert ensemble(kernel="linear").fit(X, y).certificate_.status == "optimal"
    X, y = np.array([[-2.0], [-1.0], [1.0], [3.0]]), [0, 0, 1, 1]
    found = ensemble(kernel="linear", aggregate="last", epsilon=1e-3).fit(X, y)
    assert found.certificate_.status == "optimal"
    assert found.certificate_.relative_gap <= 2 * found.epsilon
    assert (
        ensemble(kernel="linear", aggregate="parzen").fit(X, y).certificate_.status == "approximate"
    )


# -- pruning -----------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("prune", [1e-3, 0.1, 1.0])
def test_pruning_changes_no_value_by_more_than_it_says(form, prune, rng):
    X, y = data("svc", 200)
    full = fitted(X, y, **FORMS[form] | {"prune": 0.0})
    model = fitted(X, y, **FORMS[form] | {"prune": prune})
    coef = coefficients(full)
    length = np.sqrt(coef @ kernel_of(full, X) @ coef)
    Z = np.r_[X, 3.0 * rng.normal(size=(100, 3))]
    own = np.array([kernel_of(full, z[None])[0, 0] for z in Z])
    change = np.abs(model.decision_function(Z) - full.decision_function(Z))
    bound = model.pruning_bound_[0]
    assert (change <= bound * length * np.sqrt(own) * (1 + TOL.twin) + TOL.exact).all()
    assert 0 <= bound <= prune
    lost = np.abs(coef - coefficients(model)).sum() * np.sqrt(own[: len(y)].max()) / length
    assert lost <= bound * (1 + TOL.twin)
    if "rank" not in FORMS[form]:  # else |w| is only known to be longer than a part of it
        assert bound == pytest.approx(lost, rel=TOL.twin)
    kept = np.flatnonzero(coefficients(model))
    np.testing.assert_array_equal(coefficients(model)[kept], coef[kept])
    assert (bound > 0) == (len(kept) < len(full.support_))
    assert len(kept) > 0


def test_pruning_leaves_out_what_it_may():
    X, y = data("svc", 200)
    counts = [len(ensemble(prune=prune).fit(X, y).support_) for prune in (0.0, 0.01, 0.1, 0.5)]
    assert counts[0] == 200
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] < 150


# -- every step --------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ["svc", "svc" + OF_THREE])
def test_the_last_stage_is_the_model(form, kind, rng):
    X, y = data(kind)
    model = fitted(X, y, **FORMS[form] | {"prune": 0.0, "keep_stages": True})
    Z = rng.normal(size=(30, 3))
    stages = list(model.staged_decision_function(Z))
    assert model.n_members_.tolist() == model.n_iter_.tolist()
    steps = 0 if model.aggregate == "parzen" else model.n_iter_.max()
    assert len(stages) == max(1, steps + (model.aggregate == "last"))
    np.testing.assert_allclose(stages[-1], model.decision_function(Z), rtol=0, atol=TOL.twin)
    assert {stage.shape for stage in stages} == {model.decision_function(Z).shape}


@pytest.mark.parametrize("aggregate", ["ensemble", "last"])
@pytest.mark.parametrize("shape", ["ovr", "ovo"])
def test_a_stage_is_a_fit_that_ends_there(aggregate, shape):
    X, y = data("svc" + OF_THREE)
    options = FIRM | {"aggregate": aggregate, "prune": 0.0, "decision_function_shape": shape}
    model = fitted(X, y, **options, keep_stages=True)
    stages = list(model.staged_decision_function(X))
    for count in (1, 2, 5):
        stopped = fitted(X, y, **options, max_iter=count)
        here = count - (aggregate == "ensemble")
        np.testing.assert_allclose(stages[here], stopped.decision_function(X), atol=TOL.twin)


def test_stages_in_pieces(monkeypatch):
    from widestreet._src.estimators import ensemble as module

    X, y = data("svc" + OF_THREE)
    model = fitted(X, y, keep_stages=True, intercept=True)
    whole = list(model.staged_decision_function(X))
    monkeypatch.setattr(module, "_BLOCK_VALUES", 3 * 3 * len(X))
    for one, other in zip(model.staged_decision_function(X), whole, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=TOL.twin)
    model.set_params(intercept=False)  # it is the fitted model that has stages
    np.testing.assert_array_equal(next(model.staged_decision_function(X)), whole[0])


def test_stages_have_to_be_kept():
    X, y = data("svc")
    with pytest.raises(ValueError, match="keep_stages=True"):
        next(ensemble().fit(X, y).staged_decision_function(X))


# -- equivalent problems -----------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"intercept": True}, {"rank": 1000}, {"gamma": "paper"}])
@pytest.mark.parametrize("kind", ["svc", "svc" + OF_THREE])
def test_weights_are_repeated_rows(kind, options, rng):
    X, y = data(kind)
    weight = rng.integers(0, 4, len(y))
    twice = rng.permutation(np.repeat(np.arange(len(y)), weight))
    by_weight = firm(**options).fit(X, y, weight)
    by_rows = firm(**options).fit(X[twice], y[twice])
    assert_same(by_weight, by_rows, X)
    there = weight > 0
    assert_same(by_weight, firm(**options).fit(X[there], y[there], weight[there]), X)
    assert_same(by_weight, firm(**options).fit(X, y, 1e-3 * weight), X)
    assert not set(by_weight.support_) & set(np.flatnonzero(~there))


def test_class_weights_multiply_weights(rng):
    X, y = data("svc" + OF_THREE)
    each = {0: 1.0, 1: 3.0, 2: 0.5}
    weight = np.array([each[label] for label in y])
    assert_same(firm(class_weight=each).fit(X, y), firm().fit(X, y, weight), X)
    few = np.r_[np.flatnonzero(y == 0)[:10], np.flatnonzero(y > 0)]
    balanced = firm(class_weight="balanced", aggregate="parzen").fit(X[few], y[few])
    i, j = np.triu_indices(3, 1)
    for pair in zip(i, j, strict=True):
        inside = np.isin(y[few][balanced.support_], pair)
        assert inside.any()
    mass = np.abs(balanced.dual_coef_)[0][y[few][balanced.support_] <= 1]
    own = y[few][balanced.support_][y[few][balanced.support_] <= 1]
    assert mass[own == 0].sum() == pytest.approx(mass[own == 1].sum(), rel=TOL.twin)


@pytest.mark.parametrize("kind", ["svc", "svc" + OF_THREE])
def test_the_order_of_rows_does_not_matter(kind, rng):
    X, y = data(kind)
    order = rng.permutation(len(y))
    assert_same(firm().fit(X, y), firm().fit(X[order], y[order]), X)


def test_exchanging_the_labels_negates_the_function():
    for kind in ("svc", "svc" + OF_THREE):
        X, y = data(kind)
        pairs = {"decision_function_shape": "ovo"}
        one, other = (
            model.decision_function(X).reshape(len(y), -1)
            for model in (firm(**pairs).fit(X, y), firm(**pairs).fit(X, -y))
        )
        np.testing.assert_allclose(one, -other[:, ::-1], rtol=0, atol=TOL.decision)


@pytest.mark.parametrize(
    "names", [("ham", "spam"), (False, True), (3, 7), (0.0, 1.0), (np.uint8(1), np.uint8(2))]
)
def test_labels_of_any_kind(names):
    X, y = data("svc")
    labels = np.where(y > 0, np.asarray(names[1]), np.asarray(names[0]))
    model = firm().fit(X, labels)
    assert model.classes_.tolist() == list(names)
    assert_same(model, firm().fit(X, y), X)
    np.testing.assert_array_equal(model.predict(X) == names[1], model.decision_function(X) >= 0)
    assert model.predict(X).dtype == labels.dtype


# -- several classes ---------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"rank": 30}, {"intercept": True}])
def test_several_classes_are_all_pairs(options):
    X, y = data("svc" + OF_THREE)
    y = np.where(np.arange(len(y)) % 4 == 3, 3, y)
    model = firm(decision_function_shape="ovo", **options).fit(X, y)
    values = model.decision_function(X)
    assert values.shape == (len(y), 6)
    for p, (i, j) in enumerate(combinations(range(4), 2)):
        here = np.isin(y, (i, j))
        alone = firm(**options).fit(X[here], y[here])
        if "rank" not in options:  # pairs draw their pivots one after the other
            np.testing.assert_allclose(
                values[:, p], -alone.decision_function(X), rtol=0, atol=TOL.decision
            )
    by_class = model.set_params(decision_function_shape="ovr").decision_function(X)
    assert by_class.shape == (len(y), 4)
    votes = np.zeros((len(y), 4))
    for p, (i, j) in enumerate(combinations(range(4), 2)):
        votes[:, i] += values[:, p] > 0
        votes[:, j] += values[:, p] <= 0
    np.testing.assert_array_equal(model.predict(X), model.classes_[by_class.argmax(axis=1)])
    assert (votes[np.arange(len(y)), by_class.argmax(axis=1)] == votes.max(axis=1)).all()
    assert [record.problem for record in model.trace_] == sorted(r.problem for r in model.trace_)
    counts = np.bincount([record.problem for record in model.trace_])
    assert counts.tolist() == (model.n_iter_ + 1).tolist()
    assert len(model.certificates_) == len(model.pruning_bound_) == len(model.trace_left_) == 6
    worst = max(model.certificates_, key=lambda c: c.kkt_violation)
    assert model.certificate_.kkt_violation == worst.kkt_violation


def test_linear_weights_of_several_classes():
    X, y = data("svc" + OF_THREE)
    model = firm(kernel="linear", decision_function_shape="ovo").fit(X, y)
    np.testing.assert_allclose(X @ model.coef_.T, model.decision_function(X), rtol=0, atol=TOL.twin)


# -- the form of rows --------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["svc", "svc" + OF_THREE])
@pytest.mark.parametrize("gamma", [GAMMA, "paper", "scale", "auto"])
def test_rows_in_any_form(kind, gamma):
    X, y = data(kind)
    options = {"gamma": gamma, "keep_stages": True}
    model = firm(**options).fit(X, y)
    K = kernels.matrix("rbf", X, gamma=model._gamma)

    def own(A, B):
        return kernels.matrix("rbf", A, B, gamma=model._gamma)

    others = {
        "float32": (X.astype(np.float32), {}),
        "columns first": (np.asfortranarray(X), {}),
        "csr": (sparse.csr_matrix(X), {}),
        "csr array": (sparse.csr_array(X), {}),
        "csc": (sparse.csc_matrix(X), {}),
        "list": (X.tolist(), {}),
        "kernel matrix": (K, {"kernel": "precomputed"}),
        "function": (X, {"kernel": own}),
    }
    for name, (rows, more) in others.items():
        other = firm(**options | more).fit(rows, y)
        assert_same(model, other, X, rows)
        last = list(other.staged_decision_function(rows))[-1]
        np.testing.assert_allclose(last, other.decision_function(rows), atol=TOL.twin)
        unknown = "kernel" in more
        assert np.isnan(other.certificate_.gap) == unknown, name
        assert other.certificate_.kkt_violation == pytest.approx(
            model.certificate_.kkt_violation, rel=TOL.decision
        )
        if not unknown:
            assert_same(model, other, sparse.csr_matrix(X))


def test_low_rank_of_any_kernel():
    X, y = data("svc")
    K = kernels.matrix("rbf", X, gamma=GAMMA)
    models = [
        firm(rank=15).fit(X, y),
        firm(rank=15, kernel="precomputed").fit(K, y),
        firm(rank=15, kernel=lambda A, B: kernels.matrix("rbf", A, B, gamma=GAMMA)).fit(X, y),
    ]
    for model, rows in zip(models[1:], (K, X), strict=True):
        assert_same(models[0], model, X, rows)


@pytest.mark.parametrize("gamma", ["paper", "scale"])
def test_entries_that_are_sums(gamma):
    """Sparse rows may name a column twice."""
    data = np.array([1.0, 1.0, 2.0, 3.0, 0.5])
    X = sparse.csr_matrix((data, [0, 0, 1, 1, 0], [0, 2, 3, 5]), shape=(3, 2))
    assert not X.has_canonical_format
    make = ws.EnsembleSVC if gamma == "paper" else ws.SVC
    one, other = (make(gamma=gamma).fit(rows, [0, 1, 1]) for rows in (X, X.toarray()))
    assert one._gamma == pytest.approx(other._gamma, rel=TOL.exact)


# -- small and degenerate ----------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_two_rows(form):
    model = fitted([[-1.0], [1.0]], ["a", "b"], **FORMS[form])
    assert model.certificate_.status == "optimal"
    np.testing.assert_allclose(model.dual_coef_, [[-0.5, 0.5]], atol=TOL.twin)
    assert model.predict([[-0.1], [0.1]]).tolist() == ["a", "b"]


@pytest.mark.parametrize("form", FORMS)
def test_one_row_of_a_class(form):
    X, y = data("svc", 21)
    few = np.r_[0, np.flatnonzero(y > 0)]
    model = fitted(X[few], y[few], **FORMS[form])
    assert np.isfinite(model.decision_function(X)).all()
    assert model.n_support_.tolist()[0] == 1


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("value", [0.0, 0.3])
def test_rows_that_are_all_equal(form, value):
    """The larger class wins, or nobody; both is what equal rows are."""
    for gamma in (GAMMA, "paper"):
        X, y = np.full((7, 2), value), [0, 0, 0, 0, 1, 1, 1]
        model = fitted(X, y, **FORMS[form] | {"gamma": gamma})
        values = model.decision_function(X)
        assert (values <= TOL.exact).all()
        assert np.ptp(values) == 0
        assert np.isfinite(model.decision_function(X + 1.0)).all()


@pytest.mark.parametrize("form", FORMS)
def test_contradictory_rows(form, rng):
    X, y = data("svc", 40)
    X[20:30] = X[:10]
    model = fitted(X, y, **FORMS[form])
    assert np.isfinite(model.decision_function(X)).all()
    assert model.certificate_.status in ("approximate", "optimal", "iteration_limit")
    if "rank" not in FORMS[form]:  # what is left of a row is its own, even of two that are equal
        both = fitted(np.r_[X, X], np.r_[y, -y], **FORMS[form])
        assert np.abs(both.decision_function(X)).max() <= TOL.twin


@pytest.mark.parametrize("options", [{}, {"rank": 2}, {"max_memory": 2000}, {"intercept": True}])
@pytest.mark.parametrize("seed", range(5))
def test_classes_with_one_mean_and_a_linear_kernel(options, seed):
    """There is no margin at all, which is no fault of the kernel."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 2))
    X[15:] += X[:15].mean(axis=0) - X[15:].mean(axis=0)
    model = ensemble(kernel="linear", **options).fit(X, np.repeat([0, 1], 15))
    assert model.certificate_.status == "approximate"
    assert np.abs(model.coef_).max() <= TOL.twin


def test_constant_columns_add_nothing():
    X, y = data("svc")
    wide = np.c_[X, np.full(len(y), 1.5)]
    for gamma in (GAMMA, "paper"):
        one, other = firm(gamma=gamma).fit(X, y), firm(gamma=gamma).fit(wide, y)
        assert_same(one, other, X, wide)


@pytest.mark.parametrize("rank", [None, 3, 0.1])
def test_rows_of_length_zero(rank):
    X, y = data("svc", 40)
    X[:5] = 0.0
    model = ensemble(kernel="linear", rank=rank).fit(X, y)
    assert model.decision_function(np.zeros((1, 3))).tolist() == [0.0]
    nothing = ensemble(kernel="linear", rank=rank).fit(np.zeros((6, 2)), [0, 0, 0, 0, 1, 1])
    assert nothing.certificate_.status == "optimal"
    assert nothing.decision_function(np.ones((2, 2))).tolist() == [0.0, 0.0]


@given(
    st.integers(0, 10**6), st.integers(2, 10), st.sampled_from(list(FORMS)), st.booleans()
)  # fmt: skip
def test_tiny_problems(seed, n, form, weighted):
    """Whatever the rows are: a finite model, weights on the simplex, a proof that holds."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, size=(n, 2)) / 2.0
    y = rng.permutation(np.arange(n) % 2)
    weight = rng.uniform(0.1, 2.0, n) if weighted else None
    model = fitted(X, y, weight, **FORMS[form] | {"prune": 0.0})
    sign = np.where(y == 1, 1.0, -1.0)
    a = sign * coefficients(model)
    assert (a >= 0).all()
    assert a.sum() == pytest.approx(1.0, abs=TOL.simplex)
    Q = sign[:, None] * kernel_of(model, X) * sign
    scale = max(Q.diagonal().max(), 1e-300)
    best = printed.optimum(Q + 1e-13 * scale * np.eye(n)).objective
    assert -model.certificate_.dual_objective >= best - TOL.bracket * scale
    assert -model.certificate_.primal_objective <= best + TOL.bracket * scale
    np.testing.assert_allclose(
        model.decision_function(X), kernel_of(model, X) @ (sign * a), rtol=0, atol=TOL.twin * scale
    )
