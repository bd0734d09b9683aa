"""Weights on the simplex from their logarithms, and the line search of entropy projections."""

from __future__ import annotations

from math import sqrt

import numpy as np

from widestreet._src.arrays import Floats

_EDGE_TOL = 1e-13  # relative accuracy of the edge in a line search
_MOST_SEARCH_STEPS = 200  # of a line search, which usually takes a dozen
_SMALLEST_LOGARITHM = -600.0  # of weights: smaller ones count as zero, and denormals are slow


def logarithms(prior: Floats) -> Floats:
    """Return the logarithms of weights, some of which may be zero."""
    with np.errstate(divide="ignore"):
        log: Floats = np.log(prior)
    return log


def tilted(log: Floats) -> tuple[Floats, float]:
    """Return weights of sum one from logarithms, and their sum before scaling (largest: one)."""
    weight = log - np.maximum.reduce(log)
    np.maximum(weight, _SMALLEST_LOGARITHM, out=weight)
    np.exp(weight, out=weight)
    total = float(np.add.reduce(weight))
    weight /= total
    return weight, total


def line_search(log: Floats, margin: Floats, edge: float, start: float) -> float:
    """Return the eta at which the mean of the margins under the new weights is `edge`.

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
    low, high, eta = 0.0, np.inf, start
    above = margin - edge
    squared, weight = above * above, np.empty_like(log)
    farthest = sqrt(np.maximum.reduce(squared))
    for _ in range(_MOST_SEARCH_STEPS):
        np.multiply(above, -eta, out=weight)
        weight += log
        weight -= np.maximum.reduce(weight)
        np.maximum(weight, _SMALLEST_LOGARITHM, out=weight)
        np.exp(weight, out=weight)
        total = np.add.reduce(weight)
        excess = float(weight.dot(above) / total)
        if abs(excess) <= _EDGE_TOL * edge:
            break
        low, high = (eta, high) if excess > 0 else (low, eta)
        variance = float(weight.dot(squared) / total) - excess * excess
        newton = eta + excess / variance if variance > 0 else np.inf
        if np.isinf(high):
            newton = min(newton, 4.0 * eta)
        within = low < newton < high
        following = newton if within else 0.5 * (low + high)
        if following == eta:
            break
        eta = following
        if within and farthest * excess * excess <= _EDGE_TOL * edge * variance:
            break  # Newton's step leaves an error of half the left side divided by the variance
    return eta
