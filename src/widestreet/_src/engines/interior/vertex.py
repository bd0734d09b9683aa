"""The last digits of a vertex: its free variables, solved on the grid of float64 numbers.

At an optimum all free variables v of a group have the same F_v, and the others are at their bounds.
One free variable r of each group is the reference. A move of v by y_v and of r by -y_v keeps the
sums, and the optimality conditions of the free variables are

    D D' y = F_v - F_r,       D_v = V_v - V_r

Coefficients are float64 numbers, so that y_v is a multiple of their spacing s_v. Where kernel
values are large, one spacing changes scores by more than a tolerance, and if every y_v is rounded
for itself, the errors add up. Together they can cancel: the multiples z with the smallest change of
scores |V D' (diag(s) z - y)| are a nearby point of a lattice (lattice.py).

F is computed from the kernel with all digits that the certificate uses; V only has to be near.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import fsum

import numpy as np
from scipy.linalg import qr, solve_triangular

from widestreet._src.arrays import Floats, Ints
from widestreet._src.engines.interior.lattice import Lattice
from widestreet._src.engines.interior.low_rank_factor import Factor
from widestreet._src.kernels.accurate_scan import accurate_scan, off_centre
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.poll import Poll
from widestreet._src.problems.dual import Dual

_MOST_VALUES = 5e6  # of V: the last digits of larger problems are left to the rounds
_MOST_COST = 1e9  # multiply-adds of a factorisation
_MOST_LATTICE = 1e8  # multiply-adds of a lattice; beyond it, each variable is rounded for itself
_MOST_REDUCED = 64  # variables whose lattice is reduced: more take seconds
_MOST_MOVES = 6  # of either lattice
_DEPENDENT = 1e-15  # of the largest: a smaller pivot is rounding
_NOTABLE = 0.5  # of the least violation so far: a smaller one is progress
_INSIDE = 4.0  # times the errors of scores: distance of free rows from having a loss


def polished(gram: Gram, dual: Dual, factor: Factor, beta: Floats, enough: float) -> Floats:
    """Return the point near `beta` with the same variables at bounds and the least violation.

    If no variable is at a bound other than zero, no row needs to have a loss. Rounding errors then
    count as losses times C; the free rows are moved away from these by more than the errors.

    Parameters
    ----------
    gram : Gram
    dual : Dual
    factor : Factor
        V of the kernel matrix.
    beta : ndarray of shape (layers, n)
        Feasible point.
    enough : float
        Violation below which nothing more is tried.
    """
    free = (beta > dual.lower) & (beta < dual.upper)
    count = int(free.sum())
    width = max(factor.rank, count)
    large = factor.rows * width > _MOST_VALUES or width * float(count) ** 2 > _MOST_COST
    if dual.diagonal is not None or count <= dual.groups or large:
        return beta
    lossless = not (dual.total.any() or beta[~free].any())
    F = dual.indicator(_scores(gram, beta))
    if _violation(dual, beta, F) <= enough and not (lossless and _loss(dual, F) > 0):
        return beta
    vertex = _Vertex.of(gram, dual, factor, beta)
    best, least = vertex.best_moves(beta, reduce=False)
    if least > enough and count <= _MOST_REDUCED:
        best, least = vertex.best_moves(best, reduce=True)
    if lossless and least <= enough:
        inside = vertex.inside(best, least)
        F = dual.indicator(_scores(gram, inside))
        if _loss(dual, F) <= 0 and _violation(dual, inside, F) <= enough:
            return inside
    return best


def _scores(gram: Gram, beta: Floats) -> Floats:
    """Return the scores of all rows as exactly as possible."""
    coef = beta.sum(axis=0)
    support = np.flatnonzero(coef)
    found = accurate_scan(gram, support, coef[support])
    if found is not None:
        return found[0]
    return gram.scan(None, support, coef[support]) + off_centre(gram, None, fsum(coef.tolist()))


def _violation(dual: Dual, beta: Floats, F: Floats) -> float:
    """Return the largest violation of a group."""
    worst = 0.0
    for g in range(dual.groups):
        mine = dual.group == g
        high = np.max(F, where=mine & (beta < dual.upper), initial=-np.inf)
        low = np.min(F, where=mine & (beta > dual.lower), initial=np.inf)
        worst = max(worst, float(high - low))
    return worst


def _loss(dual: Dual, F: Floats) -> float:
    """Return the largest difference that is a loss: not positive if no row has one."""
    worst = -np.inf
    for g in range(dual.groups):
        mine = dual.group == g
        high = np.max(F, where=mine & (dual.upper > 0), initial=-np.inf)
        low = np.min(F, where=mine & (dual.lower < 0), initial=np.inf)
        worst = max(worst, float(high - low))
    return worst


@dataclass(frozen=True, eq=False)
class _Vertex:
    """Equations of the free variables of a vertex, without those that depend on others.

    Attributes
    ----------
    gram : Gram
    dual : Dual
    poll : Poll
    layer, row : ndarray
        The free variables.
    group : ndarray
        Their groups.
    other, reference : ndarray
        Positions among them of the variables v of the equations, and of their references r.
    R : ndarray
        Triangular factor: R'R = D D'.
    change : ndarray of shape (n, equations), or None
        V D', without its mean if there is one bias, which does not matter; None if it is large.
    """

    gram: Gram
    dual: Dual
    poll: Poll
    layer: Ints
    row: Ints
    group: Ints
    other: Ints
    reference: Ints
    R: Floats
    change: Floats | None

    @classmethod
    def of(cls, gram: Gram, dual: Dual, factor: Factor, beta: Floats) -> _Vertex:
        """Set up the equations.

        References are the smallest variables: sums of multiples of other spacings are multiples of
        theirs, so that the totals have no rounding error.
        """
        layer, row = np.nonzero((beta > dual.lower) & (beta < dual.upper))
        size, group = np.abs(beta[layer, row]), np.asarray(dual.group[layer, row], dtype=np.int64)
        V = factor.take(np.arange(factor.rows))
        smallest = {g: int(np.argmin(np.where(group == g, size, np.inf))) for g in np.unique(group)}
        reference = np.array([smallest[g] for g in group])
        other = np.flatnonzero(reference != np.arange(len(row)))
        D = V[row[other]] - V[row[reference[other]]]
        _, R, order = qr(D.T, mode="economic", pivoting=True)
        pivots = np.abs(R.diagonal())
        order = order[: np.count_nonzero(pivots > _DEPENDENT * pivots[0])]
        R, other = R[: len(order), : len(order)], other[order]
        change = None
        if factor.rows * float(len(order)) ** 2 <= _MOST_LATTICE:
            change = V @ D[order].T
            change -= change.mean(axis=0) if dual.groups == 1 else 0.0
        where = layer, row, group, other, reference[other]
        return cls(gram, dual, factor.poll, *where, R, change)

    def best_moves(self, beta: Floats, reduce: bool) -> tuple[Floats, float]:
        """Move as long as this helps; return the best point and its violation."""
        best, least, dual = beta, np.inf, self.dual
        for _ in range(_MOST_MOVES):
            self.poll.look()
            F = dual.indicator(_scores(self.gram, beta))
            violation = _violation(dual, beta, F)
            progress = violation < _NOTABLE * least
            if violation < least:
                best, least = beta, violation
            if not progress:
                break
            beta = self._moved(beta, F, reduce)
            if (beta < dual.lower).any() or (beta > dual.upper).any():
                break
        return best, least

    def inside(self, beta: Floats, violation: float) -> Floats:
        """Return the point whose free rows are by more than all errors away from having a loss."""
        dual, coef = self.dual, beta.sum(axis=0)
        size, net = float(np.abs(coef).sum()), fsum(coef.tolist())
        error = float(self.gram.score_error(int(np.count_nonzero(coef)), size, net)) + violation
        side = np.where(dual.upper > 0, 1.0, -1.0)
        F = dual.indicator(_scores(self.gram, beta)) + _INSIDE * error * side
        found = self._moved(beta, F, reduce=False)
        return np.clip(found, dual.lower, dual.upper)

    @cached_property
    def _lattices(self) -> dict[tuple[bytes, bool], Lattice]:
        return {}

    def _multiples(self, x: Floats, spacing: Floats, reduce: bool) -> Floats:
        """Return integers near x, for multiples of these spacings; lattices are remembered."""
        if self.change is None:
            return np.rint(x)
        key = spacing.tobytes(), reduce
        if key not in self._lattices:
            found = Lattice.of(self.change * spacing)
            self._lattices[key] = found.reduced(self.poll) if reduce else found
        return self._lattices[key].nearest(x)

    def _moved(self, beta: Floats, F: Floats, reduce: bool) -> Floats:
        """Return the point at which the equations hold best; the same one if they overflow."""
        F = F[self.layer, self.row]
        with np.errstate(invalid="ignore", over="ignore"):
            y = F[self.other] - F[self.reference]
            for transposed in (1, 0):
                y = solve_triangular(self.R, y, trans=transposed, check_finite=False)
        if not np.isfinite(y).all():
            return beta
        value = beta[self.layer, self.row]
        spacing = np.spacing(np.abs(value[self.other]))
        step = np.zeros(len(value))
        step[self.other] = self._multiples(y / spacing, spacing, reduce) * spacing
        for r in np.unique(self.reference):
            step[r] = -fsum(step[self.group == self.group[r]].tolist())
        after = beta.copy()
        after[self.layer, self.row] = value + step
        return after
