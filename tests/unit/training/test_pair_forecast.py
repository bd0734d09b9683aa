"""How long the examination of all pairs of classes takes."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import RBF
from widestreet._src.rows import as_rows
from widestreet._src.training import pair_forecast
from widestreet._src.training.pair_forecast import PairForecast


@pytest.fixture
def gram(monkeypatch):
    gram = Gram(RBF(1.0), as_rows(np.eye(3)))
    monkeypatch.setattr(Gram, "seconds_per_value", 1e-6)
    return gram


def test_pairs_to_come_are_like_those_solved(gram):
    unit = pair_forecast._FLOAT64_VALUE * 1e-6
    forecast = PairForecast(gram, [100, 200])
    assert forecast.seconds(solved=True) == 0.0
    assert forecast.seconds() == pytest.approx(unit * 0.5 * (100**2 + 200**2), rel=TOL.exact * 10)
    forecast.count(10, 100)
    assert forecast.seconds(solved=True) == pytest.approx(unit * 1000, rel=TOL.exact * 10)
    assert forecast.seconds() == pytest.approx(unit * (1000 + 0.1 * 200**2), rel=TOL.exact * 10)
    forecast.count(200, 200)
    assert forecast.seconds() == forecast.seconds(solved=True)
