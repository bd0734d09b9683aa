"""The model of points that need no training."""

from __future__ import annotations

import pytest

from widestreet._src.playground.learner import constant_motion
from widestreet._src.playground.machines import Point


@pytest.mark.parametrize(
    ("points", "labels", "value"),
    [
        ([], True, 0.0),
        ([Point(0, 0.0, 0.0, 0)], True, -1.0),
        ([Point(0, 0.0, 0.0, 1)], True, 1.0),
        ([Point(0, 0.0, 0.0, 1)], False, 0.0),
    ],
)
def test_points_of_one_class(points, labels, value):
    found = constant_motion(points, 3, labels=labels)
    assert found.intercept.tolist() == [value]
    assert found.coef.shape == found.support.shape == (1, 3)
    assert not found.coef.any()
    assert not found.support.any()
    assert not found.on_path
