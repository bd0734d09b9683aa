"""Numbers of several runs: their mean and deviation, and how they are written."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from widestreet.benchmarks.tables import digits

__all__ = ["Spread", "count", "decimals", "digits", "percent"]


def percent(value: float) -> str:
    """A share as hundredths, two decimals; the sign stands in the heading."""
    return f"{100 * value:.2f}"


def count(value: float) -> str:
    return f"{value:,.0f}"


def decimals(value: float) -> str:
    """Four of them."""
    return f"{value:.4f}"


@dataclass(frozen=True)
class Spread:
    """Values of several runs.

    Attributes
    ----------
    values : sequence of float
    form : callable
        How one of them is written.
    """

    values: Sequence[float]
    form: Callable[[float], str] = digits

    @property
    def mean(self) -> float:
        return sum(self.values) / len(self.values)

    @property
    def deviation(self) -> float | None:
        """The standard deviation of the sample; None for a single run."""
        if len(self.values) < 2:
            return None
        square = sum((value - self.mean) ** 2 for value in self.values)
        return math.sqrt(square / (len(self.values) - 1))

    def __str__(self) -> str:
        mean = self.form(self.mean)
        if self.deviation is None:
            return mean
        if self.form is not digits or "e" in mean:
            return f"{mean} ± {self.form(self.deviation)}"
        decimals = len(mean.partition(".")[2])  # as many for the deviation as for the mean
        return f"{mean} ± {self.deviation:,.{decimals}f}"
