"""A straight piece of a homotopy: the rates of the optimum, and the breakpoint at its end.

The rates of the free variables (S) and biases solve

    [K_SS  A_S'] [dbeta_S]   [dt_S - K_SB dbeta_B        ]
    [A_S     0 ] [  db   ] = [dtotal - A_B dbeta_B       ],     A_gv = 1 if v belongs to group g

where B are the variables at bounds, which move with their bounds (bound_motion.py).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from widestreet import _core
from widestreet._src.arrays import Floats
from widestreet._src.engines.homotopy.bound_motion import BoundMotion
from widestreet._src.engines.homotopy.path_state import FREE, NEGLIGIBLE_RATE, PathState

ZERO_STEP_LENGTH = 1e-13  # of theta: a shorter piece is rounding of a tie

_SLOPE_ROUNDING = 1e-13  # of the terms of a slope of h: rounding of their sum
_RESIDUAL_FACTOR = 10.0  # of the slopes of free variables, which are rounding: limit for others


class Breakpoint(NamedTuple):
    """The end of a straight piece."""

    length: float  # length of the piece
    variable: int  # variable that changes its bound state; -1 at theta = 1
    bound_state: int  # new bound state of the variable


class StraightPiece:
    """Direction in which the optimum moves from a state.

    Parameters
    ----------
    state : PathState
    motion : BoundMotion
    total_rate : ndarray
        Rate at which the free variables of each group must change its sum.

    Attributes
    ----------
    free : ndarray
        Rates of the free variables.
    bias : ndarray
        Rates of the biases.
    score : ndarray
        Rates of the scores, valid for the active rows.
    """

    def __init__(self, state: PathState, motion: BoundMotion, total_rate: Floats) -> None:
        self._state, self._motion, self._target = state, motion, motion.rates.target
        s, rate = state, self._target
        variables, rows = s.free.variables, s.free.rows
        self.free, self.bias = s.free.solve(rate[variables] - motion.score[rows], total_rate)
        groups = s.free.group
        alone = np.bincount(groups, minlength=s.groups)[groups] == 1
        self.free[alone] = total_rate[groups[alone]]  # without the rounding of a solution
        self.score = self._score_rate()
        beta = motion.beta.copy()
        beta[variables] = self.free
        self._native = _core.HomotopyStep(
            layers=s.layers, target=s.target, lower=s.lower, upper=s.upper, beta=s.beta,
            group=s.group, bound_state=s.bound_state, score=s.score, bias=s.bias,
            d_target=rate, d_lower=motion.rates.lower, d_upper=motion.rates.upper,
            d_beta=beta, d_score=self.score, d_bias=self.bias,
            rows=None if isinstance(s.active, slice) else s.active,
        )  # fmt: skip

    def _score_rate(self) -> Floats:
        """Return the rates of the scores; those of free variables keep h = 0."""
        free, active = self._state.free, self._state.active
        if isinstance(active, slice):
            return self._motion.score + free.score_change(self.free)
        bound = np.zeros(self._state.rows, dtype=bool)
        bound[active] = True
        bound[free.rows] = False
        rows = np.flatnonzero(bound)
        rate = self._motion.score.copy()
        rate[rows] += free.score_change(self.free, rows)
        rate[free.rows] = self._target[free.variables] - self.bias[free.group]
        return rate

    def slopes(self) -> Floats:
        """Return the slope of h of every variable; all rows must be active."""
        s = self._state
        slope: Floats = self._target - np.repeat(self.score, s.layers) - self.bias[s.group]
        return slope

    def next_breakpoint(self, left: float, by_index: bool) -> Breakpoint:
        """Return the nearest breakpoint.

        Variables whose immediate violation is only rounding of the slope are skipped.

        Parameters
        ----------
        left : float
            Remaining length of theta.
        by_index : bool
            If True, ties between variables are broken by the least index (Bland's rule).
        """
        skipped: list[int] = []
        while True:
            length, variable, to, slope, residual = self._native.nearest(
                NEGLIGIBLE_RATE, ZERO_STEP_LENGTH, by_index, np.array(skipped, dtype=np.int64)
            )
            if length >= left:
                return Breakpoint(left, -1, FREE)
            if to != FREE or length > ZERO_STEP_LENGTH:
                return Breakpoint(length, variable, to)
            if not self._state.all_active:  # the rates of free rows are exact by construction
                residual = self._residual_slope()
            row = variable // self._state.layers
            terms = float(np.abs(self._state.free.columns.row(row)) @ np.abs(self.free))
            terms += abs(self._motion.score[row])
            if abs(slope) > _RESIDUAL_FACTOR * residual + _SLOPE_ROUNDING * terms:
                return Breakpoint(length, variable, to)
            skipped.append(variable)

    def _residual_slope(self) -> float:
        """Return the largest slope of h of free variables, which is rounding."""
        free = self._state.free
        slope = self._target[free.variables] - self._motion.score[free.rows]
        slope -= self.bias[free.group]
        slope -= free.score_change(self.free, free.rows)
        return float(np.abs(slope).max(initial=0.0))

    def advance(self, length: float) -> None:
        """Move the state along the piece. Sets: data, beta, score, bias."""
        self._native.advance(length)
        self._state.bias += length * self.bias
        self._state.total += length * self._motion.rates.total
