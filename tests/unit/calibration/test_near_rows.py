"""Folds solved over the rows near the margin, against folds of all rows."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import StratifiedKFold

import widestreet as ws
from conftest import OF_THREE, TOL
from support.machines import data, machine
from widestreet._src.calibration import near_rows
from widestreet._src.calibration.held_out import held_out_decisions
from widestreet._src.calibration.near_rows import scores_by_near_rows
from widestreet._src.engines.budget import Budget, OutOfBudget
from widestreet._src.tuning.folds import coefficients_of, held_out_scores

pytestmark = pytest.mark.numeric
N = 150


def problem(kind, storage=np.asarray, **options):
    X, y = data(kind, N)
    X = X + 2.0 * np.eye(3)[np.searchsorted(np.unique(y), y)]  # rows beyond the margin
    model = machine(kind, **options).fit(storage(X), y)
    return model, storage(X), y, np.searchsorted(model.classes_, y)


def scores(model, X, code, folds, weight=None, budget=None, **options):
    weight = np.ones(len(code)) if weight is None else weight
    coef = coefficients_of(model, len(code))
    coef = np.zeros((1, len(code))) if coef is None else coef[0]
    budget = Budget() if budget is None else budget
    return scores_by_near_rows(model, coef, X, code, weight, folds, budget, **options)


@pytest.mark.parametrize("kind", ["svc", "svc" + OF_THREE])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("near", [0.0, 0.5, 100.0])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("every_pair", [False, True])
def test_values_are_those_of_all_rows(kind, storage, near, kernel, every_pair, monkeypatch):
    """However few rows are near at first: violators are added."""
    model, X, y, code = problem(kind, storage, kernel=kernel)
    monkeypatch.setattr(near_rows, "NEAR", near)
    folds = list(StratifiedKFold(3).split(code, code))
    found = scores(model, X, code, folds, every_pair=every_pair)
    wanted = held_out_scores(model, X, y, folds).reshape(N, -1)
    if not every_pair and wanted.shape[1] == 3:  # pairs 01, 02, 12
        wanted[code == 2, 0] = wanted[code == 1, 1] = wanted[code == 0, 2] = np.nan
    size = max(10.0, abs(model.dual_coef_).sum())
    np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))
    assert np.nanmax(np.abs(found - wanted)) <= TOL.decision * size


def test_kernel_values_in_float32_give_the_same_values(monkeypatch):
    model, X, _, code = problem("svc")
    folds = list(StratifiedKFold(3).split(code, code))
    wanted = scores(model, X, code, folds)
    monkeypatch.setattr(near_rows, "_float32_suffices", lambda *given: True)
    found = scores(model.set_params(tol=1e-4), X, code, folds)
    assert np.abs(found - wanted).max() <= 0.05 * np.abs(wanted).max()


def test_many_near_rows_give_the_same_values():
    """From some hundred near rows on, the first steps of a fold end early."""
    X, y = data("svc", 600)
    model = machine("svc").fit(X, y)
    folds = list(StratifiedKFold(3).split(X, y))
    found = scores(model, X, np.searchsorted(model.classes_, y), folds)[:, 0]
    wanted = held_out_scores(model, X, y, folds)
    size = max(10.0, abs(model.dual_coef_).sum())
    assert np.abs(found - wanted).max() <= TOL.decision * size


def test_float32_is_left_to_small_coefficients():
    model, X, _, _ = problem("svc")
    gram = model._gram(X, X, np.arange(N))
    coef = coefficients_of(model, N)[0]
    assert near_rows._float32_suffices(gram, coef, 1e-3)
    assert not near_rows._float32_suffices(gram, 1e6 * coef, 1e-3)
    assert not near_rows._float32_suffices(gram, coef, 1e-9)


def test_rows_of_weight_zero_do_not_matter():
    X, y = data("svc", N)
    weight = (np.arange(N) % 5 > 0) * 2.0
    model = machine("svc").fit(X, y, weight)
    code = np.searchsorted(model.classes_, y)
    folds = list(StratifiedKFold(3).split(code, code))
    found = scores(model, X, code, folds, weight)
    wanted = held_out_scores(model, X, y, folds, sample_weight=weight)
    np.testing.assert_allclose(found[:, 0], wanted, rtol=0, atol=TOL.decision * 100)


def test_equal_rows_are_left_out_together():
    """A repeated row is one of twice the weight, whose coefficient is the sum of two."""
    X, y = data("svc", N)
    model = machine("svc").fit(np.vstack([X, X[:20]]), np.concatenate([y, y[:20]]))
    code = np.searchsorted(model.classes_, np.concatenate([y, y[:20]]))
    found = held_out_decisions(model, np.vstack([X, X[:20]]), code, np.ones(N + 20), 3, Budget())
    weight = 1.0 + (np.arange(N) < 20)
    once = machine("svc").set_params(gamma=model._gamma).fit(X, y, weight)
    wanted = held_out_decisions(once, X, code[:N], weight, 3, Budget())
    np.testing.assert_array_equal(found.weight, wanted.weight)
    np.testing.assert_allclose(found.values, wanted.values, rtol=0, atol=TOL.decision * 100)


def test_where_it_is_not_used(monkeypatch):
    model, X, y, code = problem("svc")
    folds = list(StratifiedKFold(3).split(code, code))

    def found(model=model, rows=X):
        return scores(model, rows, code, folds)

    assert found() is not None
    assert found(machine("nu_svc").fit(X, y)) is None
    assert found(machine("svc", kernel="precomputed").fit(X @ X.T, y), X @ X.T) is None
    assert found(machine("svc", kernel=lambda A, B: A @ B.T).fit(X, y)) is None
    for name, value in (("MOST_ROWS", 5), ("_MEMORY_SHARE", 0.0)):
        with monkeypatch.context() as patch:
            patch.setattr(near_rows, name, value)
            assert found() is None


def test_more_rows_become_near_where_sums_cannot_be_zero(monkeypatch):
    """All near rows of a class may be in one fold; then others take their part."""
    X = np.concatenate([np.linspace(-9, -1, 100), np.linspace(1, 9, 100)])[:, None]
    y = np.repeat([-1, 1], 100)
    model = ws.SVC(kernel="linear", C=100.0, tol=TOL.twins, n_jobs=1).fit(X, y)
    monkeypatch.setattr(near_rows, "NEAR", 0.0)
    code = (y > 0).astype(int)
    folds = [(np.r_[:60, 140:200], np.r_[60:140]), (np.r_[20:180], np.r_[:20, 180:200])]
    found = scores(model, X, code, folds)[:, 0]
    wanted = held_out_scores(model, X, y, folds)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=TOL.decision * 100)


def test_the_budget_ends_it():
    model, X, _, code = problem("svc")
    folds = list(StratifiedKFold(3).split(code, code))
    with pytest.raises(OutOfBudget):
        scores(model, X, code, folds, budget=Budget(1e-9))


@pytest.mark.parametrize("kind", ["svc", "svc" + OF_THREE])
def test_threads_change_nothing(kind):
    model, X, _, code = problem(kind)
    folds = list(StratifiedKFold(4).split(code, code))
    one, three = (scores(model.set_params(n_jobs=jobs), X, code, folds) for jobs in (1, 3))
    np.testing.assert_allclose(one, three, rtol=0, atol=TOL.decision)


def test_rows_in_no_test_set_have_no_value():
    model, X, y, code = problem("svc")
    train, test = next(StratifiedKFold(3).split(code, code))
    found = scores(model, X, code, [(train, test)])[:, 0]
    wanted = held_out_scores(model, X, y, [(train, test)])
    assert np.isnan(found[train]).all()
    np.testing.assert_allclose(found[test], wanted[test], rtol=0, atol=TOL.decision * 100)


def test_arrays_of_many_pairs_count_as_memory(rng):
    X, code = rng.normal(size=(400, 3)), np.arange(400) % 40
    model = ws.SVC(max_memory="4MB", tol=0.1, n_jobs=1).fit(X, code)
    folds, weight = list(StratifiedKFold(3).split(code, code)), np.ones(400)
    coef = coefficients_of(model, 400)[0]
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        scores_by_near_rows(model, coef, X, code, weight, folds, Budget(), every_pair=True)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak - before < 4e6


@pytest.mark.parametrize("rows", [113, 197, 533])
def test_folds_whose_variables_are_all_at_bounds_have_the_middle_of_all_biases(rows, rng):
    """Sums are rounded: a variable next to its bound would set the bias."""
    X = rng.normal(size=(rows, 2))
    y = (X[:, 0] > np.median(X[:, 0])).astype(int)
    model = ws.SVC(C=0.015, gamma=0.5, tol=TOL.twins).fit(X, y)
    folds = list(StratifiedKFold(4).split(X, y))
    assert any(np.ptp(np.bincount(y[train])) == 0 for train, _ in folds)
    found = scores(model, X, y, folds)[:, 0]
    np.testing.assert_allclose(found, held_out_scores(model, X, y, folds), atol=TOL.decision)
