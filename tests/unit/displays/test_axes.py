"""Axes to draw on, and rows to draw."""

from __future__ import annotations

import numpy as np
import pytest

from widestreet._src.displays.axes import spaced


@pytest.mark.parametrize(("n", "most"), [(0, 5), (1, 5), (5, 5), (1000, 7)])
def test_evenly_spaced_indices(n, most):
    index = spaced(n, most)
    assert len(index) == min(n, most)
    assert (np.diff(index) > 0).all()
    if n > 1:
        assert index[0] == 0
        assert index[-1] == n - 1
