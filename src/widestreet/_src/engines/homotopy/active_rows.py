"""The rows that a homotopy evaluates in every step.

A step needs h only of variables that may reach h = 0 soon, which are few of thousands of bound
variables. A homotopy evaluates all rows periodically. From h and its slope dh it predicts which
rows matter until the next full scan: those of free variables, those whose data move, and those of
the m bound variables of least

    |h| / (|dh| + mean |dh|)

(the mean, because slopes change at breakpoints). The scores of all other rows are not updated until
the next full scan, at the latest at the end, where one product updates them. A variable that then
violates its condition was missed. The point is optimal for other targets that satisfy its
condition, and a second homotopy leads from these to the true targets.
"""

from __future__ import annotations

import numpy as np

from widestreet._src.arrays import Bools, Floats, Ints
from widestreet._src.engines.homotopy.path_state import PathState

_ACTIVE_BOUND_VARIABLES = 128  # m: their product costs less than the rest of a step
_WIDENING_FACTOR = 4  # of m, for the homotopy that follows one that has missed variables
_STEPS_BETWEEN_SCANS = 50  # the prediction gets worse with every breakpoint
_KERNEL_VALUES_WORTH_RESTRICTING = 300_000  # n |S|: below it one product takes microseconds
_SMALLEST_SLOPE = 1e-100  # avoids 0 / 0 if no h changes


class ActiveRows:
    """Choice of active rows, and update of the scores of all others.

    Parameters
    ----------
    moving : ndarray of bool
        Rows whose data move.
    limit : int or None
        Number of bound variables to keep active; None for the default, 0 for all.
    """

    def __init__(self, moving: Bools, limit: int | None) -> None:
        self.limit = _ACTIVE_BOUND_VARIABLES if limit is None else limit
        self._moving = moving
        self._possible = self.limit > 0 and int(np.count_nonzero(moving)) <= self.limit
        self._steps = 0  # since rows were restricted

    @property
    def wider_limit(self) -> int:
        """Limit to use after variables were missed."""
        return _WIDENING_FACTOR * self.limit

    def is_stale(self, state: PathState) -> bool:
        """Count a step and return whether a full scan is due."""
        self._steps += 1
        return self._steps > _STEPS_BETWEEN_SCANS and not state.all_active

    def worthwhile(self, state: PathState) -> bool:
        """Return whether restricting the rows saves time."""
        return self._possible and state.rows * len(state.free) >= _KERNEL_VALUES_WORTH_RESTRICTING

    def restrict(self, state: PathState, slope: Floats, variable: int) -> Ints | slice:
        """Return the rows to evaluate from here on.

        Parameters
        ----------
        state : PathState
            State in which all rows are active.
        slope : ndarray
            Slope of h of every variable.
        variable : int
            Variable that will change its bound state.
        """
        movable = state.upper > state.lower
        movable[state.free.variables] = False
        bound = np.flatnonzero(movable)
        if len(bound) <= self.limit:
            return state.active
        rate = np.abs(slope[bound])
        rate += max(float(rate.mean()), _SMALLEST_SLOPE)
        distance = np.abs(state.slack()[bound]) / rate
        nearest = bound[np.argpartition(distance, self.limit)[: self.limit]]
        active = self._moving.copy()
        active[nearest // state.layers] = True
        active[state.free.rows] = True
        active[variable // state.layers] = True
        self._score, self._beta = state.score.copy(), state.beta.copy()
        self._steps = 0
        return np.flatnonzero(active)

    def restore(self, state: PathState) -> tuple[Floats, Bools]:
        """Return the scores of all rows, and which variables were not active."""
        free = state.free.variables
        change = state.beta - self._beta
        score = self._score + state.free.score_change(change[free])
        change[free] = 0.0
        score += state.product(state.sum_by_row(change))
        inactive = np.ones((state.rows, state.layers), dtype=bool)
        inactive[state.active] = False
        return score, inactive.ravel()
