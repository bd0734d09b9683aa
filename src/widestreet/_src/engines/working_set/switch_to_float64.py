"""Scores of the working set against exact ones: when kernel values must be float64.

Scores that are off by much less than the violations at stake do no harm, so that early rounds are
float32 whatever comes later.
"""

from __future__ import annotations

import logging

import numpy as np

from widestreet._src.arrays import Floats
from widestreet._src.engines.working_set.state_of_rounds import Inputs, State
from widestreet._src.problems.goal import Goal
from widestreet._src.shards.shard_set import ShardSet

log = logging.getLogger("widestreet")

ROWS_COMPARED = 256  # rows whose scores are compared with exact ones in every round
NEWCOMERS_WORTH_A_CHECK = 0.02  # of the working set
_FLOAT64_ROWS = 2048  # problems up to this size are float64 throughout: it costs nothing there
_SCORE_ERROR = 0.1  # part of tol by which float32 scores may be off
_VIOLATION_TO_COME = 0.01  # of the violation: what float32 must resolve before the next look
_FOUND_BY_SURVEYS = 0.1  # of the violation: what surveys must resolve, to find the worst rows


def starts_in_float64(shards: ShardSet) -> bool:
    """Tell whether kernel values are float64 from the beginning."""
    return shards.rows <= _FLOAT64_ROWS or not shards.known.gram.fits_float32


def too_coarse(error: float, goal: Goal, violation: float = 0.0) -> bool:
    """Tell whether scores with this error cannot tell rows that violate so much from others."""
    return error > _SCORE_ERROR * max(goal.tol, violation)


def few_came(state: State) -> bool:
    """Tell whether rows come a few at a time, and have not yet become many."""
    return 0 < state.newcomers < NEWCOMERS_WORTH_A_CHECK * state.work.size


def raise_precision(inputs: Inputs, state: State, error: float) -> None:
    """Compute kernel values in float64 from here on. Sets: the shards, the working set."""
    log.debug("scores were off by %.3g: kernel values in float64 from here", error)
    inputs.shards.use_double()
    if not state.work.double:
        state.work.use_double()


def check_float32(inputs: Inputs, state: State, violation: float) -> None:
    """Compare some scores with exact ones; change to float64 where they are too coarse.

    The errors of pair steps add up, so that the working set is too coarse first. Once its kernel
    values are float64, the errors left are those of surveys, which rows bring with them.
    Sets: newcomers, and scores if the precision is raised.
    """
    work, shards = state.work, inputs.shards
    if few_came(state):
        return
    state.newcomers = 0
    if shards.news.double:
        return
    sample = inputs.rng.choice(work.size, min(work.size, ROWS_COMPARED), replace=False)
    exact = shards.scores(work.ids[sample])
    error = float(np.abs(exact - work.score[sample]).max())
    at_stake = _FOUND_BY_SURVEYS if work.double else _VIOLATION_TO_COME
    if not too_coarse(error, state.goal, at_stake * violation):
        return
    if work.double:
        raise_precision(inputs, state, error)
    else:
        log.debug("scores were off by %.3g: kernel values of the working set in float64", error)
        work.use_double()
    work.score[work.present] = shards.scores(work.ids[work.present])


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
    if too_coarse(error, state.goal) and not inputs.shards.news.double:
        raise_precision(inputs, state, error)
