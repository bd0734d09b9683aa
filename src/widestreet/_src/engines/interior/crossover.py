"""Crossover: from an interior point to a feasible point with variables at their bounds."""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum

import numpy as np
from scipy.linalg import qr, solve_triangular

from widestreet._src.arrays import Bools, Floats, Ints
from widestreet._src.engines.interior.iterate import Iterate
from widestreet._src.engines.interior.low_rank_factor import Factor
from widestreet._src.problems.dual import Dual

_MOST_FREE = 2  # times the unknowns of the Newton system: more free variables are not refined
_DEPENDENT = 1e-14  # of the largest: a smaller pivot is rounding
_REFINEMENTS = 3
_SMALL = 1e-6  # of the slope: a smaller error of the scores is left to the rounds that follow


def crossed_over(dual: Dual, at: Iterate, factor: Factor | None = None) -> tuple[Floats, Ints]:
    """Return a feasible point near an interior one, and the rows with free variables.

    Variables are moved to the bounds that they approach. The free variables then make up for what
    the sums lack and, if the factor is given, for what V'c lacks.
    """
    lower, upper = at.bounds_approached()
    free = at.movable & ~lower & ~upper
    beta = np.where(lower, dual.lower, np.where(upper, dual.upper, at.beta))
    beta = np.clip(beta, dual.lower, dual.upper)
    beta = _filled(dual, beta, free)
    if factor is not None:
        beta = np.clip(_refined(factor, dual, at, beta, free), dual.lower, dual.upper)
        beta = _filled(dual, beta, free)
    for g in range(dual.groups):
        _settle_sum(dual, beta, g, free & (dual.group == g))
    return beta, np.flatnonzero(free.any(axis=0))


def feasible(dual: Dual, at: Iterate) -> Floats:
    """Return an interior point without rounding errors of its sums."""
    beta = _filled(dual, np.clip(at.beta, dual.lower, dual.upper), at.movable)
    for g in range(dual.groups):
        _settle_sum(dual, beta, g, at.movable & (dual.group == g))
    return beta


def _filled(dual: Dual, beta: Floats, free: Bools) -> Floats:
    """Return a point whose free variables meet the sums; all variables if these do not suffice."""
    for g in range(dual.groups):
        lack = _lack(dual, beta, g)
        room = dual.upper - beta if lack > 0 else beta - dual.lower
        room = np.where(free & (dual.group == g), room, 0.0)
        most = float(room.sum())
        if abs(lack) > most:
            return dual.nearest(beta)
        if most > 0:
            beta = np.clip(beta + room * (lack / most), dual.lower, dual.upper)
    return beta


def _lack(dual: Dual, beta: Floats, g: int) -> float:
    """Return the difference between the required sum of a group and its sum, without rounding."""
    return fsum([float(dual.total[g]), *(-beta[dual.group == g]).tolist()])


def _settle_sum(dual: Dual, beta: Floats, g: int, free: Bools) -> None:
    """Move the smallest free variable of a group so that its sum has no rounding error.

    If kernel values are large, a small error of the sum changes scores much. Sets: beta.
    """
    lack = _lack(dual, beta, g)
    after = np.where(free, beta + lack, np.inf)
    size = np.where((after > dual.lower) & (after < dual.upper), np.abs(after), np.inf)
    if lack != 0 and np.isfinite(size).any():
        at = np.unravel_index(np.argmin(size), size.shape)
        beta[at] += lack


def _refined(factor: Factor, dual: Dual, at: Iterate, beta: Floats, free: Bools) -> Floats:
    """Return the point whose free variables give V'c of the interior point and the right sums.

    Rounding errors of the last iterations are larger in the variables than in V'c.
    """
    layer, row = np.nonzero(free)
    if dual.diagonal is not None or not 0 < len(row) <= _MOST_FREE * (factor.rank + dual.groups):
        return beta
    rows, place = np.unique(row, return_inverse=True)
    V = factor.take(rows)
    least = _score_error(factor, at, beta)
    # rounding errors are proportional to columns of all rows, or to those of the free ones
    for size in (factor.column_sizes(), np.sqrt(np.einsum("ij,ij->j", V, V))):
        equations = _Equations.of(dual, V[place], size, layer, row)
        found = equations.solved(factor, dual, at, beta)
        error = _score_error(factor, at, found)
        if error < least:
            beta, least = found, error
        if least <= _SMALL * at.slope:
            break
    return beta


def _score_error(factor: Factor, at: Iterate, beta: Floats) -> float:
    """Return the largest difference between the scores of a point and of the interior point."""
    high, low = factor.accurate_transposed(beta.sum(axis=0))
    return float(np.abs(factor.times((at.inner - high) - low)).max(initial=0.0))


@dataclass(frozen=True, eq=False)
class _Equations:
    """Equations of the free variables for V'c and the sums, scaled and factorised.

    Attributes
    ----------
    Q, R, order : ndarray
        Factors of the equations, with columns in this order.
    scale : ndarray
        Factor of each equation.
    layer, row : ndarray
        The free variables.
    """

    Q: Floats
    R: Floats
    order: Ints
    scale: Floats
    layer: Ints
    row: Ints

    @classmethod
    def of(cls, dual: Dual, V: Floats, size: Floats, layer: Ints, row: Ints) -> _Equations:
        """Return the equations with rows of V divided by these sizes of its columns."""
        scale = np.concatenate([1.0 / np.where(size > 0, size, 1.0), np.ones(dual.groups)])
        members = dual.group[layer, row] == np.arange(dual.groups)[:, None]
        matrix = np.concatenate([V.T, members]) * scale[:, None]
        Q, R, order = qr(matrix, mode="economic", pivoting=True)
        rank = int(np.count_nonzero(np.abs(R.diagonal()) > _DEPENDENT * abs(R[0, 0])))
        return cls(Q[:, :rank], R[:rank, :rank], order[:rank], scale, layer, row)

    def solved(self, factor: Factor, dual: Dual, at: Iterate, beta: Floats) -> Floats:
        """Return a point that solves them by least squares; residuals have nearly all digits."""
        for _ in range(_REFINEMENTS):
            high, low = factor.accurate_transposed(beta.sum(axis=0))
            sums = [_lack(dual, beta, g) for g in range(dual.groups)]
            lack = np.concatenate([(at.inner - high) - low, sums])
            after = beta.copy()
            step = solve_triangular(self.R, self.Q.T @ (lack * self.scale))
            after[self.layer[self.order], self.row[self.order]] += step
            if (after < dual.lower).any() or (after > dual.upper).any():
                break
            beta = after
        return beta
