"""Corrections of rounding errors at the end of a homotopy.

Variables that differ from a bound only by rounding are put on it. Free variables get h = 0 and
groups their sums. Biases that no free variable determines are put in the middle of their optimal
interval.
"""

from __future__ import annotations

import numpy as np

from widestreet._src.arrays import Floats, Ints
from widestreet._src.engines.homotopy.enter_and_exchange import leave
from widestreet._src.engines.homotopy.path_state import FREE, LOWER, UPPER, PathState

_RESIDUAL_GOAL = 1e-14  # of the largest target: a smaller h is rounding of the scores
_SUM_GOAL = 1e-15  # of sum |beta|: a smaller difference is rounding of the sums
_OVERSHOOT_TOLERANCE = 1e-9  # of a box: distance from a bound within which a variable is put on it


def correct(state: PathState) -> None:
    """Remove rounding errors from the variables and biases.

    Sets: beta, score, bias, free, bound_state.
    """
    snap_to_bounds(state)
    if solve_residuals(state):
        snap_to_bounds(state)  # the solution may be within rounding of other bounds
    np.clip(state.beta, state.lower, state.upper, out=state.beta)
    centre_biases(state)


def snap_to_bounds(state: PathState) -> None:
    """Put free variables on a bound if they differ from it only by rounding.

    Sets: beta, score, free, bound_state.
    """
    free = state.free.variables
    beta, tolerance = state.beta[free], state.bound_tolerance(free)
    low = beta <= state.lower[free] + tolerance
    high = ~low & (beta >= state.upper[free] - tolerance)
    _put_on_bound(state, free[low], LOWER)
    _put_on_bound(state, free[high], UPPER)


def solve_residuals(state: PathState) -> bool:
    """Solve for h = 0 of the free variables and for the sums; return whether anything changed.

    A variable that the solution moves out of its box is put on the bound if it is close to it.
    Sets: beta, score, bias, free, bound_state.
    """
    h_goal = _RESIDUAL_GOAL * state.largest_target()
    sum_goal = _SUM_GOAL * float(np.abs(state.beta).sum())
    changed = False
    while True:
        free = state.free.variables
        h = state.target[free] - state.score[state.free.rows] - state.bias[state.free.group]
        missing = state.total - state.sum_by_group(state.beta)
        if np.abs(h).max(initial=0.0) <= h_goal and np.abs(missing).max() <= sum_goal:
            return changed
        changed = True
        change, bias_change = state.free.solve(h, missing)
        beta, lower, upper = state.beta[free], state.lower[free], state.upper[free]
        below, above = beta + change < lower, beta + change > upper
        if not (below | above).any():
            state.move_free(1.0, change, bias_change)
            return True
        near = _OVERSHOOT_TOLERANCE * (upper - lower)
        below &= beta <= lower + near
        above &= beta >= upper - near
        if not (below | above).any():
            return True
        _put_on_bound(state, free[below], LOWER)
        _put_on_bound(state, free[above], UPPER)


def _put_on_bound(state: PathState, variables: Ints, bound_state: int) -> None:
    """Move free variables to a bound. Sets: beta, score, free, bound_state."""
    for variable in variables.tolist():
        column, before = state.column(variable), state.beta[variable]
        leave(state, variable, bound_state)
        state.score += (state.beta[variable] - before) * column


def centre_biases(state: PathState) -> None:
    """Put biases without a free variable in the middle of the values that are optimal.

    Then they equal those of a batch fit and do not depend on the path. Sets: bias.
    """
    determined = state.free.groups_present(state.groups)
    if not all(determined):
        state.bias = np.where(determined, state.bias, central_biases(state))


def central_biases(state: PathState) -> Floats:
    """Return the mean of target - score over the free variables of each group.

    Without a free variable it is the middle of the interval that the bound variables allow, or its
    only end, or zero.
    """
    indicator = state.target - np.repeat(state.score, state.layers)
    bias = np.zeros(state.groups)
    for g in range(state.groups):
        inside = (state.group == g) & (state.upper > state.lower)
        free = indicator[inside & (state.bound_state == FREE)]
        least = indicator[inside & (state.bound_state == LOWER)].max(initial=-np.inf)
        most = indicator[inside & (state.bound_state == UPPER)].min(initial=np.inf)
        ends = [end for end in (least, most) if np.isfinite(end)]
        bias[g] = free.mean() if len(free) else np.mean(ends) if ends else 0.0
    return bias
