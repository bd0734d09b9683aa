"""Sums without rounding, which do not depend on the division of rows into parts."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from math import fsum, isfinite
from typing import TypeAlias

from widestreet._src.arrays import Floats

# Floats whose exact sum is the value, the largest first; usually two or three.
Terms: TypeAlias = tuple[float, ...]

_BLOCK_VALUES = 1 << 16  # values converted to Python objects at a time


def exact_sum(values: Floats) -> Terms:
    """Return the sum of an array without rounding.

    If a value is nan or the sum overflows, the result is one term, nan or infinite.
    """
    values = values[values != 0]
    terms: list[float] = []
    for a in range(0, len(values), _BLOCK_VALUES):
        terms = _expansion([*terms, *values[a : a + _BLOCK_VALUES].tolist()])
    return tuple(terms)


def _expansion(values: list[float]) -> list[float]:
    """Return floats with the same exact sum, each the rounded remainder of the sum."""
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
