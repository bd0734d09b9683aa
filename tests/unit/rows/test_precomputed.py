"""Rows of a kernel matrix know the columns where they stand."""

from __future__ import annotations

import numpy as np

from support.small_rows import small
from widestreet._src.rows import KernelRows


def test_kernel_rows():
    K = small() @ small().T
    rows = KernelRows(K, np.arange(8))
    some = rows.take(np.array([5, 2]))
    assert some.shape == (2, 8)
    assert some.column.tolist() == [5, 2]
    assert np.array_equal(some.data, K[[5, 2]])
