"""Sums without rounding, so that how rows are split into parts cannot change a figure."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from math import fsum, isfinite
from typing import TypeAlias

from widestreet._src.arrays import Floats

# Floats that add up to a sum exactly, the largest first: two or three of them as a rule.
Terms: TypeAlias = tuple[float, ...]

_AT_ONCE = 1 << 16  # values held as Python objects at a time


def exact_sum(values: Floats) -> Terms:
    """Return the sum of an array without rounding.

    Values that are no numbers, and sums that overflow, give one term: infinity or no number.
    """
    values = values[values != 0]
    terms: list[float] = []
    for a in range(0, len(values), _AT_ONCE):
        terms = _expansion([*terms, *values[a : a + _AT_ONCE].tolist()])
    return tuple(terms)


def _expansion(values: list[float]) -> list[float]:
    """Return floats that add up to the same, each of them the rounded rest of the sum."""
    terms = []
    while rest := rounded([values]):
        terms.append(rest)
        if not isfinite(rest):
            return [rest]
        values.append(-rest)
    return terms


def rounded(sums: Iterable[Iterable[float]]) -> float:
    """Return the total of several sums, rounded once."""
    every = list(chain.from_iterable(sums))
    try:
        return fsum(every)
    except (OverflowError, ValueError):  # the sum overflows, or infinities cancel
        return sum(every)
