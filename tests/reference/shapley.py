"""Shapley values by their definition: a sum over all coalitions of features."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from math import comb

import numpy as np


def shapley_values(
    value: Callable[[np.ndarray], np.ndarray], x: np.ndarray, background: np.ndarray
) -> np.ndarray:
    """Return the interventional Shapley values of the features of x.

    A coalition is worth the mean value of the background rows after its features were set to those
    of x. `value` returns one line per row.
    """
    d = len(x)
    worth = {}
    for size in range(d + 1):
        for some in combinations(range(d), size):
            rows = background.copy()
            rows[:, list(some)] = x[list(some)]
            worth[some] = value(rows).mean(axis=0)
    found = np.zeros((d, *np.shape(worth[()])))
    for some, before in worth.items():
        for i in set(range(d)) - set(some):
            gain = worth[tuple(sorted((*some, i)))] - before
            found[i] += gain / (d * comb(d - 1, len(some)))
    return found
