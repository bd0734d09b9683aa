"""Rounds of the working-set engine in the memory of a device that holds all rows.

The host chooses the first working set and receives the last one. In between, each round

    1) solves the working set loosely,
    2) updates the scores of all rows by one scan of the coefficients that changed,
    3) keeps rows near the margin, and adds random violators: at most twice as many as it has rows,

until no row violates. This is the strategy `Auto` (selection/auto_doubling.py), except that the set
grows faster, and that support vectors at a bound leave it when they are far from violating: a scan
costs so little that all violators are known in every round. Every round has a record in the trace.

The scores of rows outside the working set have the errors of the scans that updated them. For the
last round all rows that are near to violating enter, and their scores are computed in float64. Then
coefficients change so little that the errors of these changes do not matter. The engine examines
the result as that of any other round, and computes all scores anew if it fails.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from math import sqrt

import numpy as np

from widestreet._src.device.contract import Census, Choice, Growing, Moved
from widestreet._src.engines.selection.strategy_protocol import Growth, Proposal
from widestreet._src.engines.working_set.on_device import (
    NEAR,
    Solve,
    put_back,
    solver,
    variables_of,
)
from widestreet._src.engines.working_set.state_of_rounds import Held, Inputs, State
from widestreet._src.problems.dual import join
from widestreet._src.problems.goal import Goal
from widestreet._src.shards.score_updates import everything
from widestreet._src.shards.shard import Candidates
from widestreet._src.shards.survey_order import Survey

log = logging.getLogger("widestreet")

_NEWCOMERS = 2  # violators that may enter for each row of the working set
_SUPPORT_SLACK = 4.0  # violations: support vectors farther away leave the working set
_NEAR_ROWS = 10.0  # of tol: in the last round, rows outside that are nearer to violating enter


def solve_and_grow(
    inputs: Inputs, state: State, proposal: Proposal, keep_time: Callable[[], None]
) -> None:
    """Solve the dual on a device, from the working set of the host on.

    `keep_time` is called before every round. An exception ends the solve early; the
    working set is consistent then. If the memory of the device is short, the solve is given up.
    Sets: the working set, before, survey, violation, steps, pair_steps, gave_up, held, trace.
    """
    begun, work = time.perf_counter(), state.work
    state.before = work.beta[:, work.present].copy(), work.score[work.present].copy()
    state.gave_up, state.steps, state.support = False, 0, work.size
    keep_time()
    inputs.budget.look_at_clock()
    held = None
    try:
        rows = _all_rows(inputs, state)
        rows.begin(work.ids[work.present], work.score[work.present])
        held = rows
        state.clock("solve", begun)
        solve = solver(inputs, state, held.work, proposal.inner_tol)
        assert proposal.growth is not None
        _grow(inputs, state, held, solve, proposal.growth, keep_time)
    except MemoryError as error:
        log.info("memory of the device is short, and the CPU solves the working set: %s", error)
        state.gave_up = True
    finally:
        begun = time.perf_counter()
        state.support, state.held = 0, None
        if held is not None:
            _take_over(inputs, state, held)
        state.clock("exchange", begun)


def _take_over(inputs: Inputs, state: State, held: Growing) -> None:
    """Receive what has changed on the device; if its memory is short, the solve is given up.

    Sets: the working set, held, gave_up.
    """
    try:
        moved = held.moved()
    except MemoryError as error:
        log.info("memory of the device is short, and the CPU solves the working set: %s", error)
        state.gave_up = True
        return
    _receive(inputs, state, moved)
    version = state.expansion.version + 1  # that of the publication to come
    state.held = Held(held, version, state.work.double)


def _all_rows(inputs: Inputs, state: State) -> Growing:
    """Return all rows on the device: those of the last solve if their scores are still right."""
    resident, last, double = inputs.resident, state.held, state.work.double
    assert resident is not None
    if last is not None and (last.version, last.double) == (state.expansion.version, double):
        return last.rows
    state.held = None
    [(dual, score), *others] = inputs.shards.ask_all(everything)
    if others:
        dual = join([dual, *(part for part, _ in others)])
        score = np.concatenate([score, *(part for _, part in others)])
    n, point, gone = inputs.shards.rows, state.point, state.released
    if len(gone.ids):  # the shards do not know yet that they left the working set
        score = score.copy()
        score[gone.ids] = gone.score
    coef = point.dense(n).sum(axis=0) if len(point) else np.broadcast_to(0.0, n)
    variables = variables_of(dual.target, dual.lower, dual.upper, coef, score)
    rows = resident.places(np.arange(n))
    work = resident.work(rows, variables, NEAR * state.goal.tol, double)
    return resident.device.growing(work)


def _grow(
    inputs: Inputs,
    state: State,
    held: Growing,
    solve: Solve,
    growth: Growth,
    keep_time: Callable[[], None],
) -> None:
    """Solve the working set and let it grow until no row violates, or progress ends.

    Sets: survey, violation, support, trace.
    """
    goal, most = state.goal, inputs.capacity
    while True:
        begun, before = time.perf_counter(), state.steps
        size = held.work.active
        solved = solve.run()
        state.clock("solve", begun)
        begun = time.perf_counter()
        census = held.census(goal.aim)
        _note(inputs, state, census, size)
        state.clock("survey", begun)
        moved, violation = state.steps > before, max(0.0, census.violation)
        done = not census.violators and (violation <= goal.within or not moved)
        if done or not solved:
            return
        inputs.observer(state.recorded_on_device(inputs, size, census))
        state.support += min(census.violators, _quota(growth, size, most))
        keep_time()
        inputs.budget.look_at_clock()
        average = census.excess / census.violators if census.violators else violation
        solve.tol = max(goal.within, growth.looseness * sqrt(average * violation))
        last = solve.tol <= goal.within
        held.choose(_choice(growth, goal, census, size, most, moved, last))
        if last:
            state.work.poll.kernel_values += held.refresh()


def _choice(
    growth: Growth, goal: Goal, census: Census, size: int, most: int, moved: bool, last: bool
) -> Choice:
    """Return the rule by which rows stay in the working set, or enter it."""
    near = _NEAR_ROWS * goal.tol if last else -goal.aim
    violation = max(0.0, census.violation) if moved else np.inf  # without a step no row leaves
    quota = _quota(growth, size, most)
    return Choice(
        slack=max(near, growth.keep_slack * violation),
        support_slack=max(near, _SUPPORT_SLACK * violation),
        tol=-near,
        chance=min(1.0, quota / max(1, census.violators)),
        most=most,
    )


def _quota(growth: Growth, size: int, most: int) -> int:
    """Return the number of violators that may enter a working set of this size."""
    return max(growth.first, min(_NEWCOMERS * size, most - size // 2))


def _note(inputs: Inputs, state: State, census: Census, size: int) -> None:
    """Keep the result of a census. Sets: survey, violation, support, kernel values."""
    nothing, rows = np.empty(0, dtype=np.int64), inputs.shards.rows
    state.work.poll.kernel_values += census.values
    state.work.poll.look()
    state.support, state.violation = census.support, max(0.0, census.violation)
    state.survey = Survey(
        ids=nothing,
        violation=np.empty(0),
        highest=np.array([census.highest]),
        lowest=np.array([census.lowest]),
        loss=census.loss,  # of all rows, until some are in the working set of the host
        scanned=rows - size,
        skipped=0,
        complete=True,
        found=census.violators,
        visited=rows,
    )


def _receive(inputs: Inputs, state: State, moved: Moved) -> None:
    """Make the rows that a device chose or changed the working set. Sets: work, before, survey."""
    work, ids = state.work, moved.slots
    _, variables = inputs.shards.fetch(ids)
    beta = state.point.at(ids)
    rows = Candidates(ids, variables, beta, moved.score_before)
    work.exchange(np.ones(work.size, dtype=bool), rows)
    state.before = beta, moved.score_before
    put_back(work, moved.coef, moved.score)
    if state.survey.complete:
        excess = work.indicator() - state.bias()[work.group[:, work.present]]
        lower, upper = work.lower[:, work.present], work.upper[:, work.present]
        inside = float(np.maximum(upper * excess, lower * excess).sum())
        state.survey = replace(state.survey, loss=max(0.0, state.survey.loss - inside))
