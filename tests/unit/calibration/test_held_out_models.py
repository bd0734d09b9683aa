"""Regressors without some rows, stored as changes, against refits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import KFold

from conftest import TOL
from support.machines import data, machine
from widestreet._src.calibration.held_out_models import TrainingRows, without_each, without_folds
from widestreet._src.engines.budget import Budget, OutOfBudget

N = 40


def problem(kind, storage=np.asarray, weight=None, **options):
    X, y = data(kind, N)
    weight = np.ones(N) if weight is None else weight
    model = machine(kind, **options).fit(storage(X), y, weight)
    return TrainingRows.of(model, storage(X), y, weight)


def predictions(models, rows, X):
    return np.concatenate([values for _, values in models.predictions(rows.machine, X)])


def refit(rows, train):
    return clone(rows.machine).fit(rows.X[train], rows.y[train], rows.weight[train])


def size_of(rows):
    return max(10.0, abs(rows.machine.dual_coef_).sum())


@pytest.mark.parametrize("kind", ["svr", "nu_svr"])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_matrix])
def test_models_without_each_row_are_refits(kind, kernel, storage):
    rows = problem(kind, storage, kernel=kernel)
    models = without_each(rows, Budget())
    new = storage(data(kind, 100)[0][N:50])
    values = predictions(models, rows, new)
    for i in range(0, N, 3):
        other = refit(rows, np.delete(np.arange(N), i))
        atol = TOL.decision * size_of(rows)
        np.testing.assert_allclose(
            values[:, models.model_of[i]], other.predict(new), rtol=0, atol=atol
        )
        own = abs(rows.y[i] - other.predict(rows.X[[i]])[0])
        np.testing.assert_allclose(models.residual[i], own, rtol=0, atol=atol)


@pytest.mark.parametrize("kind", ["svr", "squared", "nu_svr"])
@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_models_without_folds_are_refits(kind, kernel):
    options = {"loss": "squared_epsilon_insensitive"} if kind == "squared" else {}
    kind = kind.replace("squared", "svr")
    X, y = data(kind, N + 10)
    K = X @ X.T
    given, new = (X[:N], X[N:]) if kernel == "rbf" else (K[:N, :N], K[N:, :N])
    model = machine(kind, kernel=kernel, **options).fit(given, y[:N])
    rows = TrainingRows.of(model, given, y[:N], np.ones(N))
    folds = list(KFold(4).split(X[:N]))
    models = without_folds(rows, folds, Budget())
    values = predictions(models, rows, new)
    for train, test in folds:
        own, other = (
            (X[train], X[N:]) if kernel == "rbf" else (K[np.ix_(train, train)], K[N:, train])
        )
        wanted = clone(model).fit(own, y[train]).predict(other)
        atol = TOL.decision * size_of(rows)
        for i in test[:2]:
            np.testing.assert_allclose(values[:, models.model_of[i]], wanted, rtol=0, atol=atol)


def test_rows_of_weight_zero_are_missing():
    weight = (np.arange(N) % 4 > 0).astype(float)
    rows = problem("svr", weight=weight)
    np.testing.assert_array_equal(rows.column, np.flatnonzero(weight))
    folds = [(np.flatnonzero(np.arange(N) % 3 != k), np.arange(k, N, 3)) for k in range(3)]
    for train, test in rows.within(folds):
        assert not np.intersect1d(train, test).size
        assert len(train) + len(test) == len(rows.y)
    each = without_each(rows, Budget())
    assert len(each.residual) == len(rows.y)


def test_rows_in_two_test_sets_are_refused():
    rows = problem("svr")
    every = np.arange(N)
    with pytest.raises(ValueError, match=r"^cv: each row must be in exactly one test set"):
        rows.within([(every, every[:30]), (every, every[20:])])
    with pytest.raises(ValueError, match=r"^cv: each row must be in exactly one test set"):
        rows.within([(every, every[:30])])


def test_blocks_of_rows_do_not_matter():
    rows = problem("svr")
    models = without_each(rows, Budget())
    X, _ = data("svr", 90)
    whole = predictions(models, rows, X)
    rows.machine.max_memory = 20_000
    blocks = list(models.predictions(rows.machine, X))
    assert len(blocks) > 1
    np.testing.assert_allclose(np.concatenate([v for _, v in blocks]), whole, atol=TOL.twin)


def test_the_budget_is_respected():
    rows = problem("svr")
    with pytest.raises(OutOfBudget):
        without_each(rows, Budget(1e-9))
    with pytest.raises(OutOfBudget):
        without_folds(rows, list(KFold(4).split(rows.X)), Budget(1e-9))


def test_wrong_numbers_are_refused():
    rows = problem("svr")
    models = without_each(rows, Budget())
    models.check(rows.machine)
    wrong = [
        {"residual": -models.residual},
        {"residual": models.residual[1:]},
        {"intercept": models.intercept[1:]},
        {"intercept": np.full_like(models.intercept, np.nan)},
        {"model_of": models.model_of + len(models.intercept)},
        {"column": models.column + N},
        {"vectors": models.vectors[1:]},
        {"change": models.change[:, 1:]},
    ]
    for one in wrong:
        with pytest.raises(ValueError, match="wrong numbers"):
            replace(models, **one).check(rows.machine)
