"""Float64 sums over an RBF kernel between rows of one list, with half of the kernel values."""

from __future__ import annotations

import numpy as np

from widestreet import _core
from widestreet._src.arrays import Floats, Ints
from widestreet._src.kernels.backend import Backend
from widestreet._src.kernels.kernels import RBF
from widestreet._src.kernels.native import NativeBackend
from widestreet._src.rows import DenseRows

BLOCK = 48  # rows that the core processes together
_MOST_BYTES = 1 << 26  # of a copy of the rows and of partial sums, which the core makes
_PARTS = 32  # partial sums of a row (kParts)
_LEAST_ROWS = 2048  # then a term takes part in fewer additions than `sum_error` counts


def shared_rows(backend: Backend, I: Ints | None, J: Ints | None, coef: Floats) -> Ints | None:
    """Return the rows of both sides, if these are equal and there is one line of coefficients.

    With pieces of at least 48 rows a term of s takes part in up to 49 + s / 192 + s / 48 additions.
    """
    if not isinstance(backend, NativeBackend) or not isinstance(backend.kernel, RBF):
        return None
    if I is None or J is None or len(coef) != 1 or len(I) < _LEAST_ROWS or len(I) != len(J):
        return None
    if backend.left is not backend.right or not isinstance(backend.left, DenseRows):
        return None
    if 8 * len(I) * (backend.left.shape[1] + _PARTS) > _MOST_BYTES:
        return None
    special = backend._sparse or backend._far or backend._levels is not None
    return None if special or not np.array_equal(I, J) else I


def add_symmetric_piece(backend: Backend, I: Ints, piece: slice, coef: Floats, out: Floats) -> None:
    """Add what the rows of a piece contribute to the sums of all rows I. Sets: out.

    The length of a piece is a multiple of `BLOCK`, except for the last.
    """
    assert isinstance(backend, NativeBackend)
    assert isinstance(backend.kernel, RBF)
    rows = backend.left.native
    gamma, threads = backend.kernel.gamma, backend.threads
    _core.symmetric_scan(gamma, rows, I, piece.start, piece.stop, coef, out, threads)
