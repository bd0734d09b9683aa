"""Prediction intervals: their definition, coverage, limits of the parameters."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, KFold

import widestreet as ws
from conftest import TOL, chosen_rng
from support.machines import data, machine
from widestreet._src.calibration import removals


def by_definition(model, X, y, folds, new, *levels):
    """Ends of the intervals as the paper has them, from refits; levels are Fractions."""
    low, high = np.empty((len(y), len(new))), np.empty((len(y), len(new)))
    for train, test in folds:
        other = clone(model).fit(X[train], y[train])
        residual = np.abs(y[test] - other.predict(X[test]))[:, None]
        low[test], high[test] = other.predict(new) - residual, other.predict(new) + residual
    low, high, n = np.sort(low, axis=0), np.sort(high, axis=0), len(y)
    for level in levels:
        first, last = floor((1 - level) * (n + 1)), ceil(level * (n + 1))
        yield level, np.column_stack([low[first - 1], high[last - 1]])


@pytest.mark.parametrize("kind", ["svr", "nu_svr"])
def test_intervals_are_those_of_the_jackknife(kind):
    X, y = data(kind, 39)  # 0.9 * 40 is a whole number
    model = ws.IntervalSVR(machine(kind), cv="loo").fit(X, y)
    new = X[:7] * 1.125
    each = [(np.delete(np.arange(39), i), np.array([i])) for i in range(39)]
    levels = map(Fraction, ("0.9", "0.5", "0.85"))
    size = max(10.0, abs(model.estimator_.dual_coef_).sum())
    for level, wanted in by_definition(machine(kind), X, y, each, new, *levels):
        found = model.set_params(confidence_level=float(level)).predict_interval(new)
        np.testing.assert_allclose(found, wanted, rtol=0, atol=TOL.decision * size)
    assert model.cv_ == "loo"


@pytest.mark.parametrize("kind", ["svr", "nu_svr"])
def test_intervals_are_those_of_cross_validation(kind):
    X, y = data(kind, 39)
    folds = list(KFold(4).split(X))
    model = ws.IntervalSVR(machine(kind), cv=folds).fit(X, y)
    new = X[:7] * 1.125
    [(_, wanted)] = by_definition(machine(kind), X, y, folds, new, Fraction("0.9"))
    size = max(10.0, abs(model.estimator_.dual_coef_).sum())
    found = model.predict_interval(new)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=TOL.decision * size)
    assert model.cv_ == 4
    np.testing.assert_array_equal(model.predict(new), model.estimator_.predict(new))


@pytest.mark.parametrize("cv", ["loo", 5])
def test_new_targets_are_within_their_intervals(cv):
    """Coverage of fifty small samples of chosen seeds: between the proved and a little more."""
    inside = []
    for seed in range(50):
        rng = chosen_rng(seed)
        X = rng.uniform(-2, 2, (70, 1))
        y = np.sin(2 * X[:, 0]) + (0.1 + 0.2 * np.abs(X[:, 0])) * rng.standard_normal(70)
        model = ws.IntervalSVR(
            ws.SVR(C=1.0, gamma=1.0, n_jobs=1, random_state=0), confidence_level=0.8, cv=cv
        ).fit(X[:30], y[:30])
        low, high = model.predict_interval(X[30:]).T
        inside.append(np.mean((low <= y[30:]) & (y[30:] <= high)))
    assert 0.6 <= np.mean(inside) <= 0.95  # 1 - 2 alpha is proved; 1 - alpha is 0.8
    assert abs(np.mean(inside) - 0.8) < 4 * np.std(inside) / np.sqrt(50)


def test_wider_intervals_for_larger_levels():
    X, y = data("svr", 60)
    model = ws.IntervalSVR(machine("svr")).fit(X, y)
    before = np.full((60, 2), np.nan)
    for level in (0.1, 0.3, 0.5, 0.8, 0.9, 0.95):
        ends = model.set_params(confidence_level=level).predict_interval(X)
        assert (ends[:, 0] <= ends[:, 1]).all()
        if level > 0.5:  # smaller ones may cross
            assert (ends[:, 0] <= before[:, 0]).all()
            assert (ends[:, 1] >= before[:, 1]).all()
        before = ends


@pytest.mark.parametrize("storage", [sparse.csr_matrix, np.asfortranarray])
@pytest.mark.parametrize("cv", ["loo", 4])
def test_storages_of_rows_do_not_matter(storage, cv):
    X, y = data("svr", 40)
    one = ws.IntervalSVR(machine("svr"), cv=cv).fit(X, y)
    other = ws.IntervalSVR(machine("svr"), cv=cv).fit(storage(X), y)
    size = max(10.0, abs(one.estimator_.dual_coef_).sum())
    np.testing.assert_allclose(
        one.predict_interval(X),
        other.predict_interval(storage(X)),
        rtol=0,
        atol=TOL.decision * size,
    )


def test_the_order_of_rows_does_not_matter(rng):
    X, y = data("svr", 40)
    order = rng.permutation(40)
    one = ws.IntervalSVR(machine("svr")).fit(X, y)
    other = ws.IntervalSVR(machine("svr")).fit(X[order], y[order])
    size = max(10.0, abs(one.estimator_.dual_coef_).sum())
    np.testing.assert_allclose(
        one.predict_interval(X), other.predict_interval(X), rtol=0, atol=TOL.decision * size
    )


@pytest.mark.parametrize("cv", ["loo", 4])
def test_a_weight_of_zero_is_a_missing_row(cv):
    X, y = data("svr", 40)
    weight = 1.0 + np.arange(40) % 3
    weight[::4] = 0.0
    there = weight > 0
    one = ws.IntervalSVR(machine("svr"), cv=cv).fit(X, y, weight)
    other = ws.IntervalSVR(machine("svr"), cv=cv).fit(X[there], y[there], weight[there])
    size = max(10.0, abs(one.estimator_.dual_coef_).sum())
    np.testing.assert_allclose(
        one.predict_interval(X), other.predict_interval(X), rtol=0, atol=TOL.decision * size
    )


def test_auto_chooses_by_cost(monkeypatch):
    X, y = data("svr", 40)
    assert ws.IntervalSVR(machine("svr")).fit(X, y).cv_ == "loo"
    monkeypatch.setitem(removals.AFFORDABLE, "intervals", 0.0)
    assert ws.IntervalSVR(machine("svr")).fit(X, y).cv_ == 5


def test_groups_are_folds(rng):
    X, y = data("svr", 40)
    folds = list(GroupKFold(3).split(X, y, rng.integers(0, 6, 40)))
    assert ws.IntervalSVR(machine("svr"), cv=folds).fit(X, y).cv_ == 3


def test_folds_that_test_rows_of_weight_zero_only_are_refused():
    X, y = data("svr", 40)
    model = ws.IntervalSVR(machine("svr"), cv=[(np.arange(4, 40), np.arange(4))])
    with pytest.raises(ValueError, match=r"^cv: each row must be in exactly one test set"):
        model.fit(X, y, sample_weight=np.arange(40) >= 4)


@pytest.mark.parametrize("level", [0, 1, 0.0, 1.0, -0.5, 1.5, 90, np.nan, "0.9", None], ids=str)
def test_other_levels_are_refused(level):
    X, y = data("svr", 40)
    with pytest.raises(ValueError, match=r"^confidence_level must be a finite number"):
        ws.IntervalSVR(machine("svr"), confidence_level=level).fit(X, y)


def test_too_few_rows_for_a_level():
    X, y = data("svr", 20)
    with pytest.raises(ValueError, match=r"confidence_level=0.99 needs at least 99 rows, got"):
        ws.IntervalSVR(machine("svr"), confidence_level=0.99).fit(X, y)
    model = ws.IntervalSVR(machine("svr"), confidence_level=0.9)
    with pytest.raises(ValueError, match="needs at least 9 rows"):
        model.fit(X[:8], y[:8])
    assert model.fit(X[:9], y[:9]).predict_interval(X).shape == (20, 2)
    with pytest.raises(ValueError, match="needs at least 19 rows"):
        model.set_params(confidence_level=0.95).predict_interval(X)
