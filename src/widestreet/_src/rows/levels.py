"""Rows whose values lie on a grid of at most 256 levels: pixels, counts, zeros and ones.

The core multiplies levels as integers, which is exact and faster than products of floating-point
numbers. A grid is found in a sample of the rows. Then every value is compared with it: `error`
bounds what the grid leaves of a row, and is part of the bounds on rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from widestreet import _core
from widestreet._src.arrays import Floats, Ints, Real

if TYPE_CHECKING:
    from widestreet._src.rows.csr import CsrRows
    from widestreet._src.rows.dense import DenseRows

_LEAST_COLUMNS, _MOST_COLUMNS = 32, 16_000  # between which sums of levels pay, and fit 32 bits
_LEAST_VALUES = 1 << 17  # in fewer values no grid is looked for
_SAMPLES = (4, 32)  # rows in which a grid is looked for, first in a few
_MOST_LEVELS = 256
_ROUGH = 2.0**-22  # deviation relative to |value| + |origin| (kRough in core/kernels/levels.hpp)
# Deviations of a row from the grid, relative to the largest norm of a row (from the centre): with
# larger ones, products of levels in float32 or float64 have fewer digits than those of values.
_MOST_IN_FLOAT32, _MOST_IN_FLOAT64 = 2.0**-20, 2.0**-44
_SAME = 2.0**-10  # part of the largest value below which there is no step of 256 levels
_SMALLEST_STEP, _LARGEST_STEP = 1e-100, 1e100  # whose squares are numbers
_DENSITY = 1 / 12  # of CSR rows from which on their levels take no more memory than the rows
_DENSITY_OF_BINARY = 0.01  # below, visiting matching entries only is faster


@dataclass(frozen=True)
class Grid:
    """Values origin + step * level, with levels from 0 to 255, or 0 and 1 if `binary`."""

    step: float
    origin: float
    binary: bool


@dataclass(frozen=True, eq=False)
class Levels:
    """Levels of all values of some rows.

    Attributes
    ----------
    native : _core.Rows
        The rows with their levels.
    precise : bool
        True if products of levels are as good as those of values in float64, not only in float32.
    error : float
        Bound on the norm of the deviations of a row from the grid.
    squares : ndarray of shape (n,)
        Squared distance of each row on the grid from the point whose values are all the origin.
    """

    native: _core.Rows
    precise: bool
    binary: bool
    error: float
    squares: Floats

    def squares_of(self, index: Ints | None) -> Floats:
        """Return the squares of some rows, or of all."""
        return self.squares if index is None else self.squares[index]


def levels_of(rows: Any, grid: Grid, threads: int) -> Levels | None:
    """Return the levels of rows; None if not all values are on the grid. Sets: what rows keep."""
    known: dict[Grid, Levels | None] = vars(rows).setdefault("levels", {})
    if grid not in known:
        known[grid] = _find(rows, grid, threads)
    return known[grid]


def bytes_of_levels(rows: Any) -> int:
    """Return the memory that the levels of rows take."""
    grid = getattr(rows, "grid", None)
    if grid is None or (rows.sparse and grid.binary):
        return 0
    return int(rows.shape[0]) * _stride(int(rows.shape[1]))


def grid_of_dense(X: Real) -> Grid | None:
    """Return a grid on which a sample of dense rows lies, if its products are worth having."""
    if X.size < _LEAST_VALUES or not _LEAST_COLUMNS <= X.shape[1] <= _MOST_COLUMNS:
        return None
    grid = None
    for count in _SAMPLES:
        grid = _grid(X[:: max(1, len(X) // count)], origin=None)
        if grid is None:
            return None
    return grid


def grid_of_csr(X: Any) -> Grid | None:
    """Return a grid on which a sample of CSR rows lies, if its products are worth having."""
    n, d = X.shape
    if X.nnz < _DENSITY_OF_BINARY * n * d or n * d < _LEAST_VALUES:
        return None
    if not _LEAST_COLUMNS <= d <= _MOST_COLUMNS:
        return None
    grid = _grid(X.data[:: max(1, X.nnz // (_SAMPLES[-1] * d))], origin=0.0)
    return None if grid is None or (not grid.binary and X.nnz < _DENSITY * n * d) else grid


def _stride(columns: int) -> int:
    return -(-columns // 4) * 4


def _find(rows: DenseRows | CsrRows, grid: Grid, threads: int) -> Levels | None:
    """Compare all values with a grid."""
    if rows.sparse and grid.origin != 0.0:
        return None
    n, d = rows.shape
    levels = None
    if not (rows.sparse and grid.binary):
        levels = np.zeros((n, _stride(d)), dtype=np.uint8)
    squares = np.zeros(n)
    found, precise, binary, error = _core.find_levels(
        rows.native, grid.step, grid.origin, levels, squares, threads
    )
    if not found:
        return None
    norm = sqrt(rows.largest_square(threads))
    if error > _MOST_IN_FLOAT32 * norm:
        return None
    precise = precise and error <= _MOST_IN_FLOAT64 * norm
    native = rows.native.with_levels(grid.step, grid.origin, binary, precise, levels)
    return Levels(native, precise, binary, error, grid.step**2 * squares)


def _grid(sample: Real, origin: float | None) -> Grid | None:
    """Return the coarsest grid of some values, with a given origin or one of its own."""
    values = np.unique(sample).astype(np.float64)
    if len(values) > _MOST_LEVELS or len(values) == 0:
        return None
    if origin is not None or values[0] >= 0:
        found = _grid_from(values, 0.0)
        if found is not None or origin is not None:
            return found
    return _grid_from(values, float(values[0]))


def _grid_from(values: Floats, origin: float) -> Grid | None:
    """Return the coarsest grid of ascending values that has a given origin."""
    above = values - origin
    above = above[above != 0]
    if len(above) == 0 or above[0] < 0:
        return None
    step, least = float(above[0]), _SAME * float(above[-1])
    for value in above.tolist():
        step = _common_step(value, step, least)
    for value in above.tolist():  # each one gives the step more digits
        step = value / max(1, round(value / step))
    level = np.rint(above / step)
    if level[-1] >= _MOST_LEVELS:
        return None
    size = np.abs(above + origin) + abs(origin)
    if not _SMALLEST_STEP < step < _LARGEST_STEP:
        return None
    if (np.abs(above - step * level) > _ROUGH * size).any():
        return None
    return Grid(step, origin, binary=bool(level[-1] == 1))


def _common_step(a: float, b: float, least: float) -> float:
    """Return the greatest common divisor of two numbers, up to `least`."""
    while b > least:
        a, b = b, abs(a - b * round(a / b))
    return a
