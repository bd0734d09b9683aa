"""Selection of rows and columns of a kernel matrix, and a diagonal that is added to it.

Both are index arithmetic: they copy no rows and compute no kernel values.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from widestreet._src.arrays import Floats, Ints, Real


def compose(outer: Ints | None, inner: Ints | None) -> Ints | None:
    """Return outer[inner]; None stands for all indices in order."""
    if outer is None:
        return inner
    return outer if inner is None else outer[inner]


@dataclass(frozen=True, eq=False)
class Selection:
    """Indices of the selected rows and columns of a matrix; None means all in order."""

    rows: Ints | None = None
    columns: Ints | None = None

    @property
    def square(self) -> bool:
        """True if rows and columns are the same, in the same order."""
        if self.rows is None or self.columns is None:
            return self.rows is self.columns
        return self.rows is self.columns or np.array_equal(self.rows, self.columns)

    def select(self, rows: Ints | None, columns: Ints | None) -> Selection:
        """Return a selection of this selection."""
        return Selection(compose(self.rows, rows), compose(self.columns, columns))

    def count(self, rows: int, columns: int) -> tuple[int, int]:
        """Return the shape of the selection from a matrix of this shape."""
        return (
            rows if self.rows is None else len(self.rows),
            columns if self.columns is None else len(self.columns),
        )


@dataclass(frozen=True, eq=False)
class Diagonal:
    """Selected rows and columns of a diagonal matrix.

    Attributes
    ----------
    values : ndarray of shape (n,)
    at : Selection
        Rows and columns of the n x n matrix.
    """

    values: Floats
    at: Selection = field(default_factory=Selection)

    def select(self, rows: Ints | None, columns: Ints | None) -> Diagonal:
        """Return the matrix of some of the rows and columns."""
        return Diagonal(self.values, self.at.select(rows, columns))

    def _rows(self, I: Ints | None) -> Ints:
        found = compose(self.at.rows, I)
        return np.arange(len(self.values)) if found is None else found

    def _columns(self, J: Ints | None) -> Ints:
        found = compose(self.at.columns, J)
        return np.arange(len(self.values)) if found is None else found

    def of_rows(self, I: Ints | None) -> Floats:
        """Return the entries of the diagonal that belong to the rows I."""
        return self.values[self._rows(I)]

    def times(self, I: Ints | None, J: Ints | None, coef: Floats) -> Floats:
        """Return D[I, J] @ coef for each line of `coef`."""
        rows, columns = self._rows(I), self._columns(J)
        sums = [
            np.bincount(columns, weights=line, minlength=len(self.values))[rows]
            for line in np.atleast_2d(coef)
        ]
        product: Floats = self.values[rows] * (sums[0] if coef.ndim == 1 else np.stack(sums))
        return product

    def add_to(self, out: Real, out_rows: Ints, I: Ints | None, J: Ints | None) -> None:
        """Add D[I, J] to the rows `out_rows` of a block. Sets: out."""
        rows, columns = self._rows(I), self._columns(J)
        order = np.argsort(columns, kind="stable")
        first = np.searchsorted(columns, rows, side="left", sorter=order)
        equal = np.searchsorted(columns, rows, side="right", sorter=order) - first
        which = np.repeat(np.arange(len(rows)), equal)
        nth = np.arange(len(which)) - np.repeat(np.cumsum(equal) - equal, equal)
        out[out_rows[which], order[first[which] + nth]] += self.values[rows[which]]
