"""Variables that enter and leave the free set.

A variable that enters may depend on the free ones and add no curvature, for example with a repeated
row or a kernel of low rank. Then it is exchanged: it moves inward along the direction in which no
score changes, until it or a free variable reaches a bound.
"""

from __future__ import annotations

import numpy as np

from widestreet._src.arrays import Floats, Ints
from widestreet._src.engines.homotopy.path_state import (
    FREE,
    LOWER,
    NEGLIGIBLE_RATE,
    UPPER,
    PathState,
)


def leave(state: PathState, variable: int, bound_state: int) -> None:
    """Put a free variable on a bound. Sets: free, bound_state, beta."""
    state.free.remove(state.free.index(variable))
    state.bound_state[variable] = bound_state
    state.beta[variable] = state.bound(bound_state)[variable]


def enter(state: PathState, variable: int) -> list[int]:
    """Make a variable at a bound free, by exchanges if it depends on the free ones.

    Returns
    -------
    changed : list of int
        Variables whose bound state may have changed.

    Sets: everything but the data.
    """
    column = state.column(variable)
    state.counts.entered += 1
    changed: list[int] = []
    while not _append(state, variable, column):
        state.counts.exchanges += 1
        changed.append(_exchange(state, variable, column))
        if changed[-1] == variable:
            return changed
    return [*changed, variable]


def enter_all(state: PathState, variables: Ints) -> None:
    """Make variables inside their boxes free. Sets: everything but the data."""
    if len(variables) == 0:
        return
    rows = variables // state.layers
    K = np.ascontiguousarray(state.kernel.block(rows, None).T)
    if state.free.replace(variables, state.group[variables], K):
        state.bound_state[variables] = FREE
        return
    for variable in variables.tolist():
        enter(state, variable)


def _append(state: PathState, variable: int, column: Floats) -> bool:
    """Make a variable free unless it depends on the free ones. Sets: free, bound_state."""
    own = float(state.diagonal[variable // state.layers])
    if not state.free.append(variable, int(state.group[variable]), own, column):
        return False
    state.bound_state[variable] = FREE
    return True


def _exchange(state: PathState, variable: int, column: Floats) -> int:
    """Move a variable inward in exchange for free ones; return the one that reached a bound.

    Sets: beta, score, bias, and free and bound_state of that one.
    """
    free = state.free.variables
    sums = np.zeros(state.groups)
    sums[state.group[variable]] = -1.0
    sign = 1.0 if state.bound_state[variable] == LOWER else -1.0
    rate, bias_rate = state.free.solve(-sign * column[state.free.rows], sign * sums)
    negligible = NEGLIGIBLE_RATE * max(1.0, float(np.abs(rate).max(initial=0.0)))
    up, down = rate > negligible, rate < -negligible
    room = np.full(len(rate), np.inf)
    room[up] = (state.upper[free] - state.beta[free])[up] / rate[up]
    room[down] = (state.beta[free] - state.lower[free])[down] / -rate[down]
    opposite = UPPER if sign > 0 else LOWER
    end = state.bound(opposite)[variable]
    own_room = abs(float(end - state.beta[variable]))
    at = int(np.argmin(room)) if len(room) else -1
    passes_through = at < 0 or room[at] >= own_room
    step = max(0.0, own_room if passes_through else float(room[at]))
    state.move_free(step, rate, bias_rate)
    state.score += sign * step * column  # cancels the change by the free ones, up to rounding
    state.beta[variable] += sign * step
    if passes_through:
        state.bound_state[variable], state.beta[variable] = opposite, end
        return variable
    gone = int(free[at])
    leave(state, gone, UPPER if rate[at] > 0 else LOWER)
    return gone
