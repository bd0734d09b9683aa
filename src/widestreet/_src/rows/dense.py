"""Rows of a dense matrix in memory: float32 or float64 in any layout, never copied."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from widestreet import _core
from widestreet._src.arrays import Floats, Ints, Real
from widestreet._src.device.lent import LentArray
from widestreet._src.rows.base import without_native
from widestreet._src.rows.levels import Grid

_SAMPLED_ROWS = 256  # rows whose zeros are counted to estimate a density


@dataclass(frozen=True, eq=False)
class DenseRows:
    """Rows of a dense matrix, relative to `centre`.

    Subtracting the mean of each column changes no distance, but makes the norms smaller from which
    the core computes distances. Rows that are mostly zero are not centred, so that the core can
    skip the zeros.

    Attributes
    ----------
    values : ndarray of shape (n, d)
    centre : ndarray of shape (d,), optional
    skip_zeros : bool
    low : ndarray of shape (n, d), optional
        What rounding has removed from the values, if they were computed with more digits.
    origin : ndarray of shape (d,), optional
        Point that was subtracted from the values before.
    grid : Grid, optional
        Grid on which a sample of the values lies.
    """

    values: Real
    centre: Floats | None = None
    skip_zeros: bool = False
    low: Floats | None = None
    origin: Floats | None = None
    grid: Grid | None = None

    sparse: ClassVar[bool] = False

    def __getstate__(self) -> dict[str, Any]:
        return without_native(self)

    @property
    def shape(self) -> tuple[int, int]:
        return self.values.shape[0], self.values.shape[1]

    @property
    def few_nonzeros(self) -> bool:
        """True if the core visits only the nonzeros of a row."""
        return self.skip_zeros

    def density(self) -> float:
        """Return the approximate fraction of nonzero values."""
        return density_of(self.values)

    @cached_property
    def native(self) -> _core.Rows:
        return _core.Rows.dense(self.values, self.centre, self.skip_zeros)

    def largest_square(self, threads: int) -> float:
        """Return the largest |x|^2 of a row, relative to the centre."""
        return _core.largest_square(self.native, threads)

    def box(self, threads: int) -> tuple[Floats, Floats]:
        """Return the smallest and the largest value of each column, relative to the centre."""
        _, low, high = column_figures(self.values, threads)
        return (low, high) if self.centre is None else (low - self.centre, high - self.centre)

    def squares(self, index: Ints | None = None, threads: int = 1) -> Floats:
        """Return |x|^2 of some rows, or of all, relative to the centre."""
        return _core.squares(self.native, index, threads)

    def take(self, index: Ints) -> DenseRows:
        """Return some of the rows."""
        low = None if self.low is None else self.low[index]
        return replace(self, values=self.values[index], low=low)

    def to_send(self, index: Ints) -> Real:
        """Return some of the rows as one array; the columns of `low` follow those of the values."""
        if self.low is None:
            return self.values[index]
        return np.concatenate([self.values[index], self.low[index]], axis=1)

    def holding(self, data: Real) -> DenseRows:
        """Return rows from what `to_send` returned, in the same form."""
        if self.low is None:
            return replace(self, values=data)
        columns = self.shape[1]
        high, low = data[:, :columns], np.asarray(data[:, columns:], dtype=np.float64)
        return replace(self, values=high, low=low)

    @property
    def data(self) -> Real:
        """Rows as the user passed them."""
        return self.values


def column_figures(X: Real, threads: int = 1) -> tuple[Floats, Floats, Floats]:
    """Return the sum, the smallest and the largest value of each column; sums are in float64."""
    if X.shape[1] == 0:
        return np.empty(0), np.empty(0), np.empty(0)
    total, low, high = _core.column_figures(_core.Rows.dense(aligned(X), None), threads)
    return total, low, high


def aligned(X: Real) -> Real:
    """Return values as the core reads them: a copy if they are a field of packed records."""
    return X.copy() if any(stride % X.itemsize for stride in X.strides) else X


def density_of(X: Real | LentArray) -> float:
    """Return the fraction of nonzero values in a sample of evenly spaced rows."""
    sample = X[:: max(1, len(X) // _SAMPLED_ROWS)]
    return float(np.count_nonzero(sample)) / max(1, sample.size)
