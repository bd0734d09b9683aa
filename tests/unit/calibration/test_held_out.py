"""Decision values of models without the row, against refits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from conftest import OF_THREE, TOL
from support.machines import data, machine
from widestreet._src.calibration import held_out as module
from widestreet._src.calibration.held_out import held_out_decisions
from widestreet._src.engines.budget import Budget, OutOfBudget

CLASSIFIERS = ("svc", "nu_svc", "svc" + OF_THREE)


def held_out(model, X, y, weight=None, cv="loo", budget=None):
    weight = np.ones(len(y)) if weight is None else weight
    code = np.searchsorted(model.classes_, y)
    return held_out_decisions(model, X, code, weight, cv, budget or Budget())


def refits(model, X, y, folds):
    """Decision values of each test row by a fit without its fold, of shape (n, pairs)."""
    found = np.empty((len(y), len(model.intercept_)))
    for train, test in folds:
        other = clone(model).fit(X[train], y[train])
        found[test] = other.decision_function(X[test]).reshape(len(test), -1)
    return found


@pytest.mark.parametrize("kind", CLASSIFIERS)
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_matrix])
def test_leave_one_out_equals_refits(kind, storage):
    X, y = data(kind, 24)
    model = machine(kind).fit(storage(X), y)
    found = held_out(model, storage(X), y)
    each = [(np.delete(np.arange(24), i), np.array([i])) for i in range(24)]
    size = max(10.0, abs(model.dual_coef_).sum())
    values = refits(model, X, y, each)
    np.testing.assert_allclose(found.values, values, rtol=0, atol=TOL.decision * size)
    assert found.cv == "loo"


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_folds_equal_refits(kind, loss):
    X, y = data(kind, 60)
    model = machine(kind, **{} if kind == "nu_svc" else {"loss": loss}).fit(X, y)
    folds = list(StratifiedKFold(3).split(X, y))
    found = held_out(model, X, y, cv=folds)
    size = max(10.0, abs(model.dual_coef_).sum())
    values = refits(model, X, y, folds)
    np.testing.assert_allclose(found.values, values, rtol=0, atol=TOL.decision * size)
    assert found.cv == 3


@pytest.mark.parametrize("kind", ["svc", "svc" + OF_THREE])
def test_equal_rows_are_left_out_together(kind):
    """Weights are repetitions, and a weight of zero is a missing row."""
    X, y = data(kind, 30)
    weight = np.arange(30) % 4.0
    many = np.repeat(np.arange(30), weight.astype(int))
    one = machine(kind).fit(X, y, weight)
    other = machine(kind).fit(X[many], y[many])
    first, second = held_out(one, X, y, weight), held_out(other, X[many], y[many])
    np.testing.assert_array_equal(first.rows, many[second.rows])
    np.testing.assert_array_equal(first.weight, second.weight)
    size = max(10.0, abs(one.dual_coef_).sum())
    np.testing.assert_allclose(first.values, second.values, rtol=0, atol=TOL.decision * size)


@pytest.mark.parametrize("cv", ["loo", 3])
def test_balanced_weights_and_scaled_gamma_are_those_of_all_rows(cv):
    X, y = data("svc", 40)
    y = np.where(np.arange(40) < 30, y.min(), y)
    model = machine("svc", gamma="scale", class_weight="balanced").fit(X, y)
    weights = dict(zip(model.classes_.tolist(), model.class_weight_.tolist(), strict=True))
    fixed = machine("svc", gamma=model._gamma, class_weight=weights).fit(X, y)
    one, other = held_out(model, X, y, cv=cv), held_out(fixed, X, y, cv=cv)
    np.testing.assert_allclose(one.values, other.values, rtol=0, atol=TOL.decision)


def test_a_kernel_matrix_with_missing_rows():
    X, y = data("svc", 40)
    K, weight = X @ X.T, (np.arange(40) % 5 > 0).astype(float)
    there = np.flatnonzero(weight)
    model = machine("svc", kernel="precomputed").fit(K, y, weight)
    part = machine("svc", kernel="precomputed").fit(K[np.ix_(there, there)], y[there])
    one = held_out(model, K, y, weight, cv=4)
    other = held_out(part, K[np.ix_(there, there)], y[there], cv=4)
    np.testing.assert_array_equal(one.rows, there)
    np.testing.assert_allclose(one.values, other.values, rtol=0, atol=TOL.decision)


def test_a_class_of_few_rows_is_named():
    X, y = data("svc", 40)
    y = np.where(np.arange(40) < 37, y.min(), y.min() + 1)
    model = machine("svc").fit(X, y)
    with pytest.raises(ValueError, match=f"cv=5: 5 folds .* class {y.max()}, got 3: pass cv=3"):
        held_out(model, X, y, cv=5)


def test_a_fold_without_a_class_is_named():
    X, y = data("svc", 40)
    model = machine("svc").fit(X, y)
    train = np.flatnonzero(y == y[0])
    with pytest.raises(ValueError, match=r"^cv: a fold cannot be trained"):
        held_out(model, X, y, cv=[(train, np.setdiff1d(np.arange(40), train))])


def test_folds_without_a_class_each_are_named():
    X, y = data("svc" + OF_THREE, 60)
    folds = [(np.flatnonzero(y != k), np.flatnonzero(y == k)) for k in range(3)]
    with pytest.raises(ValueError, match=r"class 0 has no row in the training set of fold 0"):
        held_out(machine("svc" + OF_THREE).fit(X, y), X, y, cv=folds)


@pytest.mark.parametrize("cv", ["loo", 3])
def test_the_budget_is_respected(cv, monkeypatch):
    X, y = data("svc", 40)
    monkeypatch.setattr(module, "frozen_twin", None)  # the online fit must not begin
    with pytest.raises(OutOfBudget):
        held_out(machine("svc").fit(X, y), X, y, cv=cv, budget=Budget(1e-9))


def fits_of_their_own(monkeypatch):
    """Fit the model of each fold separately, as for kernels that the core does not have."""
    monkeypatch.setattr(module, "_SHARED_ROWS", 10)
    monkeypatch.setattr(module, "scores_by_near_rows", lambda *given, **options: None)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # of a fold
@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_a_fold_that_its_time_ends_is_not_used(kind, monkeypatch):
    X, y = data(kind, 40)
    model = machine(kind).fit(X, y)
    fits_of_their_own(monkeypatch)
    monkeypatch.setattr(Budget, "part", lambda *given, **options: Budget(1e-9))
    with pytest.raises(OutOfBudget):
        held_out(model, X, y, cv=3)


@pytest.mark.parametrize("cv", ["loo", 3])
def test_the_finished_part_of_the_work_is_told(cv, monkeypatch):
    X, y = data("svc", 40)
    fits_of_their_own(monkeypatch)
    parts: list[float] = []
    model = machine("svc").fit(X, y)
    code = np.searchsorted(model.classes_, y)
    held_out_decisions(model, X, code, np.ones(len(y)), cv, Budget(), parts.append)
    assert len(parts) > 1
    assert parts == sorted(parts)
    assert 0.0 <= parts[0] < parts[-1] <= 1.0


@pytest.mark.parametrize("classes", [2, 3, 7])
@pytest.mark.parametrize("number", [2, 5])
def test_folds_are_those_of_scikit_learn(classes, number):
    rng = np.random.default_rng(classes)
    code = np.concatenate([np.repeat(np.arange(classes), number), rng.integers(classes, size=40)])
    code = rng.permutation(code)
    found = module.stratified_folds(code, number)
    for one, other in zip(found, StratifiedKFold(number).split(code, code), strict=True):
        np.testing.assert_array_equal(one[0], other[0])
        np.testing.assert_array_equal(one[1], other[1])
