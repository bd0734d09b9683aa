"""Rows with multiplicities that are powers of two: what weighted sampling draws from."""

from __future__ import annotations

import numpy as np

from widestreet._src.arrays import Floats, Ints

_COUNTED = 52  # float64 counts 2^52 copies one by one


class Multiset:
    """Every row x is there u(x) = 2^level(x) times, at first once.

    Attributes
    ----------
    level : ndarray of int
        How often each row was doubled.
    """

    def __init__(self, rows: int) -> None:
        self.level: Ints = np.zeros(rows, dtype=np.int64)

    @property
    def top(self) -> int:
        """The highest level."""
        return int(self.level.max())

    def weights(self, unit: int = 0) -> Floats:
        """Copies of each row, in units of 2^unit."""
        return np.ldexp(1.0, self.level - unit)

    @property
    def log2_total(self) -> float:
        """Logarithm of the number of copies of all rows."""
        return float(np.log2(self.weights(self.top).sum()) + self.top)

    def draw(self, count: int, rng: np.random.Generator) -> Ints:
        """Draw copies without replacement, in random order; returns the row of each.

        All copies, if there are no more than `count`. Beyond 2^52 of them, the chance that one
        would be drawn twice is nothing, and they are drawn with replacement.
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
        """Double every row so many times. Sets: level."""
        self.level += times
