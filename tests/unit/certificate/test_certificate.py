"""When a point is good enough: violation, gap and rounding; and that the best point is returned."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning

import widestreet as ws
from conftest import TOL
from widestreet._src.certificate import Certificate, Examination
from widestreet._src.status import Status

pytestmark = pytest.mark.numeric


def found(**changes) -> Examination:
    """An examination of a point that is nearly optimal."""
    figures = {"primal": 10.001, "dual": 10.0, "violation": 1e-4, "infeasibility": 0.0}
    rest = {"rounding": 1e-9, "mass": 0.0, "convex": True}
    return Examination(**{"rows": 3, "bias": np.zeros(1)} | figures | rest | changes)


# -- what "optimal" means ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({}, "optimal"),
        ({"violation": 2e-3}, "stalled"),
        ({"rounding": 0.95e-3}, "stalled"),
        ({"rounding": np.inf}, "stalled"),
        ({"primal": 10.2}, "stalled"),
        ({"primal": 9.8}, "stalled"),  # below the dual by more than the gap allowed
        ({"primal": 10.2, "convex": False}, "optimal"),
        ({"infeasibility": 1e-6}, "stalled"),
    ],
)
def test_all_conditions_are_needed(changes, status):
    assert found(**changes).certificate("optimal", 1e-3).status == status


def test_the_gap_may_be_left_out_of_it():
    point = found(primal=100.0)
    assert point.certificate("optimal", 1e-3, None).status == "optimal"
    assert point.certificate("optimal", 1e-3, 0.95).status == "optimal"
    assert point.certificate("optimal", 1e-3, 0.5).status == "stalled"


def test_an_objective_of_zero_has_no_relative_gap():
    """nu machines without a margin: then the gap is compared with tol, as the violation is."""
    point = found(primal=1e-6, dual=-1e-6, mass=10.0)
    assert point.certificate("optimal", 1e-3).relative_gap > 1
    assert point.certificate("optimal", 1e-3).status == "optimal"
    assert replace(point, mass=0.0).certificate("optimal", 1e-3).status == "stalled"


@pytest.mark.parametrize(
    ("changes", "least", "most"),
    [
        ({"violation": 2e-3}, 1e-3, 1e-3),
        ({"violation": 9e-4, "rounding": 6e-4}, 0.39e-3, 0.41e-3),
        ({"violation": 9e-4, "rounding": 0.999e-3}, 0.1e-3, 0.1e-3),
        ({"violation": 2e-3, "rounding": 1.0}, 1e-3, 1e-3),  # as far as the arithmetic goes
        ({"primal": 20.0}, 1e-7, 0.5e-4),
        ({"primal": 10.11}, 1e-7, 0.5e-4),
        ({"violation": np.inf}, 0.99e-3, 1e-3),
    ],
)
def test_what_the_engine_is_to_reach_next(changes, least, most):
    assert least <= found(**changes).next_violation(1e-3, 0.01) <= most


@pytest.mark.parametrize(
    "changes", [{}, {"rounding": 1.0}, {"violation": 0.0, "primal": 20.0}, {"convex": False}]
)
def test_when_the_engine_has_nothing_left_to_gain(changes):
    assert found(**changes).next_violation(1e-3, 0.01) is None


# -- fits --------------------------------------------------------------------------------------


def noisy(n=400):
    return make_classification(n, 10, n_informative=5, flip_y=0.3, random_state=0)


@pytest.mark.parametrize("strategy", ["auto", "smo", "prsvm"])
@pytest.mark.parametrize("small", [True, False])
def test_a_small_violation_with_a_large_gap_is_not_the_end(strategy, small, request):
    if not small:
        request.getfixturevalue("by_rounds")
    X, y = noisy()
    options = {"C": 1e6, "gamma": 0.1, "tol": 1.0, "strategy": strategy, "random_state": 0}
    early = ws.SVC(gap_tol=None, **options).fit(X, y).certificate_
    late = ws.SVC(**options).fit(X, y).certificate_
    assert early.status == late.status == "optimal"
    assert late.relative_gap <= 0.01 < early.relative_gap
    assert late.gap_tol == 0.01
    assert early.gap_tol is None


def test_the_gap_of_every_pair_is_closed():
    X, y = make_classification(300, 10, n_informative=6, n_classes=3, flip_y=0.2, random_state=0)
    model = ws.SVC(C=1e6, gamma=0.1, tol=1.0, random_state=0).fit(X, y)
    assert all(c.status == "optimal" and c.relative_gap <= 0.01 for c in model.certificates_)


@pytest.mark.parametrize("value", [0, -1.0, "0.01", np.nan])
def test_bad_values_of_gap_tol(value):
    with pytest.raises((ValueError, TypeError), match="gap_tol"):
        ws.SVR(gap_tol=value).fit([[0.0], [1.0]], [0.0, 1.0])


def test_no_model_is_worse_than_zero_coefficients():
    """Kernel values of 1e20: rounding makes pair steps go astray."""
    rng = np.random.default_rng(0)
    X = rng.lognormal(size=(60, 10)) * np.logspace(0, 4, 10)
    y = (np.log(X[:, :3]).sum(axis=1) + rng.normal(size=60) > 0).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = ws.SVC(kernel="poly", gamma=1.0, max_iter=200_000, random_state=0).fit(X, y)
    assert model.certificate_.dual_objective >= 0.0
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.usefixtures("by_rounds")
def test_the_best_point_that_was_examined_is_returned(monkeypatch):
    from widestreet._src.engines.working_set.engine import WorkingSetEngine

    solve = WorkingSetEngine.solve

    def spoilt(self):
        solution = solve(self)  # which has the optimum examined
        return replace(solution, beta=0.9 * solution.beta, status="time_limit")

    X, y = noisy()
    honest = ws.SVC(random_state=0).fit(X, y)
    monkeypatch.setattr(WorkingSetEngine, "solve", spoilt)
    model = ws.SVC(random_state=0).fit(X, y)
    assert model.certificate_ == honest.certificate_
    np.testing.assert_array_equal(model.decision_function(X), honest.decision_function(X))


# -- rows and words ----------------------------------------------------------------------------


def test_no_pair_is_worse_than_zero_coefficients():
    rng = np.random.default_rng(0)
    X = rng.lognormal(size=(60, 10)) * np.logspace(0, 4, 10)
    y = rng.integers(0, 3, 60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = ws.SVC(kernel="poly", gamma=1.0, max_iter=5_000, random_state=0).fit(X, y)
    assert all(c.dual_objective >= 0.0 for c in model.certificates_)


def test_rows_that_overflow_are_not_predicted():
    X, y = noisy(60)
    model = ws.SVC(kernel="poly").fit(X, y)
    with pytest.raises(ValueError, match="X contains rows so large"):
        model.predict(X * 1e200)


def test_rows_are_counted_as_the_user_passed_them():
    X, y = noisy(60)
    X, y = np.repeat(X, 3, axis=0), np.repeat(y, 3)
    weight = np.ones(len(y))
    weight[:3] = 0.0
    certificate = ws.SVC().fit(X, y, weight).certificate_
    assert (certificate.n_rows, certificate.n_distinct_rows) == (177, 59)
    assert "177 rows examined (59 distinct)" in str(certificate)
    regression = ws.SVR().fit(X, y).certificate_
    assert (regression.n_rows, regression.n_distinct_rows) == (180, 60)
    one = ws.OneClassSVM().fit(X).certificate_
    assert (one.n_rows, one.n_distinct_rows) == (180, 60)


def test_rows_of_pairs_of_classes():
    X = np.repeat(np.random.default_rng(0).normal(size=(30, 2)), 2, axis=0)
    y = np.repeat([0, 1, 2], [10, 20, 30])
    for model in (ws.SVC(), ws.EnsembleSVC()):
        certificates = model.fit(X, y).certificates_
        assert [c.n_rows for c in certificates] == [30, 40, 50]
        assert [c.n_distinct_rows for c in certificates] == [15, 20, 25]


def test_a_point_that_was_not_examined():
    certificate = Certificate.unexamined(Status.INTERRUPTED, 1.0, 1e-3)
    assert certificate.n_rows == 0
    assert certificate.status == "interrupted"
    assert certificate.gap == certificate.kkt_violation == np.inf


def test_rows_of_one_class_need_no_proof():
    certificate = Certificate.trivial(5, 1e-3)
    assert (certificate.status, certificate.n_rows, certificate.tol) == ("optimal", 5, 1e-3)
    assert certificate.gap == certificate.kkt_violation == certificate.rounding == 0.0


def test_printing_a_certificate():
    text = str(ws.SVC().fit(*noisy(100)).certificate_)
    assert text.startswith("optimal: 100 rows examined, KKT violation")
    assert len(text) < 200
    assert "\n" not in text


# -- linear kernels are centred ------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["svc", "svc of three", "nu_svc", "svr", "nu_svr", "one_class"])
@pytest.mark.parametrize("offset", [0.0, 1e4, 1e6])
def test_coef_and_intercept_give_the_decision_values(kind, offset):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4)) + offset
    score = X[:, 0] - offset + 0.3 * rng.normal(size=80)
    y = np.digitize(score, [-0.5, 0.5]) if kind == "svc of three" else (score > 0).astype(int)
    make = {
        "svc": ws.SVC, "svc of three": ws.SVC, "nu_svc": ws.NuSVC, "svr": ws.SVR,
        "nu_svr": ws.NuSVR, "one_class": ws.OneClassSVM,
    }[kind]  # fmt: skip
    model = make(kernel="linear")
    if kind.startswith("svc"):
        model.set_params(decision_function_shape="ovo")
    model.fit(X, score if kind.endswith("svr") else y)
    decide = model.predict if kind.endswith("svr") else model.decision_function
    by_weights = (X @ model.coef_.T + model.intercept_).reshape(decide(X).shape)
    size = 1 + np.abs(by_weights).max() + np.abs(model.coef_).max() * (offset + 1)
    np.testing.assert_allclose(decide(X), by_weights, rtol=0, atol=TOL.twin * size)
    np.testing.assert_allclose(
        decide(sparse.csr_matrix(X)), decide(X), rtol=0, atol=TOL.twin * size * (1 + offset)
    )


@pytest.mark.parametrize("make", [ws.SVC, partial(ws.NuSVC, nu=0.9)])
def test_an_offset_changes_neither_objective_nor_decision_values(make):
    X, y = noisy(150)
    near = make(kernel="linear", tol=TOL.violation).fit(X, y)
    far = make(kernel="linear", tol=TOL.violation).fit(X + 1e3, y)
    assert far.certificate_.status == "optimal"
    objective = near.certificate_.dual_objective
    assert far.certificate_.dual_objective == pytest.approx(objective, rel=TOL.objective_rel)
    np.testing.assert_allclose(
        far.decision_function(X + 1e3), near.decision_function(X), atol=1e3 * TOL.decision
    )


def test_a_time_limit_is_said_with_its_cure():
    X, y = noisy(2000)
    with pytest.warns(ConvergenceWarning, match="raise max_time"):
        ws.SVC(C=1e6, kernel="linear", max_time=0.05).fit(X, y)
