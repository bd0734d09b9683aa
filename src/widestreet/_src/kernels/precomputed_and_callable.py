"""Backend of kernels given as blocks of values: precomputed, or from a Python function."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

from widestreet._src.arrays import Floats, Ints, Real
from widestreet._src.kernels.kernels import Callable
from widestreet._src.kernels.rounding_bounds import UNIT
from widestreet._src.rows import KernelRows, Rows

_BLOCK_VALUES = 1 << 18  # kernel values asked for at a time: a function makes copies of them
_DIAG_BLOCK = 32


@dataclass
class BlockBackend(ABC):
    """Base class of the backends of kernels that are given as blocks of values.

    Attributes
    ----------
    largest : float
        Largest |K| of all scans so far.
    """

    cost = 64.0
    scan_cost = None
    values_per_call = 0.0
    fits_float32 = False  # values are float64 and may be of any size
    native = None  # the core cannot compute values by itself
    smooth = None  # nothing is known about the kernel

    left: Rows
    right: Rows
    largest: float = field(default=0.0, kw_only=True)

    @abstractmethod
    def _block(self, I: Ints | slice, J: Ints | slice) -> Real:
        """Return K[I, J]."""

    @abstractmethod
    def diag(self, I: Ints | None) -> Floats:
        """Return K(x, x) of the left rows I."""

    def _chunks(self, I: Ints | None, width: int) -> list[tuple[slice, Ints | slice]]:
        """Return chunks of the left indices I, each with its position in I."""
        count = self.left.shape[0] if I is None else len(I)
        step = max(1, _BLOCK_VALUES // max(1, width))
        places = [slice(a, min(a + step, count)) for a in range(0, count, step)]
        return [(place, place if I is None else I[place]) for place in places]

    def facing(self, right: Rows) -> BlockBackend:
        """Return the backend of the same left rows and other right rows."""
        return replace(self, right=right)

    def scan_bound(
        self, I: Ints | None, J: Ints, coef: Floats, *, double: bool
    ) -> tuple[Floats, Floats] | None:
        """Return None: the values are float64 and count as exact."""
        return None

    def reduced(self, J: Ints | None, coef: Floats) -> tuple[BlockBackend, Ints | None, Floats]:
        """Return the same scan: nothing is known about the kernel."""
        return self, J, coef

    def together(self, I: Ints | None, width: int) -> Ints | None:
        """Return None: no order of the rows saves work."""
        return None

    def add_scan(
        self, I: Ints | None, J: Ints | None, coef: Floats, out: Floats, double: bool
    ) -> None:
        """Add K[I, J] @ coef to `out` for each line of `coef`. Sets: out, largest."""
        columns = slice(None) if J is None else J
        terms = _terms_at_once(coef.shape[1])
        for place, part in self._chunks(I, coef.shape[1]):
            K = self._block(part, columns)
            if K.size:
                self.largest = max(self.largest, float(K.max()), -float(K.min()))
            for a in range(0, K.shape[1], terms):
                out[:, place] += coef[:, a : a + terms] @ K[:, a : a + terms].T

    def score_error(self, terms: Floats, size: Floats, net: Floats) -> Floats:
        """Bound the error of sums of `terms` values computed so far; the values count as exact.

        Parameters
        ----------
        terms, size, net : ndarray
            Number, sum of the sizes, and sum of the coefficients of each sum.
        """
        return np.asarray(_sum_error(terms) * self.largest * size)

    def score_errors(self, I: Ints | None, J: Ints, coef: Floats) -> Floats:
        """Bound the error of a scan row by row, tighter than `score_error`."""
        error = np.zeros(self.left.shape[0] if I is None else len(I))
        for place, part in self._chunks(I, len(coef)):
            error[place] = np.abs(self._block(part, J)) @ np.abs(coef)
        return np.asarray(_sum_error(np.asarray(len(coef))) * error)

    def fill(self, I: Ints | None, J: Ints | None, out: Real, out_rows: Ints | None) -> None:
        """Write K[I, J] into the rows `out_rows` of `out`. Sets: out."""
        columns = slice(None) if J is None else J
        width = self.right.shape[0] if J is None else len(J)
        for place, part in self._chunks(I, width):
            target = place if out_rows is None else out_rows[place]
            out[target, :width] = self._block(part, columns)


@dataclass
class MatrixBackend(BlockBackend):
    """Backend of a precomputed kernel matrix."""

    left: KernelRows
    right: KernelRows

    def _block(self, I: Ints | slice, J: Ints | slice) -> Real:
        every = np.arange(self.left.shape[0])
        found: Real = self.left.values[np.ix_(every[I], self.right.column[J])]
        return found

    def diag(self, I: Ints | None) -> Floats:
        index = np.arange(self.left.shape[0]) if I is None else I
        return self.left.values[index, self.left.column[index]].astype(np.float64)


@dataclass
class FunctionBackend(BlockBackend):
    """Backend of a kernel computed by a Python function."""

    kernel: Callable

    def _block(self, I: Ints | slice, J: Ints | slice) -> Real:
        return _checked(self.kernel, self.left.data[I], self.right.data[J])

    def diag(self, I: Ints | None) -> Floats:
        index = np.arange(self.left.shape[0]) if I is None else I
        out = np.empty(len(index))
        for a in range(0, len(index), _DIAG_BLOCK):
            rows = self.left.data[index[a : a + _DIAG_BLOCK]]
            out[a : a + _DIAG_BLOCK] = np.diagonal(_checked(self.kernel, rows, rows))
        return out


def _terms_at_once(terms: int) -> int:
    """Return the number of terms of a sum that one BLAS call adds, in unknown order.

    The error bound is smallest if each call adds about the square root of the number of terms.
    """
    return max(16, int(np.sqrt(terms)))


def _sum_error(terms: Floats) -> Floats:
    """Bound the error of sums by `_terms_at_once`, relative to the sum of absolute terms."""
    at_once = np.maximum(16.0, np.sqrt(terms) + 1.0)
    return np.asarray(
        (np.minimum(at_once, terms) + terms / np.maximum(16.0, np.sqrt(terms) - 1.0) + 3) * UNIT
    )


def _checked(kernel: Callable, X: Any, S: Any) -> Floats:
    """Return the values of a Python kernel; raise an error if they are not a valid block."""
    values = kernel.function(X, S)
    if sparse.issparse(values):
        values = values.toarray()
    values = np.asarray(values)
    if values.dtype.kind not in "biuf":
        raise TypeError(
            f"kernel: the callable returned {values.dtype} values; it must return numbers"
        )
    values = values.astype(np.float64, copy=False)
    expected = (X.shape[0], S.shape[0])
    if values.shape != expected:
        raise ValueError(
            f"kernel: the callable returned shape {values.shape} for blocks of {expected[0]} and "
            f"{expected[1]} rows; it must return a matrix of shape {expected}"
        )
    if not np.isfinite(values).all():
        raise ValueError("kernel: the callable returned NaN or infinity")
    return values
