"""Sums without rounding, which do not depend on the division of rows into parts.

The core first reduces long arrays to a few floats with the same exact sum
(core/solve/rows_that_matter.hpp).
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from math import fsum, isfinite
from typing import TypeAlias

import numpy as np

from widestreet import _core
from widestreet._src.arrays import Floats

# Floats whose exact sum is the value, the largest first; usually two or three.
Terms: TypeAlias = tuple[float, ...]

_FEW_VALUES = 128  # that are added one by one


def exact_sum(values: Floats, threads: int = 1) -> Terms:
    """Return the sum of an array without rounding.

    If a value is nan or the sum overflows, the result is one term, nan or infinite.
    """
    terms = None
    if len(values) > _FEW_VALUES:
        terms = _core.exact_terms(np.ascontiguousarray(values), threads)
    return tuple(_expansion(values.tolist() if terms is None else terms))


def difference(one: Terms, other: Terms) -> Terms:
    """Return the difference of two sums without rounding."""
    return tuple(_expansion([*one, *(-term for term in other)]))


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
