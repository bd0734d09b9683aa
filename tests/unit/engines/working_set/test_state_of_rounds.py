"""The state of the working-set engine: what follows from its arrays."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from support.engine_states import engine_with


def test_the_capacity_is_at_most_the_number_of_rows():
    inputs = engine_with(10, 200).inputs
    assert inputs.capacity == 200
    assert replace(inputs, room=50).capacity == 50


def test_the_objective_is_that_of_the_expansion():
    state = engine_with(10, 200).state
    assert state.objective == 0.0
    state.linear, state.norm = 5.0, 4.0
    assert state.objective == 3.0


def test_the_bias_is_the_middle_of_its_interval():
    """At zero the indicators are the labels: rows of one class can only grow, others shrink."""
    state = engine_with(100, 200).state
    assert state.bias().tolist() == [0.0]
    work = state.work
    work.score[:100] = -1.0
    assert state.bias().tolist() == [1.0]
    work.lower[:, :100], work.upper[:, :100] = 0.0, 0.0  # no row can move: the last bias is kept
    assert state.bias().tolist() == state.expansion.bias.tolist()


def test_a_pass_takes_more_rounds_if_support_vectors_are_outside():
    state = engine_with(40, 200).state
    assert state.pass_rounds == 1.0
    ids = np.arange(100, 120)
    state.expansion = state.expansion.published(ids, np.ones(20), np.zeros(1), 1.0)
    assert state.pass_rounds == 1.0 + 4.0 * 20 / 40


def test_the_situation_describes_the_working_set():
    engine = engine_with(40, 200)
    found = engine.state.situation(engine.inputs)
    assert (found.rows, found.capacity, found.round) == (200, 200, 0)
    assert found.ids.tolist() == list(range(40))
    assert not found.support.any()
    assert found.newest.all()


def test_times_of_a_part_add_up(monkeypatch):
    monkeypatch.setattr("time.perf_counter", lambda: 10.0)
    state = engine_with(10, 200).state
    state.clock("solve", 7.0)
    state.clock("solve", 9.0)
    assert state.timings["solve"] == pytest.approx(4.0)


def test_a_record_is_kept_and_its_timings_end():
    engine = engine_with(10, 200)
    state = engine.state
    state.timings = {"solve": 1.5}
    state.pair_steps, state.violation, state.linear = 7, 0.25, 3.0
    record = state.recorded(engine.inputs, {"note": 1})
    assert state.trace[-1] is record
    assert state.timings == {}
    assert (record.round, record.working_set, record.pair_steps) == (1, 10, 7)
    assert (record.violation, record.dual_objective) == (0.25, 3.0)
    assert record.timings == {"solve": 1.5}
    assert record.notes == {"note": 1}
    assert state.recorded(engine.inputs, {}).round == 2
