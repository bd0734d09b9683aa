"""Scores of the working set against exact ones: when kernel values must be float64.

Scores that are off by much less than the violations at stake do no harm, so that early rounds are
float32 whatever comes later. When errors matter, the scores are computed again in float64, and rows
bring such scores from then on; the tile stays float32. Changes of the coefficients get smaller from
round to round, and with them the errors that a float32 tile adds to exact scores. The tile becomes
float64 where one round makes the scores too coarse again, or where they are far off.
"""

from __future__ import annotations

import logging
from dataclasses import replace

import numpy as np

from widestreet._src.arrays import Floats, Ints
from widestreet._src.engines.working_set.state_of_rounds import Inputs, State
from widestreet._src.problems.goal import Goal
from widestreet._src.shards.shard import Candidates
from widestreet._src.shards.shard_set import ShardSet

log = logging.getLogger("widestreet")

ROWS_COMPARED = 256  # rows whose scores are compared with exact ones in a round
_FEW_COMPARED = 64  # of them, which suffice if their errors are far from what matters
_CLEARLY = 4.0  # times the largest error of these
NEWCOMERS_WORTH_A_CHECK = 0.02  # of the working set
_FLOAT64_ROWS = 2048  # problems up to this size are float64 throughout: it costs nothing there
_SCORE_ERROR = 0.1  # part of tol by which float32 scores may be off
_VIOLATION_TO_COME = 0.01  # of the violation: what float32 must resolve before the next look
_FAR_OFF = 16.0  # times the error allowed: exact scores would not last for a round
_SAFETY = 4.0  # times the error of a sample: twice that of two rows that were not in it
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
    """Compare some scores with exact ones; make all exact where they are too coarse.

    The errors of pair steps add up, so that the working set is too coarse first. Once its kernel
    values are float64, the errors left are those of surveys, which rows bring with them.
    Sets: newcomers; scores and exact_at if they were too coarse, and the tile where they were far
    off or exact in the round before.
    """
    work, shards = state.work, inputs.shards
    if few_came(state):
        return
    state.newcomers = 0
    if shards.news.double and work.double:
        return
    sample = inputs.rng.choice(work.size, min(work.size, ROWS_COMPARED), replace=False)
    at_stake = violation * (_FOUND_BY_SURVEYS if work.double else _VIOLATION_TO_COME)
    error = _largest_error(state, shards, sample[:_FEW_COMPARED])
    if not too_coarse(_CLEARLY * error, state.goal, at_stake):
        return
    error = max(error, _largest_error(state, shards, sample[_FEW_COMPARED:]))
    if not too_coarse(error, state.goal, at_stake):
        return
    if work.double:
        raise_precision(inputs, state, error)
    elif _again(state) or too_coarse(error / _FAR_OFF, state.goal, at_stake):
        log.debug("scores were off by %.3g: kernel values of the working set in float64", error)
        work.use_double()
    _set_exact(state, shards.scores(work.ids[work.present]))


def _largest_error(state: State, shards: ShardSet, slots: Ints) -> float:
    """Return the largest difference of the scores of some slots from exact ones."""
    work = state.work
    exact = shards.scores(work.ids[slots])
    return float(np.abs(exact - work.score[slots]).max(initial=0.0))


def _again(state: State) -> bool:
    """Tell whether coarse scores were exact a round ago: then it is the tile that is too coarse.

    A device has no tile; its kernel values are float64 at once.
    """
    return not state.work.stored or len(state.trace) - state.exact_at <= 1


def exact_newcomers(inputs: Inputs, state: State, rows: Candidates) -> Candidates:
    """Return rows that enter the working set, with float64 scores if its own are exact.

    Surveys are float64 from here on where their scores differ much. A few rows do not decide that,
    unless there is no check.
    """
    shards = inputs.shards
    if state.exact_at < 0 or shards.news.double:
        return rows
    exact = shards.scores(rows.ids)
    error = float(np.abs(exact - rows.score).max())
    decide = inputs.check is None or not few_came(state)
    if decide and too_coarse(error, state.goal, _FOUND_BY_SURVEYS * state.violation):
        log.debug("surveys were off by %.3g: their kernel values in float64 from here", error)
        shards.use_double()
    return replace(rows, score=exact)


def exact_violation(inputs: Inputs, state: State) -> float:
    """Return the violation of the working set by exact scores.

    Pair steps add up the rounding of float32 kernel values. Looking at the working set first
    costs little and saves a check of all rows that would fail. The scores of the rows nearest to
    violating show how far they are off; where that decides, all of them are computed.
    Sets: scores of the working set, unless they are as good as exact.
    """
    work = state.work
    slack = work.slack(state.expansion.bias)
    some = min(ROWS_COMPARED, len(slack))
    nearest = np.argpartition(slack, some - 1)[:some]
    exact = inputs.shards.scores(work.ids[nearest])
    error = float(np.abs(exact - work.score[nearest]).max())
    highest, lowest = work.extremes()
    violation = float(np.max(highest - lowest))
    if state.goal.met(violation + _SAFETY * error):
        return violation
    return refresh_working_set(inputs, state)


def refresh_working_set(inputs: Inputs, state: State) -> float:
    """Compute exact scores of the working set; return the violation they show.

    Sets: scores of the working set.
    """
    work = state.work
    take_over(inputs, state, inputs.shards.scores(work.ids[work.present]))
    highest, lowest = work.extremes()
    return float(np.max(highest - lowest))


def take_over(inputs: Inputs, state: State, exact: Floats) -> None:
    """Put exact scores into the working set.

    Kernel values are float64 from here on if scores that were exact a round ago differ much.
    Sets: scores of the working set, exact_at.
    """
    work = state.work
    error = float(np.abs(exact - work.score[work.present]).max(initial=0.0))
    float64 = inputs.shards.news.double and work.double
    if not float64 and too_coarse(error, state.goal) and _again(state):
        raise_precision(inputs, state, error)
    _set_exact(state, exact)


def _set_exact(state: State, exact: Floats) -> None:
    """Put exact scores into the working set. Sets: its scores; exact_at, if there is a tile."""
    state.work.score[state.work.present] = exact
    if state.work.stored:
        state.exact_at = len(state.trace)
