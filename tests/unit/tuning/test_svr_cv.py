"""Regressions that choose C, gamma and epsilon."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import is_regressor

import widestreet as ws
from conftest import TOL
from support.machines import data


@pytest.mark.filterwarnings("ignore:the best")
def test_the_choice_follows_the_units_of_the_target():
    X, y = data("svr")
    options = {"cv": 3, "gammas": [0.5], "random_state": 0, "tol": 1e-6}
    one, other = (ws.SVRCV(**options).fit(X, scale * y) for scale in (1.0, 8.0))
    assert other.epsilon_ / one.epsilon_ == pytest.approx(8.0, rel=TOL.twin)
    assert one.epsilon_ < np.std(y)


def test_it_is_a_regressor_of_widestreet():
    assert is_regressor(ws.SVRCV())
    assert ws.SVRCV.__module__ == "widestreet"
