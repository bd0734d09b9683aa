"""The dual restricted to the working set: pair steps, and Newton steps when they get slow."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from widestreet._src.engines.working_set.newton import polish, settle_sum
from widestreet._src.engines.working_set.newton_schedule import FEW_FREE
from widestreet._src.engines.working_set.state_of_rounds import Inputs, State
from widestreet._src.engines.working_set.switch_to_float64 import few_came
from widestreet._src.kernels.kernels import Linear

_SMALLEST_BLOCK = 2048  # rows up to which a working set is one block of pair steps
_LARGEST_BLOCK = 0.75  # of a larger working set
_STEPS_AFTER_NEWTON = 500  # pair steps on all rows of the set after a Newton step: often enough
_MOST_STEPS, _MOST_STEPS_PER_ROW = 10_000_000, 100  # of a round, before the point is examined
_IDLE_CALLS = 8  # calls without progress after which a solve ends


def solve_subproblem(
    inputs: Inputs, state: State, tol: float, keep_time: Callable[[], None]
) -> None:
    """Take pair steps to `tol`, with Newton steps when they get slow.

    `keep_time` is called before every native call.
    Sets: beta and score of the working set; before, steps, pair_steps, gave_up.
    """
    work, budget, schedule = state.work, inputs.budget, state.schedule
    state.before = work.beta[:, work.present].copy(), work.score[work.present].copy()
    violation, best, idle, taken, state.gave_up = np.inf, np.inf, 0, 0, False
    direct = 0
    block = max(_SMALLEST_BLOCK, int(_LARGEST_BLOCK * work.size))
    schedule.begin()
    while violation > tol:
        keep_time()
        budget.look_at_clock()
        steps = min(budget.steps_left, schedule.allowance(work, tol))
        point = work.beta[:, work.present].copy()
        violation, steps = work.solve(tol, steps, block, direct)
        direct = max(0, direct - steps)
        taken += steps
        state.pair_steps += steps
        budget.spend(steps, finished=violation <= tol)
        if np.array_equal(work.beta[:, work.present], point):
            break  # no step, or steps that float64 cannot tell from none
        schedule.spend(steps)
        idle = 0 if violation < 0.9 * best else idle + 1
        best = min(best, violation)
        state.gave_up = taken > max(_MOST_STEPS, _MOST_STEPS_PER_ROW * work.size)
        if idle >= _IDLE_CALLS or state.gave_up:
            break
        if violation > tol and schedule.due:
            schedule.newton(work, tol, violation)
            direct = _STEPS_AFTER_NEWTON
    state.steps = taken
    final = tol <= state.goal.within and not few_came(state)
    if final and work.free().sum() <= FEW_FREE:
        polish(work)  # costs next to nothing and leaves the free variables exact
    if isinstance(inputs.shards.kernel, Linear):
        outside = ~np.isin(state.point.ids, work.ids[work.present])
        settle_sum(work, state.point.coef[outside], float(inputs.shards.form.total.sum()))
