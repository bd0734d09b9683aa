"""A homotopy: the optimum follows linearly changing data from breakpoint to breakpoint.

Targets, boxes and totals of the dual (problems/dual.py) move from their values at theta = 0 to an
endpoint at theta = 1. Between two breakpoints the same variables are free (set S), at their lower
(L) or at their upper bound (U), and the optimum is linear in theta. With h_v = F_v - b_g,
optimality is

    h_v = 0 on S,     h_v <= 0 on L,     h_v >= 0 on U,     sum of beta over group g = total_g

Its derivative by theta solves a linear system (rates_and_breakpoint.py). The system has a solution
exactly if every group whose total must change has a free variable. One step goes to the nearest
theta at which a variable of S reaches a bound or one of L or U reaches h = 0; that variable changes
its set. Four additions make this complete:

    ray         a group whose total must change has no free variable: theta stands still and the
                bias of the group moves until a variable that can move the right way has h = 0; if
                there is none, the problem is infeasible beyond this theta
    exchange    a variable that would enter S depends on S (enter_and_exchange.py)
    ties        several variables reach their ends at one theta: they change their sets one after
                the other. After some steps of length zero the one with the least index goes first
                (Bland's rule). If the homotopy cycles even then, targets of bound variables are
                perturbed by tiny random amounts, and a second homotopy takes these back
    active rows most steps evaluate some rows only (active_rows.py); a variable that a full scan
                finds on the wrong side of h = 0 gets another target, which the second homotopy
                takes back as well
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from widestreet._src.arrays import Bytes, Floats, Ints
from widestreet._src.engines.homotopy.active_rows import ActiveRows
from widestreet._src.engines.homotopy.bound_motion import BoundMotion, DataRates, Endpoint
from widestreet._src.engines.homotopy.enter_and_exchange import enter, leave
from widestreet._src.engines.homotopy.kernel_columns import ALL_ROWS
from widestreet._src.engines.homotopy.path_state import FREE, LOWER, UPPER, PathState
from widestreet._src.engines.homotopy.rates_and_breakpoint import (
    ZERO_STEP_LENGTH,
    Breakpoint,
    StraightPiece,
)
from widestreet._src.engines.homotopy.rounding_correction import correct

_STEPS_BETWEEN_REFRESHES = 500  # bounds the rounding that updates accumulate in the scores
_ZERO_STEPS_BEFORE_BLAND = 30  # consecutive ones: more than the ties of most data
_ZERO_STEPS_BEFORE_PERTURBATION = 300  # consecutive ones: more than Bland's rule needs
_PERTURBATION = 1e-9  # of the scale of targets: beyond rounding, below any tolerance of a fit
_MOST_PERTURBATIONS = 100  # of one homotopy: what these do not separate is rounding
_THETA_ROUNDING = 1e-14  # distance from 1 at which a homotopy has ended
_EXHAUSTION_ROUNDING = 1e-9  # distance from theta = 1 at which exhaustion is rounding
_VIOLATION_ROUNDING = 1e-12  # of the scale of targets: rounding of h at a full scan


class InfeasibleError(ValueError):
    """Error: the constraints have no solution beyond some theta."""

    def __init__(self, theta: float, group: int) -> None:
        super().__init__(f"no feasible point beyond theta={theta:g}: group {group} is exhausted")
        self.theta, self.group = theta, group


@dataclass(frozen=True, eq=False)
class PathSegment:
    """Section of a path on which the optimum is linear.

    Attributes
    ----------
    theta, length : float
        Start and length of the section.
    free : ndarray
        Free variables.
    beta, change : ndarray
        Values of the free variables at the start, and their rates by theta.
    at_upper : ndarray of uint8
        Packed bits of the mask of variables at their upper bounds.
    """

    theta: float
    length: float
    free: Ints
    beta: Floats
    change: Floats
    at_upper: Bytes


SegmentObserver: TypeAlias = Callable[[PathSegment], None]


class Homotopy:
    """Move a state along a homotopy.

    Parameters
    ----------
    state : PathState
        State that is optimal for its data.
    end : Endpoint
    observe : callable, optional
        Called with every straight piece. All rows are active then.
    active_limit : int, optional
        Number of bound variables to keep active, see `ActiveRows`.

    Attributes
    ----------
    theta : float
    goal : ndarray
        Targets at theta = 1.
    target_shift : ndarray or None
        Sum of the shifts of the targets, which is still in them at the end.
    """

    def __init__(
        self,
        state: PathState,
        end: Endpoint,
        observe: SegmentObserver | None = None,
        active_limit: int | None = None,
    ) -> None:
        self.state, self.end, self.observe = state, end, observe
        self.theta = 0.0
        self.goal = state.target.copy() if end.target is None else end.target
        self.target_shift: Floats | None = None
        self._zero_steps = 0  # in a row
        self._perturbations = 0
        self.rates = DataRates.between(state, end)
        limit = active_limit if observe is None else 0
        self.active_rows = ActiveRows(self.rates.moving_rows(state.layers), limit)
        self._choose_bounds_of_empty_boxes()
        self.motion = BoundMotion(self.rates, state)

    @property
    def finished(self) -> bool:
        return self.theta >= 1.0 - _THETA_ROUNDING

    @property
    def cycling(self) -> bool:
        return self._zero_steps >= _ZERO_STEPS_BEFORE_PERTURBATION

    def _choose_bounds_of_empty_boxes(self) -> None:
        """Put bound variables with an empty box at the bound that suits their h.

        Sets: bound_state.
        """
        s = self.state
        empty = (s.upper == s.lower) & (s.bound_state != FREE)
        s.bound_state[empty] = np.where(s.slack()[empty] > 0, UPPER, LOWER)

    # -- a step ------------------------------------------------------------------------------------

    def step(self) -> None:
        """Advance to the next breakpoint. Sets: everything."""
        s = self.state
        s.counts.steps += 1
        if self._zero_steps == _ZERO_STEPS_BEFORE_BLAND:
            self.motion.recompute(s)  # its rounding may be the cause of a cycle
        total_rate = self.rates.total - self.motion.total
        # 1) a group that must move and has no free variable gets one
        group = self._group_without_free(total_rate)
        if group is not None:
            self._rescan_all_rows()
            self._ray(group, float(total_rate[group]))
            return
        if self.active_rows.is_stale(s):
            self._rescan_all_rows()
        rates_known = s.all_active  # of all scores
        # 2) the straight piece to the next breakpoint
        piece = StraightPiece(s, self.motion, total_rate)
        by_index = self._zero_steps >= _ZERO_STEPS_BEFORE_BLAND
        found = piece.next_breakpoint(1.0 - self.theta, by_index)
        self._advance(piece, found.length)
        if found.variable < 0:
            return
        if rates_known and self.active_rows.worthwhile(s):
            s.active = self.active_rows.restrict(s, piece.slopes(), found.variable)
        # 3) the change of sets at its end
        self._change_sets(found)

    def _group_without_free(self, total_rate: Floats) -> int | None:
        """Return a group whose free variables must move its total, but that has none."""
        for g, present in enumerate(self.state.free.groups_present(self.state.groups)):
            if not present and abs(total_rate[g]) > self.rates.negligible_total:
                return g
        return None

    def _advance(self, piece: StraightPiece, length: float) -> None:
        """Follow a straight piece, and recompute the scores if it is due.

        Sets: data, beta, score, bias, theta.
        """
        s = self.state
        if self.observe is not None and length > 0:
            free, at_upper = s.free.variables, np.packbits(s.bound_state == UPPER)
            self.observe(PathSegment(self.theta, length, free, s.beta[free], piece.free, at_upper))
        piece.advance(length)
        self.theta += length
        s.steps_since_refresh += 1
        if s.steps_since_refresh >= _STEPS_BETWEEN_REFRESHES:
            self._rescan_all_rows()
            s.refresh()

    def _change_sets(self, found: Breakpoint) -> None:
        """Make the variable of a breakpoint enter or leave the free set. Sets: everything."""
        s, variable = self.state, found.variable
        zero = found.length <= ZERO_STEP_LENGTH
        self._zero_steps = self._zero_steps + 1 if zero else 0
        s.counts.zero_steps += zero
        if found.bound_state == FREE:
            self._enter(variable)
        else:
            s.counts.left += 1
            column = s.column(variable)
            leave(s, variable, found.bound_state)
            self.motion.update(s, variable, column)

    def _enter(self, variable: int) -> None:
        for changed in enter(self.state, variable):
            self.motion.update(self.state, changed)

    def _ray(self, group: int, rate: float) -> None:
        """Move a bias until a variable that can move the right way has h = 0, and free it.

        Sets: bias, free, bound_state.
        """
        s = self.state
        s.counts.rays += 1
        up = rate > 0
        movable = (s.upper > s.lower) | (self.rates.upper > self.rates.lower)
        movable &= (s.group == group) & (s.bound_state == (LOWER if up else UPPER))
        candidates = np.flatnonzero(movable)
        if len(candidates) == 0:
            if self.theta < 1.0 - _EXHAUSTION_ROUNDING:
                raise InfeasibleError(self.theta, group)
            self.theta = 1.0
            return
        h = s.slack()[candidates]
        at = int(np.argmax(h) if up else np.argmin(h))
        s.bias[group] += h[at]
        self._enter(int(candidates[at]))

    # -- changes of targets, and the end -----------------------------------------------------------

    def _rescan_all_rows(self) -> None:
        """Make all rows active, and give missed variables targets that satisfy their conditions.

        Sets: score, active, target, target_shift.
        """
        s = self.state
        if s.all_active:
            return
        s.score, inactive = self.active_rows.restore(s)
        s.active = ALL_ROWS
        h = s.slack()
        rounding = _VIOLATION_ROUNDING * max(1.0, s.largest_target())
        at_lower, at_upper = s.bound_state == LOWER, s.bound_state == UPPER
        missed = np.where(at_upper, h < -rounding, at_lower & (h > rounding))
        missed &= inactive & (s.upper > s.lower)
        if missed.any():
            s.counts.missed += int(np.count_nonzero(missed))
            self._shift_targets(np.where(missed, -h, 0.0))

    def perturb(self, rng: np.random.Generator) -> None:
        """Move h of bound variables away from zero by random amounts, to end a cycle.

        Sets: target, target_shift.
        """
        s = self.state
        s.counts.perturbations += 1
        self._perturbations += 1
        if self._perturbations > _MOST_PERTURBATIONS:
            raise RuntimeError(
                f"the homotopy cycles at theta={self.theta:g}: rounding exceeds the differences "
                "between the rows; scale the features or targets, or lower C"
            )
        amount = _PERTURBATION * max(1.0, s.largest_target()) * (1.0 + rng.random(len(s.target)))
        at_lower, at_upper = s.bound_state == LOWER, s.bound_state == UPPER
        self._shift_targets(np.where(at_upper, 1.0, np.where(at_lower, -1.0, 0.0)) * amount)
        self._zero_steps = 0

    def _shift_targets(self, shift: Floats) -> None:
        """Add a shift to the targets. Sets: target, target_shift."""
        self.target_shift = shift if self.target_shift is None else self.target_shift + shift
        self.state.target += shift

    def finish(self) -> None:
        """Set the data to their endpoint exactly, and remove rounding errors. Sets: everything."""
        s, end = self.state, self.end
        self._rescan_all_rows()
        s.lower, s.upper, s.total = (
            now if given is None else given.copy()
            for now, given in ((s.lower, end.lower), (s.upper, end.upper), (s.total, end.total))
        )
        s.target = self.goal.copy() if self.target_shift is None else self.goal + self.target_shift
        for bound_state in (LOWER, UPPER):
            there = s.bound_state == bound_state
            s.beta[there] = s.bound(bound_state)[there]
        correct(s)
