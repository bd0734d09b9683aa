"""The Gram matrix between two sets of rows, which is never stored as a whole.

Solvers call three methods: `diag`, `block` (some rows and columns) and `scan` (a product with a
vector, computed without storing K). The storage of the rows and the backend are chosen here; no
layer above depends on them. `select` returns a Gram over some of the rows, with a diagonal added if
one is given.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, cast

import numpy as np

from widestreet import _core
from widestreet._src.arrays import Floats, Ints, Real
from widestreet._src.kernels.backend import TINY, Backend, dtype_of_sums
from widestreet._src.kernels.kernels import Callable, Kernel, Linear, NativeKernel
from widestreet._src.kernels.native import NativeBackend, bounded_scan
from widestreet._src.kernels.on_device import DeviceBackend, Resident
from widestreet._src.kernels.poll import Pace, Poll
from widestreet._src.kernels.precomputed_and_callable import FunctionBackend, MatrixBackend
from widestreet._src.kernels.rounding_bounds import UNIT
from widestreet._src.kernels.selected_rows import Diagonal, Selection, compose
from widestreet._src.kernels.symmetric_scan import BLOCK, add_symmetric_piece, shared_rows
from widestreet._src.rows import DeviceRows, KernelRows, Rows, Vectors

# Largest number of multiply-adds per thread of one native call, some hundredths of a second with
# AVX2: signals and clocks are polled between calls.
CALL_COST = 1e9
_COST_PER_THREAD = 2e7  # multiply-adds that justify one more thread
_LARGEST_DIAGONAL = 1e30  # to which float32 kernel values may be added


def _restored(state: dict[str, Any]) -> Gram:
    """Return a Gram from its pickled state."""
    rows, longest = (state["left"], state["right"]), state["_longest"]
    gram = Gram(state["kernel"], *rows, threads=state["threads"], longest=longest)
    vars(gram).update(state)
    return gram


def _backend(
    kernel: Kernel, left: Rows, right: Rows, threads: int, longest: float | None
) -> Backend:
    """Return the backend of a kernel."""
    if isinstance(kernel, NativeKernel) and isinstance(left, DeviceRows):
        return DeviceBackend(kernel, left, cast(Vectors, right), threads, longest)
    if isinstance(kernel, NativeKernel):
        return NativeBackend(kernel, cast(Vectors, left), cast(Vectors, right), threads, longest)
    if isinstance(kernel, Callable):
        return FunctionBackend(left, right, kernel)
    if isinstance(left, KernelRows) and isinstance(right, KernelRows):
        return MatrixBackend(left, right)
    raise TypeError(f"{kernel} needs the rows of a kernel matrix, got {type(left).__name__}")


class Gram:
    """Kernel values between `left` and `right` rows.

    Parameters
    ----------
    kernel : Kernel
    left, right : Rows
        `right` defaults to `left`.
    threads : int
    longest : float, optional
        Bound on |x|^2 of all rows, relative to their centre; computed if it is not given.

    Attributes
    ----------
    left, right : Rows
        All rows; `left_index` and `right_index` map the indices of a selection to them.
    pace : Pace
        Kernel values computed last, and their seconds; shared by all selections.
    values_per_call : float
        Number of kernel values that take as long as a call of `scan` takes beside them.
    """

    def __init__(
        self,
        kernel: Kernel,
        left: Rows,
        right: Rows | None = None,
        *,
        threads: int = 1,
        longest: float | None = None,
    ) -> None:
        right = left if right is None else right
        self.kernel = kernel
        self.left = left
        self.right = right
        self.threads = threads
        self._at = Selection()
        self._diagonal: Diagonal | None = None
        self.pace = Pace()
        self._longest = longest
        self._backend = _backend(kernel, left, right, threads, longest)
        self.values_per_call = self._backend.values_per_call

    def __reduce__(self) -> tuple[Any, ...]:
        state = {name: value for name, value in vars(self).items() if name != "_backend"}
        return _restored, (state,)

    def select(
        self,
        rows: Ints | None,
        columns: Ints | None = None,
        *,
        diagonal: Floats | None = None,
    ) -> Gram:
        """Return a Gram over some rows of this one.

        Both share the measured time of a kernel value.

        Parameters
        ----------
        rows : ndarray or None
            Left rows in their new order; None means all.
        columns : ndarray, optional
            Right rows; `rows` by default.
        diagonal : ndarray, optional
            One value per row, added to the diagonal: the result is K + diag(diagonal).
        """
        columns = rows if columns is None else columns
        part = object.__new__(Gram)
        vars(part).update(vars(self))
        part._at = self._at.select(rows, columns)
        if self._diagonal is not None:
            assert diagonal is None, "there is a diagonal already"
            part._diagonal = self._diagonal.select(rows, columns)
        elif diagonal is not None:
            part._diagonal = Diagonal(diagonal)
        return part

    @property
    def shape(self) -> tuple[int, int]:
        """Number of left and of right rows."""
        return self._at.count(self.left.shape[0], self.right.shape[0])

    def left_index(self, I: Ints) -> Ints:
        """Return the indices in `left` of left rows."""
        return I if self._at.rows is None else self._at.rows[I]

    def right_index(self, J: Ints) -> Ints:
        """Return the indices in `right` of right rows."""
        return J if self._at.columns is None else self._at.columns[J]

    def diagonal_times(self, I: Ints | None, J: Ints | None, coef: Floats) -> Floats | float:
        """Return the product of the added diagonal with `coef`; zero without a diagonal."""
        return 0.0 if self._diagonal is None else self._diagonal.times(I, J, coef)

    @property
    def ones_on_diagonal(self) -> bool:
        """True if K(x, x) is one for every row."""
        return self.kernel.translation_invariant and self._diagonal is None

    @property
    def cost(self) -> float:
        """Rough cost of one kernel value, in units of one fused multiply-add."""
        return self._backend.cost

    @property
    def fits_float32(self) -> bool:
        """True if float32 can hold the kernel values."""
        diagonal = self._diagonal
        small = diagonal is None or bool(np.abs(diagonal.values).max() < _LARGEST_DIAGONAL)
        return small and self._backend.fits_float32

    def rough_scan(
        self, I: Ints, J: Ints, coef: Floats, *, tight: bool = False, poll: Poll | None = None
    ) -> tuple[Floats, Floats] | None:
        """Return K[I, J] @ coef from float32 values, and a bound on the error of each sum.

        The error is relative to a scan in float64. With `tight` the bound is smaller where the
        kernel allows it, and the scan slower. The result is None if no bound is known.
        """
        left, right = self.left_index(I), self.right_index(J)
        smooth = self._backend.smooth
        near = None if smooth is None else smooth.sums(left, right, coef[None], poll)
        if near is not None:
            exact = self.score_error(len(coef), float(np.abs(coef).sum()), float(coef.sum()))
            error = np.broadcast_to(near.error[0] + float(exact), len(I))
            return _plus_diagonal(near.sums[0], self._diagonal, I, J, coef), error
        fine = bounded_scan(self._backend, right, coef) if tight else None
        if fine is not None:
            begun, pieces = time.perf_counter(), self._pieces(len(I), len(J), poll)
            sums, errors = np.hstack([np.empty((2, 0)), *(fine.sums(left[p]) for p in pieces)])
            self.pace.count(len(I) * len(J), begun, poll)
            exact = self.score_error(len(coef), float(np.abs(coef).sum()), float(coef.sum()))
            errors += float(exact)
            return _plus_diagonal(sums, self._diagonal, I, J, coef), errors
        bound = self._backend.scan_bound(left, right, coef, double=False)
        if bound is None:
            return None
        weight, part = bound
        sums, sizes = self.scan(I, J, np.stack([coef, weight]), dtype=np.float32, poll=poll)
        error = np.maximum(sizes, TINY, out=sizes)
        error *= part
        error *= 1.01
        error += TINY * float((weight + 1.0).sum())
        return sums, error

    def score_error(self, terms: Floats | int, size: Floats | float, net: Floats | float) -> Floats:
        """Bound the error of float64 sums over kernel values, for all rows at once.

        For kernels given as blocks the bound holds for values computed so far.

        Parameters
        ----------
        terms, size, net : ndarray
            Number, sum of absolute values, and sum of the coefficients of each sum.
        """
        size = np.asarray(size)
        error = self._backend.score_error(np.asarray(terms), size, np.asarray(net))
        if self._diagonal is None:
            return error
        # one more addition, and one more product with its rounding
        largest = float(np.abs(self._diagonal.values).max())
        one_more = self._backend.score_error(np.asarray(1), size, np.asarray(0.0))
        return np.asarray(error + one_more + 3 * UNIT * largest * size)

    def score_errors(
        self, I: Ints | None, J: Ints, coef: Floats, *, poll: Poll | None = None
    ) -> Floats:
        """Bound the error of `scan` in float64 row by row, tighter than `score_error`."""
        found = self._backend.score_errors(compose(self._at.rows, I), self.right_index(J), coef)
        if found is not None:  # which exceeds the rounding of one more addition to the sum
            extra = np.abs(np.asarray(self.diagonal_times(I, J, coef)))
            return np.where(extra > 0, 2.0 * found + 3 * UNIT * extra, found)
        size = np.abs(coef)
        crude = self.score_error(len(coef), float(size.sum()), float(coef.sum()))
        left, right = compose(self._at.rows, I), self.right_index(J)
        bound = self._backend.scan_bound(left, right, coef, double=True)
        if bound is None:
            return np.full(self.shape[0] if I is None else len(I), float(crude))
        weight, part = bound
        part = part + (3 * UNIT if self._diagonal else 0.0)
        dtype = dtype_of_sums(self._backend, left, right, weight)
        sums = self.scan(I, J, weight, dtype=dtype, poll=poll)
        return np.minimum(1.03 * part * (sums + TINY * float((weight + 1.0).sum())), crude)

    @property
    def native(self) -> tuple[_core.Kernel, _core.Rows] | None:
        """Kernel and `left` as objects of the core; None if the core cannot compute the values."""
        return None if self._diagonal is not None else self._backend.native

    @property
    def seconds_per_value(self) -> float:
        """Mean seconds of a kernel value so far; an estimate before the first."""
        if self.pace.values == 0:
            return 1e-10 * self.cost
        return self.pace.seconds / self.pace.values

    def diag(self, I: Ints | None = None) -> Floats:
        """Return K(x, x) of the left rows I; None means all."""
        values = self._backend.diag(compose(self._at.rows, I))
        return values if self._diagonal is None else values + self._diagonal.of_rows(I)

    def block(
        self,
        I: Ints | None = None,
        J: Ints | None = None,
        *,
        dtype: Any = np.float64,
        out: Real | None = None,
        out_rows: Ints | None = None,
        poll: Poll | None = None,
    ) -> Real:
        """Return K[I, J], written into the rows `out_rows` of `out` if these are given."""
        height = self.shape[0] if I is None else len(I)
        width = self.shape[1] if J is None else len(J)
        if out is None:
            out = np.empty((height, width), dtype=dtype)
        if width == 0:
            return out
        begun = time.perf_counter()
        into = rows = np.arange(height) if out_rows is None else out_rows
        left, right = compose(self._at.rows, I), compose(self._at.columns, J)
        order = self._backend.together(left, width)
        if order is not None:
            left, rows = order if left is None else left[order], rows[order]
        for piece in self._pieces(height, width, poll):
            part = np.arange(piece.start, piece.stop) if left is None else left[piece]
            self._backend.fill(part, right, out, rows[piece])
        if self._diagonal is not None:
            self._diagonal.add_to(out, into, I, J)
        self.pace.count(height * width, begun, poll)
        return out

    def scan(
        self,
        I: Ints | None,
        J: Ints | None,
        coef: Floats,
        *,
        dtype: Any = np.float64,
        out: Floats | None = None,
        near: bool = False,
        poll: Poll | None = None,
    ) -> Floats:
        """Return K[I, J] @ coef in float64, from kernel values of precision `dtype`.

        The result is added to `out` if that is given. With several lines of coefficients the result
        has one line for each, and every kernel value is computed only once. Where it is faster,
        interpolation takes the place of float32 values and, if `near`, of float64 values: with an
        error far below, or like, that of their rounding.
        """
        height, width = self.shape[0] if I is None else len(I), coef.shape[-1]
        shape = (*coef.shape[:-1], height)
        if coef.size == 0:
            return np.zeros(shape) if out is None else out
        begun = time.perf_counter()
        lines = np.ascontiguousarray(np.atleast_2d(coef), dtype=np.float64)
        left, right = compose(self._at.rows, I), compose(self._at.columns, J)
        if (near or dtype != np.float64) and self._backend.smooth is not None:
            found = self._backend.smooth.sums(left, right, lines, poll, dtype)
            if found is not None:
                sums = found.sums.reshape(shape)
                out = sums if out is None else np.add(out, sums, out=out)
                return _plus_diagonal(out, self._diagonal, I, J, coef)
        out = np.zeros(shape) if out is None else out
        backend, right, lines = self._backend.reduced(right, lines)
        order = backend.together(left, lines.shape[1])
        sums = np.atleast_2d(out)
        if order is not None:
            left = order if left is None else left[order]
            sums = np.take(sums, order, axis=1)
        double = dtype == np.float64
        both = shared_rows(backend, left, right, lines) if double else None
        for piece in self._pieces(height, lines.shape[1], poll, backend.scan_cost):
            if both is not None:
                add_symmetric_piece(backend, both, piece, lines[0], sums[0])
                continue
            part: Ints | None = None  # all rows
            if left is not None:
                part = left[piece]
            elif piece != slice(0, height):
                part = np.arange(piece.start, piece.stop)
            backend.add_scan(part, right, lines, sums[:, piece], double)
        if order is not None:
            out[..., order] = sums if out.ndim > 1 else sums[0]
        _plus_diagonal(out, self._diagonal, I, J, coef)
        self.pace.count(height * width if both is None else height * (width + 1) // 2, begun, poll)
        return out

    def scan_parts(
        self, I: Ints, end: Ints, coef: Floats, threads: int, *, poll: Poll | None = None
    ) -> Floats:
        """Return K[P, P] @ coef[P] in float64 for each part P of a list of left rows.

        `end` holds the position after the last row of each part. One thread computes each part;
        parts should be short.
        """
        assert self.native is not None
        I = self.left_index(I)
        out = np.zeros(len(I))
        begun = time.perf_counter()
        used = np.add.reduceat(coef != 0, np.append(0, end[:-1]), dtype=np.int64)
        cost = np.cumsum(self.cost * used * np.diff(end, prepend=0))
        threads = min(threads, 1 + int(cost[-1] / _COST_PER_THREAD))
        a = b = 0
        while b < len(end):
            if poll is not None:
                poll.look()
            spent, start = (cost[b - 1], end[b - 1]) if b else (0.0, 0)
            a, b = b, max(b + 1, int(np.searchsorted(cost, spent + threads * CALL_COST)))
            part = slice(start, end[b - 1])
            values = _core.scan_parts(
                *self.native, I[part], end[a:b] - start, coef[part], out[part], threads
            )
            self.pace.count(values, begun, poll)
            begun = time.perf_counter()
        return out

    def _pieces(
        self, height: int, width: int, poll: Poll | None, most: float | None = None
    ) -> Iterator[slice]:
        """Yield slices of the left rows, each short enough for one call of cost `most`."""
        most = self.threads * CALL_COST if most is None else most
        step = max(1, int(most / (self.cost * max(1, width))) // BLOCK) * BLOCK
        for a in range(0, height, step):
            if poll is not None:
                poll.look()
            yield slice(a, min(a + step, height))


def _plus_diagonal(
    sums: Floats, diagonal: Diagonal | None, I: Ints | None, J: Ints | None, coef: Floats
) -> Floats:
    """Return sums plus the product of a diagonal with `coef`, if there is one. Sets: sums."""
    if diagonal is not None:
        sums += diagonal.times(I, J, coef)
    return sums


def facing(gram: Gram, right: Rows, diagonal: Diagonal | None = None) -> Gram:
    """Return a Gram between all left rows of another one and other right rows.

    Parameters
    ----------
    gram : Gram
    right : Rows
    diagonal : Diagonal, optional
        Added to the kernel values; it says which right row is which left row.
    """
    other = object.__new__(Gram)
    vars(other).update(vars(gram), right=right, _at=Selection(), _diagonal=diagonal)
    other._backend = gram._backend.facing(right)
    return other


def without_diagonal(gram: Gram) -> Gram:
    """Return the Gram of the same rows without the added diagonal."""
    part = object.__new__(Gram)
    vars(part).update(vars(gram), _diagonal=None)
    return part


def interpolated(gram: Gram, rows: int, vectors: int) -> float | None:
    """Return how many float64 values take as long as a float32 scan, if that interpolates."""
    smooth = gram._backend.smooth
    return None if smooth is None else smooth.values(rows, vectors)


def shared_scans(gram: Gram) -> NativeBackend | None:
    """Return the backend whose scans may be computed several in a call; None if `scan` does more.

    Scans of a linear kernel are products with one vector.
    """
    backend = gram._backend
    if gram._diagonal is not None or not isinstance(backend, NativeBackend):
        return None
    return backend if backend.shares_scans and not isinstance(backend.kernel, Linear) else None


def is_symmetric(gram: Gram, rows: int) -> bool:
    """Return whether float64 scores of so many rows against themselves take half of the values."""
    every = np.arange(rows)
    return shared_rows(gram._backend, every, every, np.empty((1, 0))) is not None


def resident(gram: Gram) -> Resident | None:
    """Return the rows in the memory of a device that solves working sets; None without one."""
    backend = gram._backend
    if isinstance(backend, DeviceBackend) and gram._diagonal is None and gram._at.square:
        return backend.resident(gram._at.rows)
    return None
