"""Training of regressions on all rows at once."""

from __future__ import annotations

import numpy as np

from conftest import TOL
from support.machines import C, data, machine


def test_regression_of_shifted_and_scaled_targets():
    X, y = data("svr")
    one = machine("svr", epsilon=0.1).fit(X, y)
    other = machine("svr", epsilon=0.4, C=4 * C).fit(X, 4 * y + 100)
    difference = np.abs(4 * one.predict(X) + 100 - other.predict(X)).max()
    assert difference <= 4 * TOL.decision
