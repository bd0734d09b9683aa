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
vector, which is most of the work.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias

import numpy as np
from scipy import linalg
from scipy.linalg import cython_blas

from widestreet import _core
from widestreet.arrays import Bools, Bytes, Floats, Ints
from widestreet.duals import Dual

_core.use_trsv(cython_blas.__pyx_capi__["dtrsv"])

LOWER, FREE, UPPER = 0, 1, 2

_FLAT = 1e-12  # of its own curvature: what a variable must add to enter S
_STILL = 1e-13  # slopes below this part of the largest do not count
_ZERO_STEPS = 30  # in a row, after which the first variable by number goes first
_TANGLED = 300  # in a row, after which ties are broken by force
_APART = 1e-9  # of the targets' scale, by which they are
_NEARLY = 1e-9  # part of the way at the end of which nothing may be left to move
_NO_WAY = 1e-13  # steps shorter than this do not count as such
_NOTHING = 1e-12  # of the change of a box: what a total need not change by
_NOISE = 1e-13  # of the terms of a slope: what may be rounding
_END = 1e-14  # what is left of the way when it is over
_REFRESH = 500  # events after which all scores are computed anew
_SNAP = 1e-12  # of a box: how near a bound is at it
_AHEAD = 1.5  # times what is needed: room that arrays get when they grow


class NoSolution(ValueError):  # noqa: N818 - it says what there is not
    """The constraints cannot be met beyond some part of the way."""

    def __init__(self, theta: float, group: int) -> None:
        super().__init__(f"no feasible point beyond theta={theta:g}: group {group} is exhausted")
        self.theta, self.group = theta, group


@dataclass(frozen=True, eq=False)
class Ends:
    """Where targets, boxes and totals go; None leaves them as they are."""

    target: Floats | None = None
    lower: Floats | None = None
    upper: Floats | None = None
    total: Floats | None = None


@dataclass(frozen=True, eq=False)
class Segment:
    """A part of a path on which nothing but straight lines happens.

    Attributes
    ----------
    theta, length : float
        Where it begins, and how long it is.
    free : ndarray
        Variables that are free on it.
    beta, change : ndarray
        Their values at the beginning, and what these change by per unit of theta.
    bias, turn : ndarray
        The same of the biases.
    at_upper : ndarray of uint8
        Bits: which variables sit at their upper bounds.
    """

    theta: float
    length: float
    free: Ints
    beta: Floats
    change: Floats
    bias: Floats
    turn: Floats
    at_upper: Bytes


Surveyor: TypeAlias = Callable[[Segment], None]


@dataclass
class Counts:
    """What happened on paths."""

    steps: int = 0
    entered: int = 0
    left: int = 0
    rays: int = 0
    exchanges: int = 0
    zero_steps: int = 0
    untangled: int = 0


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
        Of every row.
    free : list of int
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
        self.free: list[int] = []  # S, in the order of the factor
        self.counts = Counts()
        self._array: Ints | None = None  # the same
        self._slot: list[int] = []  # where the kernel column of each of them is held
        self._held: Floats = np.zeros((0, dual.rows))
        self._factor = _core.Factor()
        self._sigma = float(self.diagonal.mean()) if dual.rows else 1.0
        self._since_refresh = 0
        self._settle()

    def clone(self) -> Path:
        """Another one at the same place, to go elsewhere with."""
        other = copy(self)
        for name in (
            "diagonal", "target", "lower", "upper", "group", "total", "beta", "place", "bias",
            "score", "free", "_slot", "_held",
        ):  # fmt: skip
            setattr(other, name, getattr(self, name).copy())
        other.counts = replace(self.counts)
        other._factor = self._factor.copy()
        return other

    def __getstate__(self) -> dict[str, Any]:
        L = np.empty((self._factor.size, self._factor.size))
        self._factor.store(L)
        return vars(self) | {"_factor": L}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._factor = _core.Factor()
        self._factor.load(state["_factor"])

    # -- a first optimum -------------------------------------------------------------------------

    def _settle(self) -> None:
        """Go from a feasible point to the optimum.

        The point is the optimum of other data: of targets that make it so. The path leads from
        these to the true ones. Sets: everything.
        """
        width = self.upper - self.lower
        near = _SNAP * width
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
        rows = self.row_of(variables)
        K = self.kernel.block(rows, rows) if len(rows) else np.zeros((0, 0))
        same = self.group[variables][:, None] == self.group[variables]
        L, info = linalg.lapack.dpotrf(K + self._sigma * same, lower=True, clean=True)
        own = self.diagonal[rows] + self._sigma
        if info == 0 and (np.diag(L) ** 2 > _FLAT * own).all():
            self._factor.load(np.ascontiguousarray(L.T))
            self.free, self._slot = variables.tolist(), list(range(len(variables)))
            self._array = None
            if len(rows):
                self._held = np.ascontiguousarray(self.kernel.block(rows, None))
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
        self._make_room(n + m)
        k = len(self.free)
        if k:
            rows = np.empty(k, dtype=np.int64)
            rows[self._slot] = self.row_of(self.free_variables)
            self._held[:k, n : n + m] = self.kernel.block(rows, new)
        zero = np.zeros(m * self.layers)
        self.target = np.concatenate([self.target, np.ascontiguousarray(target.T).ravel()])
        self.group = np.concatenate([self.group, np.ascontiguousarray(group.T).ravel()])
        self.lower, self.upper = (np.concatenate([a, zero]) for a in (self.lower, self.upper))
        self.beta = np.concatenate([self.beta, zero])
        self.place = np.concatenate([self.place, np.full(len(zero), LOWER, dtype=np.int8)])
        self.score = np.concatenate([self.score, score])
        self.diagonal = np.concatenate([self.diagonal, diagonal])

    def _make_room(self, rows: int) -> None:
        """Sets: held, wider."""
        if rows > self._held.shape[1]:
            held = np.zeros((len(self._held), int(_AHEAD * rows) + 16))
            held[:, : self.rows] = self._held[:, : self.rows]
            self._held = held

    def drop(self, rows: Ints) -> Ints:
        """Remove rows whose boxes have no width; the last ones take their places.

        Returns
        -------
        order : ndarray
            Which row now stands at each place.

        Sets: everything that has an entry per row.
        """
        for variable in [v for v in self.free if v // self.layers in set(rows.tolist())]:
            self._remove(self.free.index(variable), LOWER)
        order = closed(self.rows, rows)
        moved = np.flatnonzero(order != np.arange(len(order)))
        k = len(self.free)
        self._held[:k, moved] = self._held[:k, order[moved]]
        names = dict(zip(order.tolist(), range(len(order)), strict=True))
        self.free = [names[v // self.layers] * self.layers + v % self.layers for v in self.free]
        self._array = None
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

    def row_of(self, variables: Ints) -> Ints:
        """Rows of variables."""
        return variables // self.layers

    @property
    def free_variables(self) -> Ints:
        """The free variables, as an array."""
        if self._array is None:
            self._array = np.array(self.free, dtype=np.int64)
        return self._array

    def slack(self) -> Floats:
        """H of every variable."""
        h: Floats = self.target - np.repeat(self.score, self.layers) - self.bias[self.group]
        return h

    # -- what a change of the free variables does ------------------------------------------------

    def solve(self, first: Floats, second: Floats) -> tuple[Floats, Floats]:
        """Solve [K_SS A_S'; A_S 0] [x; m] = [first; second]; groups without free variables get 0.

        With M = K_SS + sigma A'A: M x + A'm = first + sigma A' second, and A x = second.
        """
        x, m = np.empty(len(self.free)), np.empty(self.groups)
        group = self.group[self.free_variables]
        self._factor.solve_bordered(first, second, group, self._sigma, x, m)
        return x, m

    def _sums(self) -> Floats:
        """Sum of beta over each group."""
        sums: Floats = np.bincount(self.group, self.beta, self.groups).astype(np.float64)
        return sums

    def spread(self, change: Floats) -> Floats:
        """K c for changes of the free variables."""
        weights = np.zeros(len(self.free))
        weights[self._slot] = change
        moved: Floats = weights @ self._held[: len(self.free), : self.rows]
        return moved

    def layered(self, values: Floats) -> Floats:
        """Values of variables, by layer and row."""
        return np.ascontiguousarray(values.reshape(-1, self.layers).T)

    def size_of(self, variable: int, change: Floats) -> float:
        """Size of the terms that changes of the free variables add to a variable's score."""
        values = self._held[self._slot, variable // self.layers]
        return float(np.abs(values) @ np.abs(change))

    def _column(self, variable: int) -> Floats:
        """Kernel values of a variable's row with all rows."""
        if self.place[variable] == FREE:
            at = self._slot[self.free.index(variable)]
            return self._held[at, : self.rows].copy()
        column: Floats = self.kernel.block(np.array([variable // self.layers]), None)[0]
        return column

    def _append(self, variable: int, column: Floats) -> bool:
        """Let a variable enter S, unless it adds no curvature. Sets: free, place."""
        rows = self.row_of(self.free_variables)
        same = self.group[self.free_variables] == self.group[variable]
        own = float(self.diagonal[variable // self.layers]) + self._sigma
        if not self._factor.append(column[rows] + self._sigma * same, own, _FLAT) > _FLAT * own:
            return False
        slot = len(self.free)
        if slot == len(self._held):
            room = int(_AHEAD * slot) + 16
            held = np.zeros((room, self._held.shape[1]))
            held[:slot] = self._held
            self._held = held
        self._held[slot, : self.rows] = column
        self.free.append(variable)
        self._array = None
        self._slot.append(slot)
        self.place[variable] = FREE
        return True

    def _remove(self, at: int, to: int) -> None:
        """Let the variable at a place of S go to a bound. Sets: free, place, beta."""
        variable, slot = self.free.pop(at), self._slot.pop(at)
        self._array = None
        self._factor.remove(at)
        last = len(self.free)
        if slot != last:
            self._held[slot] = self._held[last]
            self._slot[self._slot.index(last)] = slot
        self.place[variable] = to
        self.beta[variable] = (self.lower if to == LOWER else self.upper)[variable]

    def enter(self, variable: int) -> list[tuple[int, int]]:
        """Let a variable at a bound, with h = 0, become free; returns who went where instead.

        If it adds no curvature it is exchanged: it moves inward along the direction in which
        nothing else changes, until a free variable or itself reaches a bound.
        """
        column = self._column(variable)
        self.counts.entered += 1
        went: list[tuple[int, int]] = []
        while not self._append(variable, column):
            self.counts.exchanges += 1
            rows = self.row_of(self.free_variables)
            sums = np.zeros(self.groups)
            sums[self.group[variable]] = -1.0
            along, bias = self.solve(-column[rows], sums)
            sign = 1.0 if self.place[variable] == LOWER else -1.0
            along, bias = sign * along, sign * bias
            moved = self.spread(along) + sign * column  # next to nothing
            length = float(self.upper[variable] - self.lower[variable])
            far = np.full(len(along), np.inf)
            beta = self.beta[self.free]
            small = _STILL * max(1.0, float(np.abs(along).max(initial=0.0)))
            up, down = along > small, along < -small
            far[up] = (self.upper[self.free] - beta)[up] / along[up]
            far[down] = (beta - self.lower[self.free])[down] / -along[down]
            at = int(np.argmin(far)) if len(far) else -1
            inside = sign * (self.beta[variable] - (self.lower, self.upper)[sign < 0][variable])
            if at < 0 or far[at] >= length - inside:
                self._shift(max(0.0, length - inside), along, moved, bias)
                to = UPPER if sign > 0 else LOWER
                self.place[variable] = to
                self.beta[variable] = (self.upper if to == UPPER else self.lower)[variable]
                went.append((variable, to))
                return went
            step = max(0.0, float(far[at]))
            self._shift(step, along, moved, bias)
            self.beta[variable] += sign * step
            gone, to = self.free[at], UPPER if along[at] > 0 else LOWER
            self._remove(at, to)
            went.append((gone, to))
        return went

    def _shift(self, step: float, along: Floats, moved: Floats, bias: Floats) -> None:
        """Move the free variables, scores and biases. Sets: beta, score, bias."""
        self.score += step * moved
        self.bias += step * bias
        self.beta[self.free] = np.clip(
            self.beta[self.free] + step * along, self.lower[self.free], self.upper[self.free]
        )

    # -- following a path ------------------------------------------------------------------------

    def follow(
        self,
        ends: Ends,
        rng: np.random.Generator | None = None,
        observe: Surveyor | None = None,
    ) -> None:
        """Let the data move to other values, and the optimum with them.

        Parameters
        ----------
        ends : Ends
        rng : numpy.random.Generator, optional
            For ties that nothing else resolves.
        observe : callable, optional
            Is told of every segment.

        Sets: everything.
        """
        rng = np.random.default_rng(0) if rng is None else rng
        walk = _Walk(self, ends, observe)
        while not walk.arrived:
            if walk.tangled:
                self.counts.untangled += 1
                walk.pull_apart(rng)
            walk.step()
        walk.end()
        if walk.apart is not None:
            self.follow(Ends(target=self.target - walk.apart), rng)

    def correct(self) -> None:
        """Take what rounding has added up out of the free variables. Sets: beta, score, bias."""
        free = self.free_variables
        change, bias = self.solve(self.slack()[free], self.total - self._sums())
        moved = self.beta[free] + change
        inside = (moved >= self.lower[free]) & (moved <= self.upper[free])
        if not inside.all():
            return
        self.beta[free] = moved
        self.score += self.spread(change)
        self.bias += bias

    def count_step(self) -> None:
        """Compute all scores anew every so often. Sets: score."""
        self._since_refresh += 1
        if self._since_refresh >= _REFRESH:
            self.refresh()

    def refresh(self) -> None:
        """Compute all scores anew. Sets: score."""
        self.score = self.product(self.coef)
        self._since_refresh = 0

    def product(self, coef: Floats) -> Floats:
        """K c, for a coefficient of each row."""
        used = np.flatnonzero(coef)
        return self.kernel.scan(used, coef[used])


class _Walk:
    """One path, on the way."""

    def __init__(self, path: Path, ends: Ends, observe: Surveyor | None) -> None:
        self.path, self.ends, self.observe = path, ends, observe
        self.theta = 0.0
        self.apart: Floats | None = None  # what was added to the targets against ties
        self._zero = 0  # steps of length zero, in a row
        self.d_target = _way(path.target, ends.target)
        self.d_lower = _way(path.lower, ends.lower)
        self.d_upper = _way(path.upper, ends.upper)
        self.d_total = _way(path.total, ends.total)
        self._widest = max(1.0, float(np.abs(self.d_upper).max(initial=0.0)))
        self._seat()
        self._carry()

    @property
    def arrived(self) -> bool:
        return self.theta >= 1.0 - _END

    @property
    def tangled(self) -> bool:
        return self._zero >= _TANGLED

    def _seat(self) -> None:
        """Bound variables whose box has no width sit where their h wants them. Sets: place."""
        path = self.path
        flat = (path.upper == path.lower) & (path.place != FREE)
        path.place[flat] = np.where(path.slack()[flat] > 0, UPPER, LOWER)

    def _carry(self) -> None:
        """What bounds carry along. Sets: carried (of variables), moved (of scores), sums."""
        path = self.path
        self.carried = np.where(
            path.place == UPPER, self.d_upper, np.where(path.place == LOWER, self.d_lower, 0.0)
        )
        self.sums = np.bincount(path.group, weights=self.carried, minlength=path.groups)
        self.moved = path.product(self.carried.reshape(-1, path.layers).sum(axis=1))

    def _reseat(self, variable: int, column: Floats | None = None) -> None:
        """A variable changed its set: its bound carries it along, or no longer, or another one.

        Sets: carried, moved, sums.
        """
        path = self.path
        to = path.place[variable]
        new = 0.0
        if to != FREE:
            new = float((self.d_upper if to == UPPER else self.d_lower)[variable])
        change = new - self.carried[variable]
        if change == 0.0:
            return
        self.carried[variable] = new
        self.sums[path.group[variable]] += change
        self.moved += change * (path._column(variable) if column is None else column)

    # -- a step ------------------------------------------------------------------------------------

    def step(self) -> None:
        """Go to the next breakpoint. Sets: everything."""
        path = self.path
        path.counts.steps += 1
        second = self.d_total - self.sums
        group = self._without_free(second)
        if group is not None:
            self._ray(group, float(second[group]))
            return
        free = path.free_variables
        change, turn = path.solve(self.d_target[free] - self.moved[path.row_of(free)], second)
        d_beta = self.carried.copy()
        d_beta[free] = change
        native = _core.Walk(
            path.layers, path.target, path.lower, path.upper, path.beta, path.group, path.place,
            path.score, path.bias, self.d_target, self.d_lower, self.d_upper, d_beta,
            self.moved + path.spread(change), turn,
        )  # fmt: skip
        length, variable, to = self._nearest(native, change)
        if self.observe is not None and length > 0:
            upper = np.packbits(path.place == UPPER)
            bias = path.bias.copy()
            self.observe(
                Segment(self.theta, length, free, path.beta[free], change, bias, turn, upper)
            )
        native.advance(length)
        path.bias += length * turn
        path.total += length * self.d_total
        self.theta += length
        path.count_step()
        if variable < 0:
            return
        self._zero = self._zero + 1 if length <= _NO_WAY else 0
        path.counts.zero_steps += length <= _NO_WAY
        if to == FREE:
            self._enter(variable)
        else:
            path.counts.left += 1
            column = path._column(variable)
            path._remove(path.free.index(variable), to)
            self._reseat(variable, column)

    def _nearest(self, native: _core.Walk, change: Floats) -> tuple[float, int, int]:
        """The nearest breakpoint: how far, whose it is (-1: the end), and where that one goes.

        Variables that seem to violate at once, by a slope that is rounding, stay where they are.
        """
        path, left = self.path, 1.0 - self.theta
        passed_over: list[int] = []
        while True:
            length, variable, to, slope, rest = native.nearest(
                _STILL, _NO_WAY, self._zero >= _ZERO_STEPS, np.array(passed_over, dtype=np.int64)
            )
            if length >= left:
                return left, -1, FREE
            if to != FREE or length > _NO_WAY:
                return length, variable, to
            terms = path.size_of(variable, change) + abs(self.moved[variable // path.layers])
            if abs(slope) > 10.0 * rest + _NOISE * terms:
                return length, variable, to
            passed_over.append(variable)

    def _without_free(self, second: Floats) -> int | None:
        """A group whose total must change without a free variable to do it."""
        path = self.path
        members = np.bincount(path.group[path.free_variables], minlength=path.groups)
        for g in np.flatnonzero(members == 0).tolist():
            if abs(second[g]) > _NOTHING * self._widest:
                return int(g)
        return None

    def _movable(self) -> Bools:
        """Variables that are not held in a box without width."""
        path = self.path
        open_: Bools = (path.upper > path.lower) | (self.d_upper > self.d_lower)
        return open_

    def _ray(self, group: int, need: float) -> None:
        """Move a bias until a variable that can move the right way is free. Sets: bias, place."""
        path = self.path
        path.counts.rays += 1
        up = need > 0
        able = (path.place == (LOWER if up else UPPER)) & (path.group == group) & self._movable()
        candidates = np.flatnonzero(able)
        if len(candidates) == 0:
            if self.theta < 1.0 - _NEARLY:
                raise NoSolution(self.theta, group)
            self.theta = 1.0  # the last row is gone but for rounding
            return
        h = path.slack()[candidates]
        at = int(np.argmax(h) if up else np.argmin(h))
        path.bias[group] += h[at]
        self._enter(int(candidates[at]))

    def _enter(self, variable: int) -> None:
        for other, _ in [*self.path.enter(variable), (variable, FREE)]:
            self._reseat(other)

    def pull_apart(self, rng: np.random.Generator) -> None:
        """Move h of bound variables away from zero by random amounts. Sets: apart, target."""
        path = self.path
        scale = _APART * max(1.0, float(np.abs(path.target).max(initial=0.0)))
        amount = scale * (1.0 + rng.random(len(path.target)))
        sign = np.where(path.place == UPPER, 1.0, np.where(path.place == LOWER, -1.0, 0.0))
        extra = sign * amount
        self.apart = extra if self.apart is None else self.apart + extra
        path.target += extra
        self._zero = 0

    def end(self) -> None:
        """Be exactly where the data were to go. Sets: data, and beta of bound variables."""
        path, ends = self.path, self.ends
        for name in ("target", "lower", "upper", "total"):
            given = getattr(ends, name)
            if given is not None:
                setattr(path, name, given.copy())
        if self.apart is not None:
            path.target = path.target + self.apart
        for to, bound in ((LOWER, path.lower), (UPPER, path.upper)):
            there = path.place == to
            path.beta[there] = bound[there]
        free = path.free_variables
        for variable in free[path.upper[free] == path.lower[free]].tolist():
            path._remove(path.free.index(variable), LOWER)
        path.correct()
        np.clip(path.beta, path.lower, path.upper, out=path.beta)  # rounding may have led outside


def closed(n: int, rows: Ints) -> Ints:
    """Which of n rows stands at each place when some leave and the last ones take their places."""
    order = np.arange(n)
    for row in np.sort(rows)[::-1].tolist():
        order[row] = order[-1]
        order = order[:-1]
    return order


def _way(now: Floats, end: Floats | None) -> Floats:
    """How far each value has to go."""
    return np.zeros_like(now) if end is None else end - now
