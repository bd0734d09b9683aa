"""When kernel values become float64: where float32 scores hide the violations at stake."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from support.engine_states import engine_with
from widestreet._src.engines.working_set import switch_to_float64
from widestreet._src.kernels.kernels import Callable
from widestreet._src.problems.goal import Goal

pytestmark = pytest.mark.numeric


def test_scores_may_be_off_by_a_tenth_of_what_is_at_stake():
    goal = Goal(1e-3)
    assert not switch_to_float64.too_coarse(0.99e-4, goal)
    assert switch_to_float64.too_coarse(1.01e-4, goal)
    assert not switch_to_float64.too_coarse(1.01e-4, goal, violation=1e-2)
    assert switch_to_float64.too_coarse(1.01e-3, goal, violation=1e-2)


def test_small_problems_and_kernels_of_any_size_begin_in_float64():
    assert switch_to_float64.starts_in_float64(engine_with(10, 2000).inputs.shards)
    assert not switch_to_float64.starts_in_float64(engine_with(10, 2100).inputs.shards)
    kernel = Callable(lambda A, B: A @ B.T)
    assert switch_to_float64.starts_in_float64(engine_with(10, 2100, kernel=kernel).inputs.shards)


def test_coarse_scores_are_put_right_and_the_tile_is_float64_if_that_does_not_last():
    engine = engine_with(300)
    inputs, state = engine.inputs, engine.state
    for double in (False, True):
        state.work.score[:300] += 0.002  # twice as much as a violation of 1 allows
        switch_to_float64.check_float32(inputs, state, 1.0)
        assert np.array_equal(state.work.score[:300], np.zeros(300))  # of the zero expansion
        assert state.work.double is double


@pytest.mark.parametrize(
    ("error", "asked"), [(1e-4, [64]), (5e-4, [64, 192]), (2e-3, [64, 192, 300])]
)
def test_more_rows_are_compared_where_a_few_are_nearly_too_coarse(error, asked):
    engine = engine_with(300)
    inputs, state = engine.inputs, engine.state
    state.work.score[:300] += error  # of which 1e-3 is allowed
    counts = []
    scores = inputs.shards.scores
    inputs.shards.scores = lambda ids: counts.append(len(ids)) or scores(ids)
    switch_to_float64.check_float32(inputs, state, 1.0)
    assert counts == asked


def test_rows_bring_exact_scores_once_those_of_the_set_are_exact():
    engine = engine_with(300)
    inputs, state = engine.inputs, engine.state
    state.violation = 1.0
    rows = inputs.shards.take(np.arange(300, 400))
    coarse = replace(rows, score=np.full(100, 0.009))
    kept = switch_to_float64.exact_newcomers(inputs, state, coarse)
    assert np.array_equal(kept.score, coarse.score)
    switch_to_float64.refresh_working_set(inputs, state)
    exact = switch_to_float64.exact_newcomers(inputs, state, coarse)
    assert np.array_equal(exact.score, np.zeros(100))
    assert not inputs.shards.news.double
    worse = replace(rows, score=np.full(100, 0.011))
    exact = switch_to_float64.exact_newcomers(inputs, state, worse)
    assert np.array_equal(exact.score, np.zeros(100))
    assert inputs.shards.news.double


def test_scores_nearest_to_violating_are_compared_before_all_are_computed():
    engine = engine_with(300)
    inputs, state = engine.inputs, engine.state
    state.goal = Goal(10.0)  # met by the zero expansion
    asked = []
    scores = inputs.shards.scores
    inputs.shards.scores = lambda ids: asked.append(len(ids)) or scores(ids)
    violation = switch_to_float64.exact_violation(inputs, state)
    highest, lowest = state.work.extremes()
    assert violation == np.max(highest - lowest)
    assert asked == [switch_to_float64.ROWS_COMPARED]
    state.work.score[:300] += 3.0
    switch_to_float64.exact_violation(inputs, state)
    assert asked[1:] == [switch_to_float64.ROWS_COMPARED, 300]
    assert np.array_equal(state.work.score[:300], np.zeros(300))


def test_wrong_scores_raise_the_precision_and_are_put_right():
    engine = engine_with(300)
    inputs, state = engine.inputs, engine.state
    switch_to_float64.check_float32(inputs, state, 1.0)
    assert not state.work.double
    assert state.newcomers == 0
    state.work.score[:300] += 1.0
    switch_to_float64.check_float32(inputs, state, 1.0)
    assert state.work.double
    assert not inputs.shards.news.double
    assert np.array_equal(state.work.score[:300], np.zeros(300))  # of the zero expansion


@pytest.mark.parametrize(("error", "double"), [(0.009, False), (0.011, True)])
def test_surveys_are_float64_once_their_scores_hide_a_tenth_of_the_violation(error, double):
    engine = engine_with(300)
    inputs, state = engine.inputs, engine.state
    state.work.use_double()
    state.work.score[:300] += error
    switch_to_float64.check_float32(inputs, state, 1.0)
    assert inputs.shards.news.double is double
    assert np.array_equal(state.work.score[:300], np.full(300, 0.0 if double else error))


def test_a_few_newcomers_are_not_worth_a_look():
    engine = engine_with(300)
    engine.state.newcomers = 2
    engine.state.work.score[:300] += 1.0
    assert switch_to_float64.few_came(engine.state)
    switch_to_float64.check_float32(engine.inputs, engine.state, 1.0)
    assert not engine.state.work.double
    assert engine.state.newcomers == 2
