"""Training and test rows."""

from __future__ import annotations

import numpy as np

from widestreet._experiments.harness.task import part, some
from widestreet.datasets import checkerboard


def test_parts_are_fixed_and_do_not_overlap():
    X, y = checkerboard(500, random_state=0)
    small_part, large_part = part(X, y, 100, 50), part(X, y, 400, 50)
    assert np.array_equal(small_part.X_test, large_part.X_test)
    rows = {tuple(row) for row in large_part.X}
    assert {tuple(row) for row in small_part.X} <= rows
    assert not rows & {tuple(row) for row in large_part.X_test}
    assert np.array_equal(some(X, y, 30)[0], some(X, y, 30)[0])
    assert some(X, y, 10**6)[0] is X
