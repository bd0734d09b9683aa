"""Training the rho-SVM by entropy projections (Tsang and Kwok, 2007), Algorithm 1 step by step.

    min a'Qa   over the simplex,   Q_ij = y_i y_j K_ij

The printed step 5 speaks of eta < 0 where (10) has no solution: there eta is infinite, which is
tested beforehand. Everything else is as printed, without logarithms and without safeguards.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import brentq

from reference.qp import Optimum, solve_qp


@dataclass
class Walk:
    """All points that were accepted, the etas that led from each to the next, and rejections."""

    points: list[np.ndarray]
    etas: list[float] = field(default_factory=list)
    rejected_after: list[int] = field(default_factory=list)  # points known at each halving of e

    @property
    def ensemble(self) -> np.ndarray:
        """The mean of all points but the last, weighted by eta."""
        return np.average(self.points[:-1], axis=0, weights=self.etas)


def edge_eta(a, h, edge) -> float:
    """argmin over eta >= 0 of ln Z(eta) + eta edge, from the sign change of its derivative."""

    def slope(eta):
        tilted = a * np.exp(-eta * (h - h.min()))
        return edge - tilted @ h / tilted.sum()

    high = 1.0
    while slope(high) < 0:
        high *= 2.0
    return brentq(slope, 0.0, high, xtol=1e-300, rtol=1e-13)


def train(Q, e: float = 0.1, least: float = 0.005, most: int = 10_000) -> Walk:
    """Algorithm 1; `most` steps at the most."""
    # 2) equal weights
    walk = Walk([np.full(len(Q), 1.0 / len(Q))])
    while len(walk.etas) < most:
        a = walk.points[-1]
        # 3) and 4) the margins of all rows, and the edge to be reached
        h = Q @ a
        edge = (a @ h) / (1.0 + e)
        overshot = h.min() >= edge
        if not overshot:
            # 5) to 7) the projection, unless it makes things worse
            eta = edge_eta(a, h, edge)
            new = a * np.exp(-eta * (h - h.min()))
            new /= new.sum()
            overshot = new @ Q @ new > a @ h
        if overshot:
            e /= 2.0
            walk.rejected_after.append(len(walk.points))
            # 8) enough?
            if e < least:
                break
        else:
            walk.points.append(new)
            walk.etas.append(eta)
    # 9)
    return walk


def optimum(Q) -> Optimum:
    """The exact rho-SVM; rho* is twice the objective."""
    n = len(Q)
    return solve_qp(Q, np.zeros(n), np.ones((1, n)), np.ones(1), np.ones(n))
