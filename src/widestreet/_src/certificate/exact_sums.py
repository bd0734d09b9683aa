"""Sums without rounding, which do not depend on the division of rows into parts.

Long arrays are first reduced to a few floats with the same exact sum. A float64 number is
hi 2^(e-27) + lo 2^(e-53) with integers |hi| <= 2^27 and |lo| < 2^26. Sums of these integers over
numbers with the same exponent e are integers below 2^53, which float64 holds exactly.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from math import fsum, isfinite
from typing import TypeAlias

import numpy as np

from widestreet._src.arrays import Floats

# Floats whose exact sum is the value, the largest first; usually two or three.
Terms: TypeAlias = tuple[float, ...]

_BLOCK_VALUES = 1 << 16  # values added at a time
_FEW_VALUES = 512  # that are added one by one
_LARGE = 2.0**900  # larger values may overflow in sums of integers


def exact_sum(values: Floats) -> Terms:
    """Return the sum of an array without rounding.

    If a value is nan or the sum overflows, the result is one term, nan or infinite.
    """
    values = values[values != 0]
    terms: list[float] = []
    for a in range(0, len(values), _BLOCK_VALUES):
        terms = _expansion([*terms, *_reduced(values[a : a + _BLOCK_VALUES])])
    return tuple(terms)


def _reduced(values: Floats) -> list[float]:
    """Return floats with the same exact sum, few of them unless exponents differ much."""
    if len(values) <= _FEW_VALUES or not np.abs(values).max() < _LARGE:
        return list(map(float, values))
    fraction, exponent = np.frexp(values)
    least = int(exponent.min())
    fraction *= 2.0**27
    high = np.trunc(fraction)
    low = (fraction - high) * 2.0**26
    place = exponent - least
    at = least + np.arange(int(place.max()) + 1)
    highs, lows = np.bincount(place, high), np.bincount(place, low)
    every = np.concatenate([np.ldexp(highs, at - 27), np.ldexp(lows, at - 53)])
    found: list[float] = every[every != 0].tolist()
    return found


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
