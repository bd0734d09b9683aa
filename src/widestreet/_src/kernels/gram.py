"""The Gram matrix between two sets of rows, never held as a whole.

Solvers ask it for three things: `diag`, `block` (some rows against some columns) and `scan` (a
product with a vector, without ever writing K). Whether rows are dense or sparse and where the
values are computed is decided here and known to nobody above.
"""

from __future__ import annotations

import time
from collections.abc import Callable as Function
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from widestreet import _core
from widestreet._src.arrays import Floats, Ints, Real
from widestreet._src.kernels.blocks import BlockBackend
from widestreet._src.kernels.kernels import Callable, Kernel, Precomputed
from widestreet._src.kernels.native import NativeBackend
from widestreet._src.kernels.rounding import sum_error
from widestreet._src.rows import KernelRows, Rows

# One native call is kept below this many multiply-adds per thread, so that signals and clocks are
# looked at between calls: some hundredths of a second with AVX2.
_CALL_COST = 1e9
_WORTH_SHARING = 2e7  # multiply-adds from which on it is worth waking another thread


Action: TypeAlias = Function[[], None]


def _nothing() -> None:
    """Do nothing between calls."""


@dataclass
class _Pace:
    """What kernel values took so far."""

    seconds: float = 0.0
    values: int = 0


class Gram:
    """Kernel values between `left` and `right` rows.

    Parameters
    ----------
    kernel : Kernel
    left, right : Rows
        `right` defaults to `left`.
    threads : int
    between : callable
        Called between native calls, about every tenth of a second; may raise to stop the work.

    Attributes
    ----------
    kernel_values : int
        Kernel values computed so far.
    """

    def __init__(
        self,
        kernel: Kernel,
        left: Rows,
        right: Rows | None = None,
        *,
        threads: int = 1,
        between: Action = _nothing,
    ) -> None:
        right = left if right is None else right
        self.kernel = kernel
        self.left = left
        self.right = right
        self.between = between
        self.threads = threads
        self.kernel_values = 0
        self._pace = _Pace()
        self._backend: NativeBackend | BlockBackend
        if isinstance(kernel, Precomputed | Callable):
            self._backend = BlockBackend(kernel, left, right)
        else:
            assert not isinstance(left, KernelRows)
            assert not isinstance(right, KernelRows)
            self._backend = NativeBackend(kernel, left, right, threads)

    def twin(self, between: Action) -> Gram:
        """The same kernel values for somebody else, counted apart and with other interruptions.

        How long a value takes is learned together.
        """
        twin = copy(self)
        twin.between = between
        twin.kernel_values = 0
        return twin

    @property
    def cost(self) -> float:
        """Rough cost of one kernel value, in units of one fused multiply-add."""
        return self._backend.cost

    @property
    def fits_float32(self) -> bool:
        """Whether float32 can hold the kernel values."""
        return self._backend.fits_float32

    def rough_scan(self, I: Ints, J: Ints, coef: Floats) -> tuple[Floats, Floats] | None:
        """K[I, J] @ coef from float32 values, and by how much each sum is off at the most.

        None where no bound is known. The bound holds against a scan in float64.
        """
        part = self._backend.float32_error
        if part is None:
            return None
        sums, sizes = self.scan(I, J, np.stack([coef, np.abs(coef)]), dtype=np.float32)
        tiny = float(np.finfo(np.float32).tiny)  # below, values and products lose digits
        return sums, 1.01 * part * sizes + tiny * float((np.abs(coef) + 1.0).sum())

    def score_error(self, terms: Floats | int, size: Floats | float, net: Floats | float) -> Floats:
        """Bound the error of float64 sums over kernel values, whatever the row.

        For kernels that come as blocks the bound holds for values computed so far.

        Parameters
        ----------
        terms, size, net : ndarray
            Number, sum of the sizes, and sum of the coefficients of each sum.
        """
        return self._backend.score_error(np.asarray(terms), np.asarray(size), np.asarray(net))

    def score_errors(self, I: Ints | None, J: Ints, coef: Floats) -> Floats:
        """Bound the error of `scan` in float64 row by row, tighter than `score_error`."""
        found = self._backend.score_errors(I, J, coef)
        if found is not None:
            return found
        size = np.abs(coef)
        crude = self.score_error(len(coef), float(size.sum()), float(coef.sum()))
        relative = self._backend.relative_error
        if relative is None:
            return np.full(self.left.shape[0] if I is None else len(I), float(crude))
        part = relative + float(sum_error(len(coef)))
        return np.minimum(1.01 * part * self.scan(I, J, size), crude)

    @property
    def native(self) -> tuple[_core.Kernel, _core.Rows] | None:
        """What the core needs to compute values between left rows by itself; None if it cannot."""
        return self._backend.native

    @property
    def seconds_per_value(self) -> float:
        """Seconds a kernel value took so far, or a guess before the first."""
        if self._pace.values == 0:
            return 1e-10 * self.cost
        return self._pace.seconds / self._pace.values

    def diag(self, I: Ints | None = None) -> Floats:
        """K(x, x) of the left rows I (all when None)."""
        return self._backend.diag(I)

    def block(
        self,
        I: Ints | None = None,
        J: Ints | None = None,
        *,
        dtype: Any = np.float64,
        out: Real | None = None,
        out_rows: Ints | None = None,
    ) -> Real:
        """K[I, J], written into the rows `out_rows` of `out` when these are given."""
        height = self.left.shape[0] if I is None else len(I)
        width = self.right.shape[0] if J is None else len(J)
        if out is None:
            out = np.empty((height, width), dtype=dtype)
        if width == 0:
            return out
        begun = time.perf_counter()
        rows = np.arange(height) if out_rows is None else out_rows
        order = self._backend.together(I, width)
        if order is not None:
            I, rows = order if I is None else I[order], rows[order]
        for place in self._pieces(height, width):
            part = np.arange(place.start, place.stop) if I is None else I[place]
            self._backend.fill(part, J, out, rows[place])
        self._count(height * width, begun)
        return out

    def scan(
        self,
        I: Ints | None,
        J: Ints | None,
        coef: Floats,
        *,
        dtype: Any = np.float64,
        out: Floats | None = None,
    ) -> Floats:
        """K[I, J] @ coef in float64, from kernel values of precision `dtype`; added to `out`.

        With several rows of coefficients the result has one row for each of them, and every kernel
        value is computed only once.
        """
        height, width = self.left.shape[0] if I is None else len(I), coef.shape[-1]
        if out is None:
            out = np.zeros((*coef.shape[:-1], height))
        if coef.size == 0:
            return out
        begun = time.perf_counter()
        coef = np.ascontiguousarray(np.atleast_2d(coef), dtype=np.float64)
        order = self._backend.together(I, width)
        sums = np.atleast_2d(out)
        if order is not None:
            I = order if I is None else I[order]
            sums = np.take(sums, order, axis=1)
        for place in self._pieces(height, width):
            part = np.arange(place.start, place.stop) if I is None else I[place]
            self._backend.add_scan(part, J, coef, sums[:, place], dtype == np.float64)
        if order is not None:
            out[..., order] = sums if out.ndim > 1 else sums[0]
        self._count(height * width, begun)
        return out

    def scan_parts(self, I: Ints, end: Ints, coef: Floats, threads: int) -> Floats:
        """K[P, P] @ coef[P] in float64 for each part P of a list of left rows.

        Parts are short, and each is the work of one thread; `end` is where they end.
        """
        assert self.native is not None
        out = np.zeros(len(I))
        begun = time.perf_counter()
        used = np.add.reduceat(coef != 0, np.append(0, end[:-1]), dtype=np.int64)
        cost = np.cumsum(self.cost * used * np.diff(end, prepend=0))
        threads = min(threads, 1 + int(cost[-1] / _WORTH_SHARING))
        a = b = 0
        while b < len(end):
            self.between()
            spent, start = (cost[b - 1], end[b - 1]) if b else (0.0, 0)
            a, b = b, max(b + 1, int(np.searchsorted(cost, spent + threads * _CALL_COST)))
            part = slice(start, end[b - 1])
            values = _core.scan_parts(
                *self.native, I[part], end[a:b] - start, coef[part], out[part], threads
            )
            self._count(values, begun)
            begun = time.perf_counter()
        return out

    def _count(self, values: int, begun: float) -> None:
        """Note how many kernel values were computed, and since when. Sets: kernel_values, pace."""
        self.kernel_values += values
        self._pace.seconds += time.perf_counter() - begun
        self._pace.values += values

    def _pieces(self, height: int, width: int) -> Iterator[slice]:
        """Cut a list of left rows so that no single call takes long."""
        step = max(48, int(self.threads * _CALL_COST / (self.cost * max(1, width))))
        for a in range(0, height, step):
            self.between()
            yield slice(a, min(a + step, height))
