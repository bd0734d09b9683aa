"""The dual on some rows only, solved to rounding, and what the other rows say of its solution.

    max_beta D(beta),   lower <= beta <= upper,   group sums fixed,   beta_v = 0 outside the rows

for duals with one group. Pair steps (smo) find the active set, Newton steps the digits. The bias is
the middle of [max F over beta < upper, min F over beta > lower] over the rows that were solved for,
or its one finite end.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from reference import shard, smo
from reference.duals import BetaDual

EXACT = 1e-11  # violation to reach: far below any that a decision depends on
RIDGE = 1e-11  # times the largest diagonal: along flat directions a step goes to the next bound
SNAP = 1e-10  # of a box
ATTEMPTS = 1000


class Point(NamedTuple):
    """beta of shape (layers, n), zero outside the rows solved for, and one bias per group."""

    beta: np.ndarray
    bias: np.ndarray

    @property
    def support(self) -> np.ndarray:
        """Rows with a nonzero beta, ascending."""
        return np.flatnonzero(self.beta.any(axis=0))


def solve(K, dual: Any, rows, start: Point | None = None) -> Point:
    """The optimum over `rows`, from zero or from a point that is zero elsewhere (totals are 0)."""
    rows = np.sort(np.asarray(rows))
    tile, part = K[np.ix_(rows, rows)], _part(dual, rows)
    beta = np.zeros_like(part.target) if start is None else start.beta[:, rows]
    for _ in range(ATTEMPTS):
        beta, _, violation = smo.smo(tile, part, beta, tol=EXACT, max_steps=2 * len(rows))
        if violation <= EXACT:
            break
        beta = _newton(tile, part, beta)
    else:
        raise AssertionError(f"still a violation of {violation}")
    beta = _at_bounds(part, beta)
    found = np.zeros_like(dual.target)
    found[:, rows] = beta
    return Point(found, _bias(shard.extremes(tile @ beta.sum(axis=0), beta, part)))


def excess(K, dual: Any, point: Point) -> np.ndarray:
    """By how much each row violates a solution: the most that one of its variables does."""
    return shard.excess(K @ point.beta.sum(axis=0), point.beta, dual, point.bias)


def violators(K, dual: Any, point: Point, tol: float, inside) -> np.ndarray:
    """Rows that violate a solution by more than tol, without those it was solved for, ascending."""
    return np.setdiff1d(np.flatnonzero(excess(K, dual, point) > tol), inside)


def _newton(K, dual: BetaDual, beta) -> np.ndarray:
    """The best point over the free variables, or as far towards it as their boxes allow.

    [ K_SS + ridge  1 ] [ delta ]   [ F_S ]
    [ 1'            0 ] [   b   ] = [  0  ]
    """
    layer, row = np.nonzero((dual.lower < beta) & (beta < dual.upper))
    if not len(row):
        return beta
    M = np.ones((len(row) + 1, len(row) + 1))
    M[:-1, :-1] = K[np.ix_(row, row)] + RIDGE * K.diagonal().max() * np.eye(len(row))
    M[-1, -1] = 0.0
    F = dual.target[layer, row] - (K @ beta.sum(axis=0))[row]
    delta = np.linalg.solve(M, np.append(F, 0.0))[:-1]
    end = np.where(delta > 0, dual.upper[layer, row], dual.lower[layer, row])
    reach = np.where(delta == 0, np.inf, (end - beta[layer, row]) / np.where(delta == 0, 1, delta))
    step = min(1.0, reach.min())
    beta = beta.copy()
    beta[layer, row] = np.where(reach <= step, end, beta[layer, row] + step * delta)
    return beta


def _at_bounds(dual: BetaDual, beta) -> np.ndarray:
    """Put what misses a bound by rounding on it: there it would pass for free."""
    near = SNAP * (dual.upper - dual.lower)
    beta = np.where(beta - dual.lower <= near, dual.lower, beta)
    return np.where(dual.upper - beta <= near, dual.upper, beta)


def _part(dual: Any, rows) -> BetaDual:
    arrays = (dual.target, dual.lower, dual.upper, dual.group)
    return BetaDual(*(np.asarray(v)[:, rows] for v in arrays), np.asarray(dual.totals))


def _bias(extremes) -> np.ndarray:
    """The middle of each interval; its one finite end where the other is open."""
    return np.array([np.mean(ends[np.isfinite(ends)]) for ends in extremes])
