"""What models without a row say of it, against as many fits."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pytest
import sklearn.svm
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import widestreet as ws
from conftest import OF_THREE, TOL
from support.fitting import decision
from support.machines import CONVEX, data
from support.machines import machine as batch
from support.online_machines import add, begun, fit, machine, mixed
from widestreet._src.engines.budget import Budget, OutOfBudget
from widestreet._src.estimators.leave_one_out import frozen_twin


@pytest.fixture
def rows(kind):
    return mixed(kind)


@pytest.fixture
def model(kind):
    return begun(kind)


# -- leaving one out ---------------------------------------------------------------------------


def refits(kind: str, X, y, **options) -> np.ndarray:
    """What batch fits without each row say of it."""
    found = []
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        other = fit(batch(kind, **options), kind, X[rest], y[rest])
        found.append(decision(other, X[i : i + 1])[0])
    return np.array(found)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_leaving_one_out_is_refitting_without_it(kind, kernel):
    X, y = data(kind, 24)
    model = fit(machine(kind, **CONVEX[kernel]), kind, X, y)
    before = decision(model, X)
    size = max(10.0, np.abs(model.dual_coef_).sum())
    np.testing.assert_allclose(
        model.leave_one_out(),
        refits(kind, X, y, **CONVEX[kernel]),
        rtol=0,
        atol=TOL.decision * size,
    )
    np.testing.assert_array_equal(decision(model, X), before)


def test_leaving_out_rows_that_hold_the_bias():
    """With all support vectors at their bounds, rows that are none decide where the middle is."""
    X, y = data("svc", 24)
    model = machine("svc", C=1e-3).fit(X, y)
    assert np.allclose(np.abs(model.dual_coef_), 1e-3, rtol=TOL.decision)
    values = refits("svc", X, y, C=1e-3)
    np.testing.assert_allclose(model.leave_one_out(), values, rtol=0, atol=TOL.decision)


def test_leaving_one_out_is_in_order_of_arrival(kind, model, rows):
    X, _ = rows
    model.forget([0, 5, 11])
    there = model.ids_
    wanted = [decision(copy.deepcopy(model).forget(i), X[i : i + 1])[0] for i in there]
    np.testing.assert_allclose(model.leave_one_out(), wanted, rtol=0, atol=TOL.decision)


@pytest.mark.parametrize("shape", ["ovo", "ovr"])
@pytest.mark.parametrize("kind", ["svc" + OF_THREE, "nu_svc" + OF_THREE])
def test_leaving_out_the_only_row_of_a_class(kind, shape):
    X, y = data(kind, 24)
    some = np.r_[np.flatnonzero(y != 1), np.flatnonzero(y == 1)[:1]]
    X, y = X[some], y[some]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "nu=.* is infeasible", UserWarning)
        model = machine(kind, decision_function_shape=shape).fit(X, y)
        wanted = [decision(copy.deepcopy(model).forget(i), X[i : i + 1])[0] for i in model.ids_]
        np.testing.assert_allclose(model.leave_one_out(), wanted, rtol=0, atol=TOL.decision)


@pytest.mark.parametrize("kind", ["svc", "nu_svc"])
def test_leaving_out_the_only_row_of_two_classes(kind):
    X, y = data(kind, 24)
    some = np.r_[np.flatnonzero(y < 0), np.flatnonzero(y > 0)[:1]]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "nu=.* is infeasible", UserWarning)
        values = machine(kind).fit(X[some], y[some]).leave_one_out()
    assert values[-1] == -1.0


@pytest.mark.parametrize("kind", ["svr", "nu_svr", "one_class"])
def test_nothing_is_known_of_the_only_row(kind):
    X, y = data(kind, 24)
    assert np.isnan(add(machine(kind), kind, X[:1], y[:1]).leave_one_out()).all()


# -- of plain estimators -----------------------------------------------------------------------


def left_out(estimator, kind: str, X, y, **options) -> np.ndarray:
    return ws.leave_one_out(estimator, X, *(() if kind == "one_class" else (y,)), **options)


def test_plain_estimators_are_left_as_they_are(kind):
    X, y = data(kind, 24)
    estimator = batch(kind)
    values = left_out(estimator, kind, X, y)
    with pytest.raises(NotFittedError):
        decision(estimator, X)
    np.testing.assert_array_equal(values, fit(machine(kind), kind, X, y).leave_one_out())
    np.testing.assert_array_equal(values, left_out(machine(kind), kind, X, y))


def test_weights_count(kind):
    X, y = data(kind, 24)
    weight = np.where(np.arange(24) < 4, 2.0, 1.0)
    weight[-1] = 0.0
    values = left_out(batch(kind), kind, X, y, sample_weight=weight)
    for i in (0, 7, 23):
        rest = weight * (np.arange(24) != i)
        other = fit(batch(kind), kind, X, y, rest)
        np.testing.assert_allclose(
            values[i], decision(other, X[i : i + 1])[0], rtol=0, atol=TOL.decision
        )


def test_parameters_count():
    X, y = data("svc", 24)
    estimator = batch("svc", class_weight={-1: 4.0}, kernel="poly", degree=2, coef0=1.0)
    values, wanted = ws.leave_one_out(estimator, X, y), []
    for i in range(24):
        rest = np.arange(24) != i
        wanted.append(clone(estimator).fit(X[rest], y[rest]).decision_function(X[i : i + 1])[0])
    np.testing.assert_allclose(values, wanted, rtol=0, atol=TOL.decision)


def test_sparse_rows(kind):
    X, y = data(kind, 24)
    values = left_out(batch(kind), kind, sparse.csr_matrix(X), y)
    np.testing.assert_allclose(values, left_out(batch(kind), kind, X, y), rtol=0, atol=TOL.decision)


@pytest.mark.parametrize("estimator", ["SVC", ws.SVC, sklearn.svm.SVC(), None])
def test_only_estimators_of_ours(estimator):
    X, y = data("svc", 24)
    with pytest.raises(TypeError, match="estimator must be one of SVC, NuSVC"):
        ws.leave_one_out(estimator, X, y)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"kernel": "precomputed"}, "pass the rows"),
        ({"kernel": "sigmoid"}, "positive semidefinite"),
        ({"class_weight": "balanced"}, "pass a dict"),
        ({"C": -1.0}, "C must be"),
    ],
)
def test_what_cannot_be_done_is_refused(options, match):
    X, y = data("svc", 24)
    with pytest.raises(ValueError, match=match):
        ws.leave_one_out(ws.SVC(**options), X, y)


@pytest.mark.parametrize(
    "estimator",
    [ws.SVC(loss="squared_hinge"), ws.SVR(loss="squared_epsilon_insensitive")],
)
def test_squared_losses_are_refused(estimator):
    X = np.arange(8.0)[:, None]
    with pytest.raises(ValueError, match=r"does not support loss='squared_.*cross_val_predict"):
        ws.leave_one_out(estimator, X, np.arange(8) % 2)


@pytest.mark.parametrize("kind", ["svc", "nu_svc", "svr", "nu_svr"])
def test_the_fit_of_a_twin_ends_with_its_budget(kind):
    X, y = data(kind, 60)
    model = batch(kind).fit(X, y)
    with pytest.raises(OutOfBudget):
        frozen_twin(model, Budget(1e-9)).fit(X, y)
    twin = frozen_twin(model, Budget(1e4)).fit(X, y)
    np.testing.assert_allclose(decision(twin, X), decision(model, X), atol=TOL.decision * 10)
