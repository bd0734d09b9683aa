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
        different = [self.left] if self.right is self.left else [self.left, self.right]
        return max(rows.largest_square(self.threads) for rows in different)

    @cached_property
    def _far(self) -> bool:
        """Whether rows are so long that distances must be computed by differences."""
        return isinstance(self.kernel, RBF) and self.kernel.gamma * self._longest > _FAR

    @cached_property
    def _native(self) -> _core.Kernel:
        return _native_kernel(self.kernel, self._far)

    @property
    def native(self) -> tuple[_core.Kernel, _core.Rows]:
        """The kernel and the left rows as the core knows them."""
        return self._native, self.left.native

    @property
    def fits_float32(self) -> bool:
        """Whether no kernel value overflows in float32."""
        match self.kernel:
            case Linear():
                return self._longest < _FLOAT32_MAX
            case Poly(gamma, coef0, degree):
                largest = gamma * self._longest + abs(coef0)
                return float(largest) < float(_FLOAT32_MAX ** (1.0 / max(1, degree)))
            case _:
                return True

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
        few = isinstance(self.left, CsrRows) or self.left.skip_zeros
        return 16.0 + rows.shape[1] * (0.5 if few else 1.0)
