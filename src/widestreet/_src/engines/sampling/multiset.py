"""Multiset of rows from which weighted sampling draws; multiplicities are powers of two."""

from __future__ import annotations

import numpy as np

from widestreet._src.arrays import Floats, Ints

_COUNTED = 52  # float64 counts 2^52 copies one by one


class Multiset:
    """Multiset that contains every row x u(x) = 2^level(x) times; all levels start at zero.

    Attributes
    ----------
    level : ndarray of int
        Number of times that each row was doubled.
    """

    def __init__(self, rows: int) -> None:
        self.level: Ints = np.zeros(rows, dtype=np.int64)

    @property
    def top(self) -> int:
        """Highest level of a row."""
        return int(self.level.max())

    def weights(self, unit: int = 0) -> Floats:
        """Return the number of copies of each row, in units of 2^unit."""
        return np.ldexp(1.0, self.level - unit)

    @property
    def log2_total(self) -> float:
        """Logarithm to base 2 of the number of copies of all rows."""
        return float(np.log2(self.weights(self.top).sum()) + self.top)

    def draw(self, count: int, rng: np.random.Generator) -> Ints:
        """Draw copies without replacement, in random order; return the row of each.

        If there are at most `count` copies, all are drawn. If there are more than 2^52, they are
        drawn with replacement: the probability of drawing one copy twice is negligible.
        """
        if self.log2_total < _COUNTED:
            ends = np.cumsum(self.weights())
            total = int(ends[-1])
            ticket = rng.choice(total, min(count, total), replace=False)
            return np.searchsorted(ends, ticket, side="right")
        ends = np.cumsum(self.weights(self.top))
        ticket = ends[-1] * rng.random(count)
        rows: Ints = np.minimum(np.searchsorted(ends, ticket, side="right"), len(ends) - 1)
        return rows

    def double(self, times: Ints) -> None:
        """Double each row `times` times. Sets: level."""
        self.level += times
