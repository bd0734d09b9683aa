"""Weights on the simplex from their logarithms, and the line search of entropy projections.

Weights that are less than exp(-600) of the largest count as if they were that large.
"""

from __future__ import annotations

import numpy as np

from widestreet import _core
from widestreet._src.arrays import Floats


def logarithms(prior: Floats) -> Floats:
    """Return the logarithms of weights, some of which may be zero."""
    with np.errstate(divide="ignore"):
        log: Floats = np.log(prior)
    return log


def tilted(log: Floats, margin: Floats | None = None, eta: float = 0.0) -> tuple[Floats, Floats]:
    """Return the weights exp(log - eta margin), scaled to sum one, and their logarithms.

    Parameters
    ----------
    log : ndarray
        Logarithms, some of which may be minus infinity.
    margin : ndarray, optional
    eta : float

    Returns
    -------
    weight, log : ndarray
        The logarithms of negligible weights are exact.
    """
    new, weight = np.empty_like(log), np.empty_like(log)
    _core.tilt(log, np.zeros_like(log) if margin is None else margin, eta, new, weight)
    return weight, new


def line_search(log: Floats, margin: Floats, edge: float, start: float) -> float:
    """Return the eta at which the mean of the margins under the tilted weights is `edge`.

    Newton's method within a bracket: at eta = 0 the mean exceeds the edge, and some margin is below
    it.

    Parameters
    ----------
    log : ndarray
        Logarithms of the weights.
    margin : ndarray
    edge : float
    start : float
        First value of eta.

    Returns
    -------
    float
    """
    return _core.find_eta(log, margin, edge, start)
