"""The best bias: the minimum of the primal objective over the bias b of a group.

The primal depends on b by  b total + sum of loss_v(F_v - b), which is convex and piecewise linear
or quadratic, with kinks at the F_v (loss_of_bias.py). Its minimum is computed exactly from sums
over the parts of the rows: each part adds up its losses between two biases and lists the few
variables with a kink in between.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import isfinite

import numpy as np

from widestreet._src.certificate.loss_of_bias import Objective
from widestreet._src.certificate.part_of_rows import Part, Parts

_MOST_KINKS = 100_000  # variables that a part may list in a band
_PIVOTS = 33  # biases at which slopes are computed: a band becomes 32 times narrower


@dataclass(frozen=True)
class BestBias:
    """Interval of the best biases of a group, and the contribution of the group to the primal."""

    left: float = -float("inf")  # for a group without variables
    right: float = float("inf")
    bias: float = 0.0
    loss: float = 0.0


def best_bias(
    parts: Parts,
    group: int,
    total: float,
    between: tuple[float, float],
    ends: tuple[float, float],
    slack: float,
) -> BestBias:
    """Find the best bias of a group.

    Parameters
    ----------
    parts : Parts
    group : int
    total : float
        Required sum of the coefficients.
    between : tuple of float
        Biases between which the search begins. They may be infinite, and in any order.
    ends : tuple of float
        Smallest and largest kink. If the first is larger than the second, there is no variable.
    slack : float
        Slopes up to this size are rounding.
    """
    least, most = ends
    if least > most:
        return BestBias()
    a, z = sorted(between)
    a, z = a if isfinite(a) else least, z if isfinite(z) else most
    limit: int | None = _MOST_KINKS
    while True:
        bands = parts.ask(partial(Part.band, group=group, a=a, z=z, most=limit))
        if any(band.inside is None for band in bands):
            before = a, z
            a, z = _narrowed(parts, group, a, z, total, slack)
            limit = None if (a, z) == before else limit
            continue
        objective = Objective(bands, total)
        wide = a, z
        if objective.slope(a, right=False) >= -slack:
            a = min(a, least)
        if objective.slope(z, right=True) <= slack:
            z = max(z, most)
        if (a, z) == wide:
            break
    left, right = objective.minimisers(slack)
    bias = left if left == right else 0.5 * (left + right)
    return BestBias(left, right, bias, objective.value(bias))


def _narrowed(
    parts: Parts, group: int, a: float, z: float, total: float, slack: float
) -> tuple[float, float]:
    """Return a narrower interval of biases in which the slope changes its sign."""
    pivots = np.linspace(a, z, _PIVOTS)
    slope = total - np.sum(parts.ask(partial(Part.slopes, group=group, pivots=pivots)), axis=0)
    falls, rises = np.flatnonzero(slope < -2 * slack), np.flatnonzero(slope > 2 * slack)
    return (
        float(pivots[falls[-1]]) if len(falls) else a,
        float(pivots[rises[0]]) if len(rises) else z,
    )
