"""Rows of a kernel matrix know the columns where they stand."""

from __future__ import annotations

import numpy as np

from support.small_rows import small
from widestreet._src.rows import KernelRows


def test_kernel_rows():
    K = small() @ small().T
    rows = KernelRows(K[[5, 2]], np.array([5, 2]))
    assert rows.shape == (2, 8)
    assert rows.column.tolist() == [5, 2]
    assert np.array_equal(rows.data, K[[5, 2]])
