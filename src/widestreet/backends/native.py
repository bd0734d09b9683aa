"""Kernel values by the native core, for the kernels it knows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from widestreet import _core
from widestreet.arrays import Floats, Ints, Real
from widestreet.kernels import RBF, Laplacian, Linear, NativeKernel, Poly, Sigmoid
from widestreet.rows import CsrRows, Vectors

# Above this gamma |x|^2 a distance computed from norms loses too many of its digits.
_FAR = 1e3
_FLOAT32_MAX = 1e30  # kernel values that may be added up and multiplied in float32
_LEAST_GAMMA, _LARGEST_GAMMA = 1e-37, 1e37  # factors that float32 holds with all its digits


_SMALL = 0.1  # errors of an exponent up to which that of the power is nearly linear
_INVERTED_BELOW = 0.03  # density under which the core meets rows entry by entry
_FEW_ROWS = 64  # that are not worth putting in order
_NARROW = 512  # columns, likewise

_DIAG_ROWS = 1 << 14  # rows whose norms are computed at a time


def _squares(values: Any) -> Floats:
    """|x|^2 of each row."""
    if sparse.issparse(values):
        wide = values.astype(np.float64)
        return np.asarray(wide.multiply(wide).sum(axis=1)).ravel()
    return np.asarray(np.einsum("ij,ij->i", values, values, dtype=np.float64))


def _native_kernel(kernel: NativeKernel, far: bool) -> _core.Kernel:
    """The kernel for the core."""
    kind = _core.KernelKind
    match kernel:
        case Linear():
            return _core.Kernel(kind.linear, 1.0, 0.0, 1)
        case RBF(gamma) if far:
            return _core.Kernel(kind.far_rbf, gamma, 0.0, 1)
        case RBF(gamma):
            return _core.Kernel(kind.rbf, gamma, 0.0, 1)
        case Laplacian(gamma):
            return _core.Kernel(kind.laplacian, gamma, 0.0, 1)
        case Poly(gamma, coef0, degree):
            return _core.Kernel(kind.poly, gamma, coef0, degree)
        case Sigmoid(gamma, coef0):
            return _core.Kernel(kind.sigmoid, gamma, coef0, 1)


@dataclass(frozen=True)
class NativeBackend:
    """Evaluates one native kernel between two sets of rows."""

    kernel: NativeKernel
    left: Vectors
    right: Vectors
    threads: int

    @cached_property
    def _longest(self) -> float:
        both = (self.left,) if self.left is self.right else (self.left, self.right)
        return max(rows.largest_square(self.threads) for rows in both)

    @cached_property
    def _far(self) -> bool:
        """Whether rows are so long that distances must be computed by differences."""
        return isinstance(self.kernel, RBF) and self.kernel.gamma * self._longest > _FAR

    @cached_property
    def _native(self) -> _core.Kernel:
        return _native_kernel(self.kernel, self._far)

    @cached_property
    def _rank(self) -> Ints | None:
        """Where each left row stands when similar ones are together; None if that is no use."""
        rows = self.left
        if not rows.few_nonzeros or rows.density() < _INVERTED_BELOW or self._far:
            return None
        rank = np.empty(rows.shape[0], dtype=np.int64)
        rank[_core.similar_together(rows.native, self.threads)] = np.arange(len(rank))
        return rank

    def together(self, I: Ints | None, width: int) -> Ints | None:
        """An order of the left rows I that puts similar ones together, if that saves work.

        The core meets rows with the same nonzeros together, and what they have in common once.
        """
        count = self.left.shape[0] if I is None else len(I)
        if width < _NARROW or count < _FEW_ROWS or self._rank is None:
            return None
        return np.argsort(self._rank if I is None else self._rank[I], kind="stable")

    @property
    def native(self) -> tuple[_core.Kernel, _core.Rows]:
        """The kernel and the left rows as the core knows them."""
        return self._native, self.left.native

    @property
    def fits_float32(self) -> bool:
        """Whether neither kernel values nor factors leave the range of float32."""
        match self.kernel:
            case Linear():
                return self._longest < _FLOAT32_MAX
            case Poly(gamma, coef0, degree):
                largest = gamma * self._longest + abs(coef0)
                return float(largest) < float(_FLOAT32_MAX ** (1.0 / max(1, degree)))
            case RBF(gamma) | Laplacian(gamma):
                return _LEAST_GAMMA < gamma < _LARGEST_GAMMA
            case _:
                return True

    @property
    def float32_error(self) -> float | None:
        """Bound on the error of a float32 scan, in parts of sum |coef| K; None if there is none.

        With u = 2^-24 and S = (|x|^2 + |s|^2) gamma log2(e), the exponent is a sum of d products
        and two squares of at most 2 S in all. Their values are off by 4 u each (rounded features
        and factors), adding them up costs (d + 4) u: (2 d + 16) u S together. The exponential adds
        the error stated in core/simd.hpp, rounded coefficients and sums of 8 terms 18 u.
        """
        if not isinstance(self.kernel, RBF) or self._far or not self.fits_float32:
            return None
        unit = 2.0**-24
        size = 2.0 * self._longest * self.kernel.gamma * np.log2(np.e)
        exponent = (2 * self.left.shape[1] + 16) * unit * size
        if exponent > _SMALL:
            return None
        return float(1.1 * np.log(2) * exponent + 2.3e-7 + 18 * unit)

    def add_scan(
        self, I: Ints | None, J: Ints | None, coef: Floats, out: Floats, double: bool
    ) -> None:
        """Add K[I, J] @ coef to `out`, row by row of both. Sets: out."""
        _core.scan(
            self._native,
            self.left.native,
            I,
            self.right.native,
            J,
            coef,
            out,
            double,
            self.threads,
        )

    def fill(self, I: Ints | None, J: Ints | None, out: Real, out_rows: Ints | None) -> None:
        """Write K[I, J] into the rows `out_rows` of `out`. Sets: out."""
        _core.tile(
            self._native,
            self.left.native,
            I,
            self.right.native,
            J,
            out,
            out_rows,
            self.threads,
        )

    def diag(self, I: Ints | None) -> Floats:
        """K(x, x) for the left rows I."""
        count = self.left.shape[0] if I is None else len(I)
        if isinstance(self.kernel, RBF | Laplacian):
            return np.ones(count)
        square = np.empty(count)
        for a in range(0, count, _DIAG_ROWS):
            part = slice(a, a + _DIAG_ROWS)
            square[part] = _squares(self.left.data[part if I is None else I[part]])
        match self.kernel:
            case Poly(gamma, coef0, degree):
                return np.asarray((gamma * square + coef0) ** degree)
            case Sigmoid(gamma, coef0):
                return np.asarray(np.tanh(gamma * square + coef0))
            case _:
                return square

    @cached_property
    def cost(self) -> float:
        """Rough cost of one kernel value, in units of one fused multiply-add."""
        rows = self.right
        if isinstance(self.left, CsrRows) and isinstance(rows, CsrRows):
            nonzeros = float(rows.data.nnz) / max(1, rows.shape[0])
            return 16.0 + nonzeros * (8.0 if self._far else 1.0)
        if self._far:
            return 16.0 + 2.0 * rows.shape[1]
        return 16.0 + rows.shape[1] * (0.5 if self.left.few_nonzeros else 1.0)
