"""The path engine: the exact optimum of a dual whose data change, from breakpoint to breakpoint.

Targets, boxes and totals of the dual of duals.py move on straight lines, theta from 0 to 1. Between
two breakpoints the same variables are free (set S), at their lower (L) or at their upper bound (U),
and the optimum is linear in theta. With h_v = F_v - b_g, optimality is

    h_v = 0 on S,     h_v <= 0 on L,     h_v >= 0 on U,     sum of beta over group g = total_g

and its derivative by theta, bounds carrying along the variables that sit at them, is the system

    [K_SS  A_S'] [dbeta_S]   [dt_S - K_SB dbeta_B        ]
    [A_S     0 ] [  db   ] = [dtotal - A_B dbeta_B       ],     A_gv = 1 if v belongs to group g

Every variable belongs to one group, so that A_S has full rank exactly if every group has a free
variable. One step goes to the nearest theta at which a variable of S reaches a bound or one of L
or U reaches h = 0; that one changes its set. Three things beside this make it complete:

    ray         a group whose total must change has no free variable: theta stands still and the
                bias of the group moves until the nearest variable that can move the right way is
                free; if there is none, the problem has no solution beyond this theta
    exchange    a variable that would enter S adds no curvature (a repeated row, a kernel of low
                rank): it moves at the cost of others, with no effect on any score, until one of
                them or itself reaches a bound
    ties        several variables reach their ends at one theta: one after the other, the first by
                number if steps of length zero repeat; if even that goes on, h of bound variables
                is moved apart by tiny random amounts, which a second path takes back

Adding rows lets their boxes grow from nothing, forgetting them lets the boxes shrink; changes of
weights, C, nu, epsilon or labels are other endpoints of the same path.

Linear algebra: Cholesky factor of K_SS + sigma A_S'A_S, which is positive definite exactly if
K_SS is so on the directions that keep the sums; rows come and go in O(|S|^2) (core/factor.cpp).
Kernel columns of S are kept, so that the change of all scores is one product of a matrix with a
vector. With many rows that is most of the work: most steps look at a few of them only (sight.py).
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Protocol

import numpy as np

from widestreet._src.arrays import Bytes, Floats, Ints
from widestreet._src.engines.homotopy.active_rows import ALL
from widestreet._src.engines.homotopy.free_set import FreeSet
from widestreet._src.engines.homotopy.homotopy import (
    FREE,
    LOWER,
    UPPER,
    Counts,
    Ends,
    NoSolution,
    Segment,
    Surveyor,
    Walk,
)
from widestreet._src.problems.dual import Dual

__all__ = ["FREE", "LOWER", "UPPER", "Counts", "Ends", "NoSolution", "Path", "Segment", "closed"]

_STILL = 1e-13  # slopes below this part of the largest do not count
_REFRESH = 500  # events after which all scores are computed anew
_SNAP = 1e-12  # of a box: how near a bound is at it
_CLOSE = 1e-9  # the same where rounding would lead beyond it
_FINE = 1e-14  # of the targets: h of free variables that need no correction
_EXACT = 1e-15  # the same of the coefficients' sizes: what sums may differ by
_HOPELESS = 100  # times that ties are broken by force on one walk
_OTHER_SIZE = 10.0  # factor between sigma and kernel values from which on it is chosen anew


class KernelValues(Protocol):
    """Kernel values between rows."""

    def block(self, I: Ints, J: Ints | None) -> Floats:
        """Those of rows with others, None for all."""
        ...

    def scan(self, J: Ints, coef: Floats) -> Floats:
        """Return K[:, J] @ coef."""
        ...


class Path:
    """The optimum of a dual over n rows, and the means to follow it.

    Variables are numbered row by row: those of row r are r * layers to (r + 1) * layers - 1.

    Parameters
    ----------
    kernel : KernelValues
    diagonal : ndarray of shape (n,)
        K(x, x).
    dual : Dual
    beta : ndarray of shape (layers, n)
        A feasible point; the nearer to the optimum, the shorter the way there.

    Attributes
    ----------
    target, lower, upper, group, beta, place : ndarray
        Of every variable; `place` is LOWER, FREE or UPPER.
    total, bias : ndarray
        Of every group.
    score : ndarray
        Of every row; on a walk, up to date at those of `watched`.
    free : FreeSet
        The free variables.
    counts : Counts
    """

    def __init__(self, kernel: KernelValues, diagonal: Floats, dual: Dual, beta: Floats) -> None:
        self.kernel = kernel
        self.layers, self.groups = dual.layers, dual.groups
        self.diagonal = diagonal.copy()
        self.target, self.lower, self.upper = (
            np.ascontiguousarray(a.T).ravel() for a in (dual.target, dual.lower, dual.upper)
        )
        self.group = np.ascontiguousarray(dual.group.T).ravel()
        self.total = dual.total.copy()
        self.beta: Floats = np.ascontiguousarray(beta.T).ravel()
        self.place = np.full(len(self.beta), LOWER, dtype=np.int8)
        self.bias = np.zeros(self.groups)
        self.score = np.zeros(dual.rows)
        self.watched: Ints | slice = ALL
        self.counts = Counts()
        self.free = FreeSet(dual.rows, dual.layers, _typical(self.diagonal))
        self._since_refresh = 0
        self._settle()

    def clone(self) -> Path:
        """Another one at the same place, to go elsewhere with."""
        other = copy(self)
        for name in (
            "diagonal", "target", "lower", "upper", "group", "total", "beta", "place", "bias",
            "score", "free",
        ):  # fmt: skip
            setattr(other, name, getattr(self, name).copy())
        other.counts = replace(self.counts)
        return other

    # -- a first optimum -------------------------------------------------------------------------

    def _settle(self) -> None:
        """Go from a feasible point to the optimum.

        The point is the optimum of other data: of targets that make it so. The path leads from
        these to the true ones. Sets: everything.
        """
        width = self.upper - self.lower
        near = self._near(np.arange(len(width)))
        self.beta = np.where(self.beta <= self.lower + near, self.lower, self.beta)
        self.beta = np.where(self.beta >= self.upper - near, self.upper, self.beta)
        inside = (self.beta > self.lower) & (self.beta < self.upper)
        self.place[(self.beta >= self.upper) & (width > 0)] = UPPER
        self._enter_all(np.flatnonzero(inside))
        self.refresh()
        self.bias = self._middle()
        h = self.slack()
        wrong = np.where(self.place == LOWER, h > 0, np.where(self.place == UPPER, h < 0, True))
        target, total = self.target, self.total
        self.target = np.where(wrong, target - h, target)
        self.total = self._sums()
        if wrong.any() or not np.array_equal(total, self.total):
            self.follow(Ends(target=target, total=total))

    def _enter_all(self, variables: Ints) -> None:
        """Let variables inside their boxes be free, all at once if they may be. Sets: free."""
        if len(variables) == 0:
            return
        rows = variables // self.layers
        K = np.ascontiguousarray(self.kernel.block(rows, None).T)
        if self.free.load(variables, self.group[variables], K):
            self.place[variables] = FREE
            return
        for variable in variables.tolist():
            self.enter(variable)

    def _middle(self) -> Floats:
        """Of each group, the mean of F over its free variables, or what suits the others."""
        f = self.target - np.repeat(self.score, self.layers)
        bias = np.zeros(self.groups)
        for g in range(self.groups):
            mine = (self.group == g) & (self.upper > self.lower)
            free = f[mine & (self.place == FREE)]
            least = f[mine & (self.place == LOWER)].max(initial=-np.inf)
            most = f[mine & (self.place == UPPER)].min(initial=np.inf)
            ends = [end for end in (least, most) if np.isfinite(end)]
            bias[g] = free.mean() if len(free) else np.mean(ends) if ends else 0.0
        return bias

    # -- rows that come and go -------------------------------------------------------------------

    def extend(self, target: Floats, group: Bytes, diagonal: Floats) -> None:
        """Append rows whose boxes have no width yet: `kernel` knows them already.

        Parameters
        ----------
        target, group : ndarray of shape (layers, m)
        diagonal : ndarray of shape (m,)

        Sets: everything that has an entry per row.
        """
        n, m = self.rows, len(diagonal)
        new = np.arange(n, n + m)
        coef = self.coef
        support = np.flatnonzero(coef)
        score: Floats = np.zeros(m)
        if len(support):
            score = self.kernel.block(new, support) @ coef[support]
        self.free.extend(self.kernel.block(new, self.free.rows))
        zero = np.zeros(m * self.layers)
        self.target = np.concatenate([self.target, np.ascontiguousarray(target.T).ravel()])
        self.group = np.concatenate([self.group, np.ascontiguousarray(group.T).ravel()])
        self.lower, self.upper = (np.concatenate([a, zero]) for a in (self.lower, self.upper))
        self.beta = np.concatenate([self.beta, zero])
        self.place = np.concatenate([self.place, np.full(len(zero), LOWER, dtype=np.int8)])
        self.score = np.concatenate([self.score, score])
        self.diagonal = np.concatenate([self.diagonal, diagonal])
        sigma = _typical(self.diagonal)
        if not 1 / _OTHER_SIZE <= sigma / self.free.sigma <= _OTHER_SIZE:
            self.free.rescale(sigma)

    def drop(self, rows: Ints) -> Ints:
        """Remove rows whose boxes have no width; the last ones take their places.

        Returns
        -------
        order : ndarray
            Which row now stands at each place.

        Sets: everything that has an entry per row.
        """
        for variable in self.free.variables[np.isin(self.free.rows, rows)].tolist():
            self.leave(variable, LOWER)
        order = closed(self.rows, rows)
        self.free.rearrange(order)
        every = (order[:, None] * self.layers + np.arange(self.layers)).ravel()
        for name in ("target", "lower", "upper", "group", "beta", "place"):
            setattr(self, name, getattr(self, name)[every])
        self.score, self.diagonal = self.score[order], self.diagonal[order]
        return order

    # -- what there is -----------------------------------------------------------------------------

    @property
    def rows(self) -> int:
        return len(self.score)

    @property
    def coef(self) -> Floats:
        """Summed coefficient of each row."""
        total: Floats = self.beta.reshape(-1, self.layers).sum(axis=1)
        return total

    def slack(self) -> Floats:
        """H of every variable."""
        h: Floats = self.target - np.repeat(self.score, self.layers) - self.bias[self.group]
        return h

    # -- what a change of the free variables does ------------------------------------------------

    def _near(self, variables: Ints) -> Floats:
        """How near a bound is at it: boxes may be far larger than what is in them.

        But what is in them may be all rounding, compared with what targets make of kernel values.
        """
        width = self.upper[variables] - self.lower[variables]
        largest = float(np.abs(self.beta).max(initial=0.0))
        usual = float(np.abs(self.target).max(initial=0.0)) / self.free.sigma
        near: Floats = _SNAP * np.minimum(width, max(largest, usual))
        return near

    def _sums(self) -> Floats:
        """Sum of beta over each group."""
        sums: Floats = np.bincount(self.group, self.beta, self.groups).astype(np.float64)
        return sums

    def layered(self, values: Floats) -> Floats:
        """Values of variables, by layer and row."""
        return np.ascontiguousarray(values.reshape(-1, self.layers).T)

    def column(self, variable: int) -> Floats:
        """Kernel values of all rows with that of a variable."""
        if self.place[variable] == FREE:
            return self.free.column(self.free.place(variable))
        column: Floats = self.kernel.block(np.array([variable // self.layers]), None)[0]
        return column

    def leave(self, variable: int, to: int) -> None:
        """Let a free variable go to a bound. Sets: free, place, beta."""
        self.free.remove(self.free.place(variable))
        self.place[variable] = to
        self.beta[variable] = (self.lower if to == LOWER else self.upper)[variable]

    def _append(self, variable: int, column: Floats) -> bool:
        """Let a variable be free, unless it adds no curvature. Sets: free, place."""
        own = float(self.diagonal[variable // self.layers])
        if not self.free.append(variable, int(self.group[variable]), own, column):
            return False
        self.place[variable] = FREE
        return True

    def enter(self, variable: int) -> list[tuple[int, int]]:
        """Let a variable at a bound, with h = 0, become free; returns who went where instead.

        If it adds no curvature it is exchanged: it moves inward along the direction in which
        nothing else changes, until a free variable or itself reaches a bound.
        """
        column = self.column(variable)
        self.counts.entered += 1
        went: list[tuple[int, int]] = []
        while not self._append(variable, column):
            self.counts.exchanges += 1
            gone = self._exchange(variable, column)
            went.append(gone)
            if gone[0] == variable:
                break
        return went

    def _exchange(self, variable: int, column: Floats) -> tuple[int, int]:
        """Move a variable inward at the cost of the free ones; returns who reached which bound.

        Sets: beta, score, bias, and the place of that one.
        """
        free = self.free.variables
        sums = np.zeros(self.groups)
        sums[self.group[variable]] = -1.0
        sign = 1.0 if self.place[variable] == LOWER else -1.0
        along, turn = self.free.solve(-sign * column[self.free.rows], sign * sums)
        small = _STILL * max(1.0, float(np.abs(along).max(initial=0.0)))
        up, down = along > small, along < -small
        far = np.full(len(along), np.inf)
        far[up] = (self.upper[free] - self.beta[free])[up] / along[up]
        far[down] = (self.beta[free] - self.lower[free])[down] / -along[down]
        end = self.upper[variable] if sign > 0 else self.lower[variable]
        own = abs(float(end - self.beta[variable]))
        at = int(np.argmin(far)) if len(far) else -1
        itself = at < 0 or far[at] >= own
        step = max(0.0, own if itself else float(far[at]))
        self.move(step, along, turn)
        self.score += sign * step * column  # together next to nothing
        self.beta[variable] += sign * step
        if itself:
            to = UPPER if sign > 0 else LOWER
            self.place[variable], self.beta[variable] = to, end
            return variable, to
        gone, to = int(free[at]), UPPER if along[at] > 0 else LOWER
        self.leave(gone, to)
        return gone, to

    def move(self, step: float, along: Floats, turn: Floats) -> None:
        """Move the free variables. Sets: beta, score, bias."""
        free = self.free.variables
        moved = self.beta[free] + step * along
        self.beta[free] = np.clip(moved, self.lower[free], self.upper[free])
        self.score[self.watched] += step * self.free.spread(along, self.watched)
        self.bias += step * turn

    def tighten(self, ends: Ends) -> None:
        """Boxes that are to vanish begin at the values that are in them.

        That costs nothing, and the way is as long as the values are and not as the boxes were: what
        rounding leaves at its end is a part of these. Sets: lower, upper, and who is free.
        """
        assert ends.lower is not None
        assert ends.upper is not None
        gone = (ends.lower == ends.upper) & (self.lower < self.upper)
        for variable in self.free.variables[gone[self.free.variables]].tolist():
            to = UPPER if self.beta[variable] > 0 else LOWER
            self.lower[variable] = min(0.0, self.beta[variable])
            self.upper[variable] = max(0.0, self.beta[variable])
            self.leave(variable, to)
        self.lower[gone] = np.minimum(0.0, self.beta[gone])
        self.upper[gone] = np.maximum(0.0, self.beta[gone])

    # -- following a path ------------------------------------------------------------------------

    def follow(
        self,
        ends: Ends,
        rng: np.random.Generator | None = None,
        observe: Surveyor | None = None,
        near: int | None = None,
    ) -> None:
        """Let the data move to other values, and the optimum with them.

        Parameters
        ----------
        ends : Ends
        rng : numpy.random.Generator, optional
            For ties that nothing else resolves.
        observe : callable, optional
            Is told of every segment.
        near : int, optional
            How many bound variables to look at between looks at all of them.

        Sets: everything.
        """
        while True:
            walk = Walk(self, ends, observe, near)
            while not walk.arrived:
                if walk.tangled:
                    self.counts.untangled += 1
                    walk.give_up_at(_HOPELESS)
                    rng = np.random.default_rng(0) if rng is None else rng
                    walk.pull_apart(rng)
                walk.step()
            walk.end()
            if walk.apart is None:
                return
            ends, observe, near = Ends(target=walk.goal), None, walk.sight.wider

    def correct(self) -> bool:
        """Take what rounding has added up out of the free variables; returns whether any has.

        One that this would lead out of its box had arrived at the end of it.
        Sets: beta, score, bias, free, place.
        """
        fine = _FINE * float(np.abs(self.target).max(initial=0.0))
        nothing = _EXACT * float(np.abs(self.beta).sum())
        changed = False
        while True:
            free = self.free.variables
            h = self.target[free] - self.score[self.free.rows] - self.bias[self.free.group]
            short = self.total - self._sums()
            if np.abs(h).max(initial=0.0) <= fine and np.abs(short).max() <= nothing:
                return changed
            changed = True
            change, turn = self.free.solve(h, short)
            beta, lower, upper = self.beta[free], self.lower[free], self.upper[free]
            below, above = beta + change < lower, beta + change > upper
            if not (below | above).any():
                self.move(1.0, change, turn)
                return True
            close = _CLOSE * (upper - lower)
            below &= beta <= lower + close
            above &= beta >= upper - close
            if not (below | above).any():
                return True
            self._arrive(free[below], LOWER)
            self._arrive(free[above], UPPER)

    def seat(self) -> None:
        """Free variables that have arrived at a bound are no longer free.

        Sets: beta, score, free, place.
        """
        free = self.free.variables
        beta, lower, upper = self.beta[free], self.lower[free], self.upper[free]
        near = self._near(free)
        low = beta <= lower + near
        self._arrive(free[low], LOWER)
        self._arrive(free[~low & (beta >= upper - near)], UPPER)

    def _arrive(self, variables: Ints, to: int) -> None:
        """Let free variables go the rest of the way to a bound. Sets: beta, score, free, place."""
        for variable in variables.tolist():
            column, before = self.column(variable), self.beta[variable]
            self.leave(variable, to)
            self.score += (self.beta[variable] - before) * column

    def centre(self) -> None:
        """Biases that no free variable determines are in the middle of what they may be.

        They do not depend then on the way that led here, and are those of a batch fit. Sets: bias.
        """
        given = self.free.present(self.groups)
        if not all(given):
            self.bias = np.where(given, self.bias, self._middle())

    def due(self) -> bool:
        """Count a step; whether it is time to compute all scores anew."""
        self._since_refresh += 1
        return self._since_refresh >= _REFRESH

    def refresh(self) -> None:
        """Compute all scores anew. Sets: score."""
        self.score = self.product(self.coef)
        self._since_refresh = 0

    def product(self, coef: Floats) -> Floats:
        """K c, for a coefficient of each row."""
        used = np.flatnonzero(coef)
        return self.kernel.scan(used, coef[used])


def _typical(diagonal: Floats) -> float:
    """The size of kernel values; any will do where all are zero."""
    mean = float(diagonal.mean()) if len(diagonal) else 0.0
    return mean if mean > 0 else 1.0


def closed(n: int, rows: Ints) -> Ints:
    """Which of n rows stands at each place when some leave and the last ones take their places."""
    order = np.arange(n)
    for row in np.sort(rows)[::-1].tolist():
        order[row] = order[-1]
        order = order[:-1]
    return order
