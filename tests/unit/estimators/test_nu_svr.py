"""NuSVR: the SVR that it is, the width of its tube, and its scaling."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from support.machines import NU, C, assert_same_function, data, machine

pytestmark = pytest.mark.numeric


@pytest.mark.parametrize("nu", [0.2, 0.4, 0.6])
def test_a_nu_svr_is_an_svr(nu, rng):
    X, y = data("nu_svr")
    weight = rng.choice([0.5, 1.0, 2.0], len(y))
    model = machine("nu_svr", nu=nu).fit(X, y, weight)
    assert model.epsilon_ > 0
    assert_same_function(model, machine("svr", epsilon=model.epsilon_).fit(X, y, weight), X)


def test_a_tube_that_takes_everything_in_has_no_width():
    """Above the share of rows that are off the median, epsilon is zero: only C matters."""
    X, y = data("nu_svr")
    model = machine("nu_svr", nu=1.0).fit(X, y)
    assert model.epsilon_ == pytest.approx(0, abs=TOL.decision)
    assert_same_function(model, machine("svr", epsilon=0.0).fit(X, y), X)


def test_scaling_of_a_nu_regression():
    X, y = data("nu_svr")
    one = machine("nu_svr").fit(X, y)
    other = machine("nu_svr", C=4 * C).fit(X, 4 * y + 100)
    assert np.abs(4 * one.predict(X) + 100 - other.predict(X)).max() <= 4 * TOL.decision
    assert other.epsilon_ == pytest.approx(4 * one.epsilon_, abs=4 * TOL.decision)
    assert one.nu == NU
