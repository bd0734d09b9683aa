"""Regressions that choose C, gamma and epsilon."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import is_regressor

import widestreet as ws
from conftest import TOL
from support.machines import data
from widestreet._src.tuning.tasks import SearchData


@pytest.mark.filterwarnings("ignore:the best")
def test_the_choice_follows_the_units_of_the_target():
    X, y = data("svr")
    options = {"cv": 3, "gammas": [0.5], "random_state": 0, "tol": 1e-6}
    one, other = (ws.SVRCV(**options).fit(X, scale * y) for scale in (1.0, 8.0))
    assert other.epsilon_ / one.epsilon_ == pytest.approx(8.0, rel=TOL.twin)
    assert one.epsilon_ < np.std(y)


@pytest.mark.filterwarnings("ignore:the best")
@pytest.mark.parametrize("scale", [2.0**-17, 2.0**10])
def test_scores_do_not_depend_on_the_units_of_the_target(scale):
    X, y = data("svr")
    options = {"cv": 3, "gammas": [0.5], "random_state": 0, "n_jobs": 1}
    one = ws.SVRCV(tol=1e-6, **options).fit(X, y)
    other = ws.SVRCV(tol=1e-6 * scale, **options).fit(X, scale * y)
    assert other.best_score_ == pytest.approx(one.best_score_, abs=0.01)
    assert other.score(X, scale * y) == pytest.approx(one.score(X, y), abs=0.01)
    reached = other.cv_results_["mean_kkt_violation"]
    assert reached.max() <= 0.01 * scale * np.std(y)


def test_the_unit_is_weighted():
    X, y = data("svr")
    weight = np.where(np.arange(len(y)) < 60, 0.0, 1.0)
    kept = weight > 0
    found = ws.SVRCV()._size(SearchData.of(ws.SVR(), X, y, weight))
    assert found == pytest.approx(np.std(y[kept]), rel=TOL.twin)
    assert ws.SVRCV()._size(SearchData.of(ws.SVR(), X, np.ones(len(y)), None)) == 1.0


def test_a_target_without_a_finite_deviation_is_refused():
    X, y = data("svr")
    with pytest.raises(ValueError, match="y is too large: its standard deviation"):
        ws.SVRCV(cv=3).fit(X, 1e200 * y)


def test_a_target_whose_squares_are_zero_is_refused():
    X, y = data("svr")
    with pytest.raises(ValueError, match="y is too small: the square of its standard deviation"):
        ws.SVRCV(cv=3).fit(X, 1e-200 * y)


def test_it_is_a_regressor_of_widestreet():
    assert is_regressor(ws.SVRCV())
    assert ws.SVRCV.__module__ == "widestreet"
