"""Scores of rows with few features by interpolation, with a proven bound on the error.

In two or three dimensions a sum over many values of an RBF kernel is smooth: in a cell of about the
width of the kernel it is a polynomial of low degree, up to a small error. A `Grid` divides the
region of the rows into cells. In each cell that contains rows the sum is computed at Chebyshev
nodes, in float64, and the polynomial through these values takes the place of all kernel values.

Let g(x) = exp(-gamma x^2), p the number of nodes in each direction, and h half the width of a cell.
The derivatives of g are Hermite functions, which Cramer's inequality bounds, and so

    |g^(p)| <= k (2 gamma)^(p/2) sqrt(p!)         with k < 1.09
    |g - its polynomial| <= 2 (h/2)^p / p! max |g^(p)| <= 2 k a^p / sqrt(p!),   a = h sqrt(gamma/2)

An RBF kernel is the product of such functions. Interpolation in one direction after the other
multiplies errors by the Lebesgue constant of the nodes, 1 + 2/pi log(p). Sums are off by at most
the sum of the sizes of their coefficients times this error. `Grid.rounding` adds all that rounding
contributes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, factorial, log, pi, sqrt
from typing import Any, TypeAlias

import numpy as np

from widestreet import _core
from widestreet._src.arrays import Bytes, Floats, Ints
from widestreet._src.kernels.poll import Poll
from widestreet._src.kernels.rounding_bounds import UNIT
from widestreet._src.rows import DenseRows

NODES = 16  # in each direction: kDegrees of core/kernels/interpolate.hpp
MOST_FEATURES = 3
_CRAMER = 1.09
# Largest error of a kernel value in one direction: far below that of float32 (1e-7), and at most
# that of a sum in float64 (24 units of rounding and more, rounding_bounds.py).
_ROUGH, _FINE = 1e-10, 2e-15
_LEBESGUE = 1.0 + 2.0 / pi * log(NODES)
_MOST_NODES = 1 << 20
_INSIDE = 1.0 + 1e-9  # width of cells, relative to what would just contain all rows
_LEAST_COST = 2e8  # multiply-adds of the kernel values of a scan, from which on a grid is made
_SAVING = 0.8  # largest cost of an interpolation, relative to that of the kernel values
_FLOAT64 = 2.5  # cost of a kernel value in float64, relative to float32
_CALL_COST = 1e9  # multiply-adds of one native call, per thread
_AT_ROW, _PER_TERM = 1500.0, 4.0  # cost of a polynomial at a row, in multiply-adds of float32

# Rounding, in units: of polynomials at a row, which a recurrence computes up to 816 units each, and
# of sums of their products; of a transform in one direction, whose terms are off by 16 units each
# and are added up in sequence; of the places of rows and nodes.
_OF_POLYNOMIALS, _OF_TRANSFORM, _OF_PLACES = 1000.0, 64.0, 16.0

AtNodes: TypeAlias = Callable[[DenseRows, "Ints | None", Floats, Floats], Floats]


def _chebyshev() -> tuple[Floats, Floats]:
    """Return the nodes, and the matrix that takes values there to coefficients of polynomials."""
    order, node = np.arange(NODES), 2 * np.arange(NODES) + 1
    turn = np.multiply.outer(order, node) % (4 * NODES)  # of angles that are computed exactly
    matrix = np.cos(pi / (2 * NODES) * turn) * (2.0 / NODES)
    matrix[0] *= 0.5
    return np.cos(pi / (2 * NODES) * node), matrix


_NODE, _TRANSFORM = _chebyshev()


@dataclass(frozen=True, eq=False)
class Grid:
    """Cells in which sums over an RBF kernel are polynomials, up to a small error.

    Attributes
    ----------
    gamma : float
        Parameter of the kernel.
    low : ndarray of shape (d,)
        Where the first cell begins in each direction.
    half : ndarray of shape (d,)
        Half the width of a cell.
    count : ndarray of shape (d,)
        Number of cells in each direction; the last direction varies fastest.
    """

    gamma: float
    low: Floats
    half: Floats
    count: Ints

    @classmethod
    def of(
        cls, gamma: float, rows: DenseRows, accuracy: float = 1e-10, threads: int = 1
    ) -> Grid | None:
        """Return a grid that contains rows; None if they have many features or need many cells.

        `accuracy` bounds the error of an interpolated kernel value in one direction.
        """
        if not 1 <= rows.shape[1] <= MOST_FEATURES or rows.shape[0] == 0 or not gamma / 2.0 > 0:
            return None
        low, high = rows.box(threads)
        widest = (accuracy * sqrt(factorial(NODES)) / (2.0 * _CRAMER)) ** (1.0 / NODES)
        widest /= sqrt(gamma / 2.0)
        needed = (high - low) / (2.0 * widest)
        if not np.prod(np.maximum(needed, 1.0)) * NODES ** len(low) <= _MOST_NODES:
            return None
        count = np.array([max(1, ceil(cells)) for cells in needed])
        half = np.where(high > low, _INSIDE * (high - low) / (2.0 * count), widest)
        return cls(gamma, low, half, count)

    @property
    def longest(self) -> float:
        """Bound on |x|^2 in the grid; infinite if it overflows."""
        high = self.low + 2.0 * self.count * self.half
        with np.errstate(over="ignore"):
            return float(np.square(np.maximum(np.abs(self.low), np.abs(high))).sum())

    @cached_property
    def size(self) -> int:
        """Number of nodes of a cell, and of coefficients of its polynomial."""
        return int(NODES ** len(self.low))

    @property
    def truncation(self) -> float:
        """Bound on the error of an interpolated kernel value without rounding."""
        a = self.half * sqrt(self.gamma / 2.0)
        each = 2.0 * _CRAMER * a**NODES / sqrt(factorial(NODES))
        return float(each @ _LEBESGUE ** np.arange(len(a)))

    @cached_property
    def cells(self) -> int:
        """Number of all cells."""
        return int(self.count.prod())

    @cached_property
    def cost_at_row(self) -> float:
        """Cost of a polynomial at a row, in multiply-adds of float32."""
        return _AT_ROW + _PER_TERM * self.size

    def cost(self, cells: int, rows: int, shape: tuple[int, ...], value: float) -> float:
        """Return the cost of interpolation, in multiply-adds of float32.

        Parameters
        ----------
        cells : int
            Number of cells whose polynomials are computed.
        rows : int
        shape : tuple of int
            Number of sums of each row, and of their terms.
        value : float
            Cost of a kernel value in float64, as they are at nodes.
        """
        sets, vectors = shape
        at_nodes = cells * self.size * (value * vectors + 2.0 * NODES * sets)
        return at_nodes + rows * sets * self.cost_at_row

    def occupied(
        self, rows: DenseRows, index: Ints | None, threads: int, but: Ints | None = None
    ) -> Ints:
        """Return the cells that contain some of the rows, except those in `but`."""
        marks: Bytes = np.zeros(self.cells, dtype=np.uint8)
        _core.mark_cells(rows.native, index, self.low, self.half, self.count, marks, threads)
        if but is not None:
            marks[but] = 0
        return np.flatnonzero(marks)

    def nodes(self, cells: Ints) -> Floats:
        """Return the nodes of cells, of shape (cells * size, d)."""
        at = np.stack(np.unravel_index(cells, self.count), axis=1)
        middle = self.low + (2.0 * at + 1.0) * self.half
        grid = np.stack(np.meshgrid(*[_NODE] * len(self.low), indexing="ij"), axis=-1)
        points = middle[:, None] + self.half * grid.reshape(1, self.size, -1)
        return np.ascontiguousarray(points.reshape(-1, len(self.low)))

    def coefficients(self, values: Floats) -> Floats:
        """Return the coefficients of polynomials from their values at nodes, of the same shape.

        `values` has the shape (sets, cells, size).
        """
        d = len(self.low)
        found = values.reshape(-1, *[NODES] * d)
        for _ in range(d):  # each time the first direction becomes the last
            found = np.tensordot(found, _TRANSFORM, axes=(1, 1))
        return np.ascontiguousarray(found.reshape(values.shape))

    def rounding(self, values: Floats, coef: Floats, size: Floats, at_nodes: Floats) -> Floats:
        """Bound what rounding contributes to the errors of scores, for each set.

        Parameters
        ----------
        values, coef : ndarray of shape (sets, cells, size)
            Values at nodes and coefficients of the polynomials.
        size : ndarray of shape (sets,)
            Sum of the sizes of the coefficients of the kernel values.
        at_nodes : ndarray of shape (sets,)
            Bound on the errors of the values at nodes.
        """
        d = len(self.low)
        largest = np.abs(values).max(axis=(1, 2), initial=0.0)
        polynomials = np.abs(coef).sum(axis=2).max(axis=1, initial=0.0)
        units = _OF_TRANSFORM * (2.0 * NODES) ** d * largest + _OF_POLYNOMIALS * polynomials
        moved = d * UNIT * _OF_PLACES * sqrt(self.gamma * self.longest) * size
        return np.asarray(_LEBESGUE**d * (at_nodes + moved) + d * UNIT * units)

    def evaluate(
        self,
        rows: DenseRows,
        index: Ints | None,
        cells: Ints,
        coef: Floats,
        out: Floats,
        threads: int,
    ) -> None:
        """Compute the values of polynomials at rows in these cells. Sets: out."""
        place = np.zeros(self.cells, dtype=np.int64)
        place[cells] = np.arange(len(cells))
        _core.interpolate(
            rows.native, index, self.low, self.half, self.count, place, coef, out, threads
        )


@dataclass(frozen=True, eq=False)
class _Polynomials:
    """Polynomials of one sum over kernel values, in the cells that were needed so far.

    Attributes
    ----------
    grid : Grid
    columns, weights : ndarray
        The right rows and their coefficients.
    cells : ndarray
    values, coef : ndarray of shape (sets, cells, size)
        Values at the nodes, and coefficients.
    at_nodes : ndarray of shape (sets,)
        Bounds on the errors of the values.
    """

    grid: Grid
    columns: Ints | None
    weights: Floats
    cells: Ints
    values: Floats
    coef: Floats
    at_nodes: Floats

    def are_of(self, grid: Grid, columns: Ints | None, weights: Floats) -> bool:
        """Return whether these are polynomials of a given sum on a given grid."""
        same = self.grid is grid and np.array_equal(self.weights, weights)
        return same and np.array_equal(np.asarray(self.columns), np.asarray(columns))

    def with_cells(self, cells: Ints, values: Floats, at_nodes: Floats) -> _Polynomials:
        """Return these polynomials and those of more cells."""
        return replace(
            self,
            cells=np.concatenate([self.cells, cells]),
            values=np.concatenate([self.values, values], axis=1),
            coef=np.concatenate([self.coef, self.grid.coefficients(values)], axis=1),
            at_nodes=np.maximum(self.at_nodes, at_nodes),
        )


@dataclass(frozen=True, eq=False)
class Interpolated:
    """Scores by interpolation.

    Attributes
    ----------
    sums : ndarray of shape (sets, rows)
    polynomials : _Polynomials
        The polynomials they were computed from, or some of more cells.
    """

    sums: Floats
    polynomials: _Polynomials

    @property
    def error(self) -> Floats:
        """Bound on the errors of the sums, of shape (sets,)."""
        found = self.polynomials
        size = np.abs(found.weights).sum(axis=1)
        rounding = found.grid.rounding(found.values, found.coef, size, found.at_nodes)
        return np.asarray(rounding + found.grid.truncation * size)


class Interpolation:
    """Sums over kernel values between rows, by interpolation.

    The polynomials of the last sum are kept, because surveys visit rows in several parts. Threads
    may use them at the same time: they are replaced as a whole.

    Parameters
    ----------
    gamma : float
    rows : DenseRows
        Left rows.
    at_nodes : callable
        Takes nodes, right rows, coefficients and an array of shape (sets, nodes), to which it adds
        the sums; returns bounds on the errors of each set.
    value : float
        Cost of a kernel value in float32, in multiply-adds.
    threads : int
    """

    def __init__(
        self, gamma: float, rows: DenseRows, at_nodes: AtNodes, value: float, threads: int
    ) -> None:
        self._gamma, self._rows, self._at_nodes = gamma, rows, at_nodes
        self._value, self._threads = value, threads
        self._last: _Polynomials | None = None

    @cached_property
    def _rough(self) -> Grid | None:
        """Grid in the place of float32 values; None if there would be too many cells."""
        return Grid.of(self._gamma, self._rows, _ROUGH, self._threads)

    @cached_property
    def _fine(self) -> Grid | None:
        """Grid in the place of float64 values."""
        return Grid.of(self._gamma, self._rows, _FINE, self._threads)

    def _grid(self, rows: int, shape: tuple[int, ...], dtype: Any) -> tuple[Grid | None, float]:
        """Return the grid for sums of this shape, and the largest cost at which it saves work."""
        sets, vectors = shape
        double = dtype == np.float64
        value = self._value * (_FLOAT64 if double else 1.0)
        direct = rows * vectors * value
        if direct < _LEAST_COST or self._rows.shape[1] > MOST_FEATURES:
            return None, 0.0
        grid, most = self._fine if double else self._rough, _SAVING * direct
        if grid is None or rows * sets * grid.cost_at_row > most:
            return None, 0.0
        return grid, most

    def values(self, rows: int, vectors: int) -> float | None:
        """Return how many float64 kernel values take as long as sums at rows, wherever they are.

        The result is None if interpolation does not save work.
        """
        grid, most = self._grid(rows, (1, vectors), np.float32)
        value = _FLOAT64 * self._value
        cost = np.inf if grid is None else grid.cost(grid.cells, rows, (1, vectors), value)
        return cost / value if cost <= most else None

    def sums(
        self,
        index: Ints | None,
        columns: Ints | None,
        weights: Floats,
        poll: Poll | None = None,
        dtype: Any = np.float32,
    ) -> Interpolated | None:
        """Return sums at rows; None if kernel values of precision `dtype` take less time.

        Sets: polynomials, kernel values of the poll.
        """
        count, poll = self._rows.shape[0] if index is None else len(index), poll or Poll()
        grid, most = self._grid(count, weights.shape, dtype)
        if grid is None:
            return None
        found = self._polynomials_of(grid, columns, weights)
        missing = found.cells[:0]
        if len(found.cells) < grid.cells:
            missing = grid.occupied(self._rows, index, self._threads, found.cells)
        if grid.cost(len(missing), count, weights.shape, _FLOAT64 * self._value) > most:
            return None
        if len(missing):
            values, at_nodes = self._values(grid, missing, columns, weights, poll)
            found = self._last = found.with_cells(missing, values, at_nodes)
        sums = np.empty((len(weights), count))
        step = int(self._threads * _CALL_COST / grid.cost_at_row)
        for a in range(0, count, step):
            poll.look()
            end = min(a + step, count)
            some = index
            if end - a < count:
                some = np.arange(a, end) if index is None else index[a:end]
            grid.evaluate(self._rows, some, found.cells, found.coef, sums[:, a:end], self._threads)
        return Interpolated(sums, found)

    def _polynomials_of(self, grid: Grid, columns: Ints | None, weights: Floats) -> _Polynomials:
        """Return the polynomials of a sum that are known."""
        last = self._last
        if last is not None and last.are_of(grid, columns, weights):
            return last
        nothing = np.zeros((len(weights), 0, grid.size))
        cells = np.empty(0, dtype=np.int64)
        columns = None if columns is None else columns.copy()
        return _Polynomials(
            grid, columns, weights.copy(), cells, nothing, nothing, np.zeros(len(weights))
        )

    def _values(
        self, grid: Grid, cells: Ints, columns: Ints | None, weights: Floats, poll: Poll
    ) -> tuple[Floats, Floats]:
        """Return sums at the nodes of cells, and bounds on their errors. Sets: poll."""
        sets, vectors = weights.shape
        values, error = np.zeros((sets, len(cells), grid.size)), np.zeros(sets)
        step = max(1, int(self._threads * _CALL_COST / (self._value * vectors * grid.size)))
        for a in range(0, len(cells), step):
            poll.look()
            nodes = grid.nodes(cells[a : a + step])
            part = np.zeros((sets, len(nodes)))
            error = np.maximum(error, self._at_nodes(DenseRows(nodes), columns, weights, part))
            values[:, a : a + step] = part.reshape(sets, -1, grid.size)
        poll.kernel_values += values.size // sets * vectors
        return values, error
