"""Forecast of the time that the examination of all pairs of classes takes."""

from __future__ import annotations

from collections.abc import Sequence

from widestreet._src.kernels.gram import Gram

_FLOAT64_VALUE = 2.5  # seconds of a float64 kernel value, in units of the mean of all
_SUPPORT_AT_FIRST = 0.5  # fraction of support vectors before the first pair is solved


class PairForecast:
    """Forecast from the pairs that were solved so far.

    Parameters
    ----------
    gram : Gram
        Kernel values of all rows, whose measured time is used.
    sizes : sequence of int
        Number of rows of each pair.
    """

    def __init__(self, gram: Gram, sizes: Sequence[int]) -> None:
        self.gram = gram
        self._values = 0.0  # kernel values of the examination of the pairs solved
        self._support = self._rows = 0  # of these pairs
        self._squares_left = sum(float(rows) ** 2 for rows in sizes)

    def count(self, support: int, rows: int) -> None:
        """Count a pair that was solved. Sets: everything."""
        self._values += float(support) * rows
        self._support += support
        self._rows += rows
        self._squares_left -= float(rows) ** 2

    def seconds(self, *, solved: bool = False) -> float:
        """Return the seconds for all pairs, or for those solved.

        Pairs to come are assumed to have the fraction of support vectors that the others had.
        """
        values = self._values
        if not solved:
            part = self._support / self._rows if self._rows else _SUPPORT_AT_FIRST
            values += part * self._squares_left
        return _FLOAT64_VALUE * self.gram.seconds_per_value * values
