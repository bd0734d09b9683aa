"""Scores of the working set against exact ones: when kernel values must be float64.

Scores that are off by much less than the violations at stake do no harm, so that early rounds are
float32 whatever comes later.
"""

from __future__ import annotations

import logging

import numpy as np

from widestreet._src.arrays import Floats
from widestreet._src.engines.working_set.state import Inputs, State
from widestreet._src.problems.goal import Goal
from widestreet._src.shards.shard_set import ShardSet

log = logging.getLogger("widestreet")

ROWS_COMPARED = 256  # rows whose scores are compared with exact ones in every round
NEWCOMERS_WORTH_A_CHECK = 0.02  # of the working set
_FLOAT64_ROWS = 2048  # problems up to this size are float64 throughout: it costs nothing there
_SCORE_ERROR = 0.1  # part of tol by which float32 scores may be off
_VIOLATION_TO_COME = 0.01  # of the violation: what float32 must resolve before the next look


def starts_in_float64(shards: ShardSet) -> bool:
    """Tell whether kernel values are float64 from the beginning."""
    return shards.rows <= _FLOAT64_ROWS or not shards.known.gram.fits_float32


def too_coarse(error: float, goal: Goal, violation: float = 0.0) -> bool:
    """Tell whether scores with this error cannot tell violators from other rows."""
    return error > _SCORE_ERROR * max(goal.tol, _VIOLATION_TO_COME * violation)


def few_came(state: State) -> bool:
    """Tell whether rows come a few at a time, and have not yet become many."""
    return 0 < state.newcomers < NEWCOMERS_WORTH_A_CHECK * state.work.size


def raise_precision(inputs: Inputs, state: State, error: float) -> None:
    """Compute kernel values in float64 from here on. Sets: the shards, the working set."""
    log.debug("scores were off by %.3g: kernel values in float64 from here", error)
    inputs.shards.use_double()
    state.work.use_double()


def check_float32(inputs: Inputs, state: State, violation: float) -> None:
    """Compare some scores with exact ones; change to float64 where they are too coarse.

    Sets: newcomers, and scores if the precision is raised.
    """
    work = state.work
    if few_came(state):
        return
    state.newcomers = 0
    if work.double:
        return
    sample = inputs.rng.choice(work.size, min(work.size, ROWS_COMPARED), replace=False)
    exact = inputs.shards.scores(work.ids[sample])
    error = float(np.abs(exact - work.score[sample]).max())
    if too_coarse(error, state.goal, violation):
        raise_precision(inputs, state, error)
        refresh_working_set(inputs, state)


def refresh_working_set(inputs: Inputs, state: State) -> float:
    """Compute exact scores of the working set; return the violation they show.

    Pair steps add up the rounding of float32 kernel values. Looking at the working set first
    costs little and saves a check of all rows that would fail. Sets: scores of the working set.
    """
    work = state.work
    exact = inputs.shards.scores(work.ids[work.present])
    take_over(inputs, state, exact)
    highest, lowest = work.extremes()
    return float(np.max(highest - lowest))


def take_over(inputs: Inputs, state: State, exact: Floats) -> None:
    """Put exact scores into the working set, in float64 from here on if they differ much.

    Sets: scores of the working set.
    """
    work = state.work
    error = float(np.abs(exact - work.score[work.present]).max())
    work.score[work.present] = exact
    if too_coarse(error, state.goal) and not work.double:
        raise_precision(inputs, state, error)
