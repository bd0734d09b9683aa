"""Folds solved over the rows near the margin, against folds of all rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import StratifiedKFold

import widestreet as ws
from conftest import OF_THREE, TOL
from support.machines import data, machine
from widestreet._src.calibration import near_rows
from widestreet._src.calibration.held_out import held_out_decisions
from widestreet._src.calibration.near_rows import margins, scores_by_near_rows
from widestreet._src.engines.budget import Budget
from widestreet._src.problems.class_pairs import PairLayout
from widestreet._src.tuning.folds import coefficients_of, held_out_scores

N = 150


def problem(kind, storage=np.asarray, **options):
    X, y = data(kind, N)
    X = X + 2.0 * np.eye(3)[np.searchsorted(np.unique(y), y)]  # rows beyond the margin
    model = machine(kind, **options).fit(storage(X), y)
    return model, storage(X), y, np.searchsorted(model.classes_, y)


@pytest.fixture(autouse=True)
def _always(monkeypatch):
    """Let it pay for few rows."""
    monkeypatch.setattr(near_rows, "LEAST_ROWS", 0)


@pytest.mark.parametrize("kind", ["svc", "svc" + OF_THREE])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("near", [0.0, 0.5, 100.0])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_values_are_those_of_all_rows(kind, storage, near, kernel, monkeypatch):
    """However few rows are near at first: violators are added."""
    model, X, y, code = problem(kind, storage, kernel=kernel)
    monkeypatch.setattr(near_rows, "NEAR", near)
    folds = list(StratifiedKFold(3).split(code, code))
    coef = coefficients_of(model, N)
    found = scores_by_near_rows(model, model, coef, X, code, np.ones(N), folds, Budget())
    wanted = held_out_scores(model, X, y, folds).reshape(N, -1)
    size = max(10.0, abs(model.dual_coef_).sum())
    assert found is None or np.abs(found - wanted).max() <= TOL.decision * size
    assert found is not None or near < 100.0  # no near row of a class may be in a training set


def test_rows_of_weight_zero_do_not_matter():
    X, y = data("svc", N)
    weight = (np.arange(N) % 5 > 0) * 2.0
    model = machine("svc").fit(X, y, weight)
    code = np.searchsorted(model.classes_, y)
    folds = list(StratifiedKFold(3).split(code, code))
    found = scores_by_near_rows(model, model, None, X, code, weight, folds, Budget())
    wanted = held_out_scores(model, X, y, folds, sample_weight=weight)
    np.testing.assert_allclose(found[:, 0], wanted, rtol=0, atol=TOL.decision * 100)


def test_where_it_is_not_used(monkeypatch):
    model, X, y, code = problem("svc")
    folds = list(StratifiedKFold(3).split(code, code))

    def found(model=model, rows=X):
        return scores_by_near_rows(model, model, None, rows, code, np.ones(N), folds, Budget())

    assert found() is not None
    assert found(machine("nu_svc").fit(X, y)) is None
    assert found(machine("svc", kernel="precomputed").fit(X @ X.T, y), X @ X.T) is None
    for name, value in (("MOST_ROWS", 5), ("LEAST_ROWS", 1000), ("_MEMORY_SHARE", 0.0)):
        with monkeypatch.context() as patch:
            patch.setattr(near_rows, name, value)
            assert found() is None


def test_a_class_without_near_rows_takes_the_other_way(monkeypatch):
    """All near rows of a class may be in one fold; then all rows are solved."""
    X = np.concatenate([np.linspace(-9, -1, 20), np.linspace(1, 9, 20)])[:, None]
    y = np.repeat([-1, 1], 20)
    model = ws.SVC(kernel="linear", C=100.0, tol=TOL.twins, n_jobs=1).fit(X, y)
    monkeypatch.setattr(near_rows, "NEAR", 0.0)
    code = (y > 0).astype(int)
    folds = [(np.r_[:15, 25:40], np.r_[15:25]), (np.r_[5:35], np.r_[:5, 35:40])]
    assert scores_by_near_rows(model, model, None, X, code, np.ones(40), folds, Budget()) is None
    assert np.isfinite(
        held_out_decisions(model, X, code, np.ones(40), folds, Budget()).values
    ).all()


def test_the_margin_of_a_row_is_that_of_its_worst_pair():
    three = PairLayout(3)  # pairs 01, 02, 12; positive for the first class
    decision = np.array([[2.0, 3.0, -9.0]] * 3)
    np.testing.assert_array_equal(margins(three, decision, np.arange(3)), [2.0, -9.0, -3.0])
    two = margins(PairLayout(2), np.array([[2.0], [2.0]]), np.array([0, 1]))
    np.testing.assert_array_equal(two, [-2.0, 2.0])
