"""OnlineSVR: known optima, and the tube."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from widestreet.online import OnlineSVR


@pytest.mark.parametrize("epsilon", [0.0, 0.25, 2.0])
def test_two_points(epsilon):
    """x = -1 and x = +1 with targets -1 and 1: the flattest line within the tube, slope 1 - eps."""
    model = OnlineSVR(C=10.0, epsilon=epsilon, kernel="linear")
    model.partial_fit([[-1.0]], [-1.0]).partial_fit([[1.0]], [1.0])
    slope = max(0.0, 1.0 - epsilon)
    np.testing.assert_allclose(model.predict([[-1.0], [1.0]]) @ [-0.5, 0.5], slope, atol=TOL.detour)
    assert (np.abs(model.predict([[-1.0], [1.0]]) - [-1, 1]) <= epsilon + TOL.detour).all()


def test_a_row_within_the_tube_changes_nothing():
    model = OnlineSVR(C=10.0, epsilon=0.25, kernel="linear").fit([[-1.0], [1.0]], [-1.0, 1.0])
    before = model.predict([[0.5], [3.0]])
    model.partial_fit([[0.5]], [before[0] + 0.1])
    np.testing.assert_allclose(model.predict([[0.5], [3.0]]), before, atol=TOL.detour)


def test_bad_parameters_are_named():
    for name, value in (("C", 0.0), ("epsilon", -0.1)):
        with pytest.raises(ValueError, match=f"{name} must be"):
            OnlineSVR(**{name: value}, kernel="linear").fit([[-1.0], [1.0]], [-1.0, 1.0])
