"""A point of the dual, stored as its nonzero coefficients."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from widestreet._src.arrays import Bools, Floats, Ints

_SPARSEST = 256  # rows per row of a list, up to which a table of all rows is fast


@dataclass(frozen=True, eq=False)
class Point:
    """Coefficients of some rows; the coefficients of all other rows are zero.

    Attributes
    ----------
    ids : ndarray
        Numbers of the rows, ascending.
    beta : ndarray of shape (layers, len(ids))
    score : ndarray, optional
        Scores of all rows, if they are known.
    """

    ids: Ints
    beta: Floats
    score: Floats | None = None

    @classmethod
    def zero(cls, layers: int) -> Point:
        """Return the point whose coefficients are all zero."""
        return cls(np.empty(0, dtype=np.int64), np.empty((layers, 0)))

    @classmethod
    def of(cls, beta: Floats, score: Floats | None = None) -> Point:
        """Return a point from the coefficients of all rows, and their scores if they are known."""
        ids = np.flatnonzero(beta.any(axis=0))
        return cls(ids, np.take(beta, ids, axis=1), score)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def coef(self) -> Floats:
        """Summed coefficient of each row."""
        total: Floats = self.beta.sum(axis=0)
        return total

    def same_as(self, other: Point) -> bool:
        """Return whether another point has the same coefficients."""
        return self is other or (
            np.array_equal(self.ids, other.ids) and np.array_equal(self.beta, other.beta)
        )

    def at(self, ids: Ints) -> Floats:
        """Return the coefficients of some rows, in their order."""
        found = np.zeros((len(self.beta), len(ids)))
        if len(self.ids):
            where = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
            known = self.ids[where] == ids
            found[:, known] = self.beta[:, where[known]]
        return found

    def with_rows(self, ids: Ints, beta: Floats) -> Point:
        """Return a point in which the coefficients of some rows are replaced."""
        kept, used = np.flatnonzero(~among(self.ids, ids)), np.flatnonzero(beta.any(axis=0))
        every = np.concatenate([self.ids[kept], ids[used]])
        order = np.argsort(every, kind="stable")
        parts = np.take(self.beta, kept, axis=1), np.take(beta, used, axis=1)
        values = np.concatenate(parts, axis=1)
        return Point(every[order], np.take(values, order, axis=1))

    def between(self, begin: int, end: int) -> Point:
        """Return the rows from `begin` to `end`, numbered from zero."""
        part = slice(*np.searchsorted(self.ids, [begin, end]).tolist())
        return Point(self.ids[part] - begin, self.beta[:, part])

    def dense(self, rows: int) -> Floats:
        """Return the coefficients of all rows."""
        beta = np.zeros((len(self.beta), rows))
        beta[:, self.ids] = self.beta
        return beta


def among(ids: Ints, others: Ints) -> Bools:
    """Return which of some rows are among others, by a table of all rows unless they are few."""
    rows = 1 + int(max(ids.max(initial=-1), others.max(initial=-1)))
    if rows > _SPARSEST * (len(ids) + len(others)):
        return np.isin(ids, others)
    table = np.zeros(rows, dtype=bool)
    table[others] = True
    return table[ids]
