"""Rows packed once for scores of a few other rows at a time.

`Gram.scan` packs its right rows in every call, which takes longer than the kernel values of one
left row. Packed rows are kept: they are never changed, and threads may share them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from widestreet import _core
from widestreet._src.arrays import Floats, Real
from widestreet._src.kernels.kernels import RBF, NativeKernel
from widestreet._src.kernels.native import FAR, native_kernel
from widestreet._src.rows.dense import DenseRows

_LARGEST_BYTES = 1 << 26  # of packed rows
_MOST_COST = 1e8  # multiply-adds of one call, a hundredth of a second: no poll is needed


class PackedRows:
    """Dense right rows of a native kernel, packed in consecutive parts.

    Parameters
    ----------
    kernel : NativeKernel
    rows : DenseRows
    ends : sequence of int
        Zero, and the end of each part.
    threads : int
    """

    def __init__(
        self, kernel: NativeKernel, rows: DenseRows, ends: Sequence[int], threads: int
    ) -> None:
        native = native_kernel(kernel, far=False)
        self._cost = rows.shape[0] * (16 + rows.shape[1])
        self._centre = rows.centre
        self._ends = list(pairwise(ends))
        self._packed = [
            _core.pack(native, rows.native, np.arange(a, b), threads) for a, b in self._ends
        ]
        # Long rows need another formula, which computes distances from differences.
        self._longest = np.inf
        if isinstance(kernel, RBF) and kernel.gamma > 0:
            self._longest = FAR / kernel.gamma
        self._far = self._longest < np.inf and rows.largest_square(threads) > self._longest

    @staticmethod
    def fit_memory(rows: DenseRows) -> bool:
        """Return whether rows are few enough to keep a packed copy of them."""
        return 8 * rows.shape[0] * rows.shape[1] <= _LARGEST_BYTES

    def scan(self, X: Real, coef: Floats, threads: int) -> Floats | None:
        """Return K[X, part] @ coef for each part of the right rows and each line of `coef`.

        The result equals that of `Gram.scan`. It is None if that has to be used: for many rows,
        rows that are not contiguous, and rows that are very long.

        Parameters
        ----------
        X : ndarray of shape (n, features)
        coef : ndarray of shape (lines, right rows)
        threads : int

        Returns
        -------
        ndarray of shape (parts, lines, n) or None
        """
        if self._far or not X.flags.c_contiguous or len(X) * self._cost > _MOST_COST:
            return None
        left = _core.Rows.dense(X, self._centre)
        if self._longest < np.inf and _core.largest_square(left, 1) > self._longest:
            return None
        out = np.zeros((len(self._packed), len(coef), len(X)))
        for part, packed, (a, b) in zip(out, self._packed, self._ends, strict=True):
            some = np.ascontiguousarray(coef[:, a:b], dtype=np.float64)
            _core.scan_packed(packed, left, some, part, threads)
        return out
