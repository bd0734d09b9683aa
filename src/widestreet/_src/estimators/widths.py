"""Widths of kernels from the data, and the choice of the best one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from widestreet._src.arrays import Floats

STEP = 4.0  # ratio of neighbours
_QUANTILES = (0.1, 0.9)
_PAIRS = 2000  # of rows whose distances are computed; of few rows all pairs
_MOST_EXTENSIONS = 4
_FINE = (0.5, 2.0)  # factors of the best width that are tried at the end


def coarse_gammas(X: Any, rng: np.random.Generator, *, absolute: bool = False) -> tuple[float, ...]:
    """Return widths from a quarter of 1 / the large distances to four times 1 / the small ones.

    Parameters
    ----------
    X : ndarray or CSR
        Distinct rows.
    rng : numpy.random.Generator
        It draws the pairs of rows, if there are many.
    absolute : bool
        Whether the distance is the sum of the absolute differences instead of their squares.
    """
    n = X.shape[0]
    if n * (n - 1) // 2 <= _PAIRS:
        first, second = np.triu_indices(n, 1)
    else:
        first, second = rng.integers(n, size=(2, _PAIRS))
    difference = abs(X[first] - X[second])
    if not absolute:
        square = difference.multiply if sparse.issparse(difference) else difference.__mul__
        difference = square(difference)
    distance: Floats = np.asarray(difference.sum(axis=1, dtype=np.float64)).ravel()
    distance = distance[distance > 0]
    if len(distance) == 0:
        return (1.0,)
    small, large = np.quantile(distance, _QUANTILES)
    count = round(np.log(large / small) / np.log(STEP)) + 3
    return tuple((STEP ** np.arange(count) / (STEP * large)).tolist())


def best_width(
    error: Callable[[float], float], gammas: Sequence[float]
) -> tuple[float, dict[float, float]]:
    """Return the width with the smallest error, and the errors of all widths that were tried.

    The range is extended while the best width is at its end, and then refined around it. Of several
    best widths the smallest gamma is taken, which is the smoothest kernel.

    Parameters
    ----------
    error : callable
        Returns the error of a width; StopIteration ends the search.
    gammas : sequence of float
        First widths, ascending.
    """
    found: dict[float, float] = {}

    def best() -> float:
        return min(found, key=lambda gamma: (found[gamma], gamma))

    try:
        for gamma in gammas:
            found[gamma] = error(gamma)
        for _ in range(_MOST_EXTENSIONS):
            if best() not in (min(found), max(found)) or len(found) == 1:
                break
            beyond = best() / STEP if best() == min(found) else best() * STEP
            found[beyond] = error(beyond)
        middle = best()
        for factor in _FINE:
            found[factor * middle] = error(factor * middle)
    except StopIteration:
        if not found:
            raise
    return best(), found
