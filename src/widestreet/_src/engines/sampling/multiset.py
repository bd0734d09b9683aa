"""Multiset of rows from which weighted sampling draws; multiplicities are powers of two."""

from __future__ import annotations

import numpy as np

from widestreet._src.arrays import Floats, Ints

_COUNTED = 52  # float64 counts 2^52 copies one by one


class SparseVector:
    """Vector with one entry per row, most of which are zero.

    Attributes
    ----------
    ids : ndarray
        Rows whose entry is stored, ascending.
    values : ndarray
        Their entries.
    """

    def __init__(self) -> None:
        self.ids: Ints = np.empty(0, dtype=np.int64)
        self.values: Floats = np.empty(0)

    def at(self, ids: Ints) -> Floats:
        """Return the entries of some rows."""
        found = np.zeros(len(ids))
        if len(self.ids):
            where = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
            known = self.ids[where] == ids
            found[known] = self.values[where[known]]
        return found

    def add(self, ids: Ints, values: Floats) -> None:
        """Add to the entries of some rows, all different. Sets: ids, values."""
        every = np.union1d(self.ids, ids)
        sums = np.zeros(len(every))
        sums[np.searchsorted(every, self.ids)] = self.values
        sums[np.searchsorted(every, ids)] += values
        self.ids, self.values = every, sums


class Multiset:
    """Multiset that contains every row x u(x) = 2^level(x) times; all levels start at zero.

    It stores the levels of the rows that were doubled.

    Parameters
    ----------
    rows : int
    """

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self._level = SparseVector()

    @property
    def top(self) -> int:
        """Highest level of a row."""
        return int(np.max(self._level.values, initial=0))

    @property
    def levels(self) -> list[int]:
        """Number of rows of each level."""
        counts = np.bincount(self._level.values.astype(np.int64), minlength=1)
        counts[0] += self.rows - len(self._level.ids)
        return [int(count) for count in counts]

    def level(self, ids: Ints) -> Ints:
        """Return how many times some rows were doubled."""
        return self._level.at(ids).astype(np.int64)

    def weights(self, ids: Ints, unit: int = 0) -> Floats:
        """Return the number of copies of some rows, in units of 2^unit."""
        return np.ldexp(1.0, self.level(ids) - unit)

    def total(self, unit: int = 0) -> float:
        """Return the number of copies of all rows, in units of 2^unit."""
        doubled = self._level.ids
        single = np.ldexp(float(self.rows - len(doubled)), -unit)
        return float(single + self.weights(doubled, unit).sum())

    @property
    def log2_total(self) -> float:
        """Logarithm to base 2 of the number of copies of all rows."""
        return float(np.log2(self.total(self.top)) + self.top)

    def draw(self, count: int, rng: np.random.Generator) -> Ints:
        """Draw copies without replacement, in random order; return the row of each.

        If there are at most `count` copies, all are drawn. If there are more than 2^52, they are
        drawn with replacement: the probability of drawing one copy twice is negligible.
        """
        if self.log2_total >= _COUNTED:
            return self._draw_with_replacement(count, rng)
        doubled = self._level.ids
        more = self.weights(doubled).astype(np.int64) - 1  # copies beside the first
        after = np.append(0, np.cumsum(more))
        begin = doubled + after[:-1]  # number of the first copy; those of a row are consecutive
        total = self.rows + int(after[-1])
        copy = rng.choice(total, min(count, total), replace=False)
        last = np.searchsorted(begin, copy, side="right")  # doubled rows that begin before
        rows: Ints = np.maximum(copy - after[last], np.append(-1, doubled)[last])
        return rows

    def _draw_with_replacement(self, count: int, rng: np.random.Generator) -> Ints:
        doubled, top = self._level.ids, self.top
        ends = np.cumsum(self.weights(doubled, top))
        ticket = self.total(top) * rng.random(count)
        at = np.searchsorted(ends, ticket, side="right")
        rows = np.append(doubled, -1)[at]
        single = np.flatnonzero(rows < 0)  # one of the rows that were never doubled
        if self.rows == len(doubled):  # there is none: rounding
            rows[single] = doubled[-1]
        else:
            rank = rng.integers(self.rows - len(doubled), size=len(single))
            gaps = doubled - np.arange(len(doubled))  # rows never doubled before each of them
            rows[single] = rank + np.searchsorted(gaps, rank, side="right")
        return rows

    def double(self, ids: Ints, times: Floats) -> None:
        """Double some rows, all different, `times` times. Sets: levels."""
        self._level.add(ids, times)
