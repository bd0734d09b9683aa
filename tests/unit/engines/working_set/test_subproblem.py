"""The dual of a working set is solved to the tolerance asked for, within what may be spent."""

from __future__ import annotations

import numpy as np
import pytest

from support.engine_states import engine_with
from widestreet._src.engines.budget import Budget, OutOfBudget
from widestreet._src.engines.working_set.subproblem import solve_subproblem

pytestmark = pytest.mark.numeric


@pytest.mark.parametrize("tol", [1e-1, 1e-3])
def test_the_working_set_is_solved(tol):
    engine, calls = engine_with(400), []
    work = engine.state.work
    solve_subproblem(engine.inputs, engine.state, tol, lambda: calls.append(None))
    highest, lowest = work.extremes()
    assert float((highest - lowest).max()) <= tol
    assert calls
    assert engine.state.steps == engine.state.pair_steps > 0
    assert not engine.state.gave_up
    assert engine.state.before is not None
    beta, score = engine.state.before
    assert not beta.any()
    assert not score.any()
    assert abs(work.beta[:, :400].sum()) <= 1e-9 * np.abs(work.beta).sum()
    solve_subproblem(engine.inputs, engine.state, tol, lambda: None)
    assert engine.state.steps == 0  # there is nothing left to do


def test_steps_that_are_spent_end_it_where_it_is():
    engine = engine_with(400, budget=Budget(max_steps=5))
    with pytest.raises(OutOfBudget):
        solve_subproblem(engine.inputs, engine.state, 1e-3, lambda: None)
    assert engine.state.pair_steps == 5
    assert engine.state.work.beta.any()
    assert engine.state.before is not None  # whoever publishes it knows where it began


def test_steps_that_change_nothing_end_it(monkeypatch):
    """As steps do that are smaller than the rounding of the variables."""
    engine, calls = engine_with(400), []
    steps = lambda *limits: calls.append(limits) or (1.0, 1000)  # noqa: E731
    monkeypatch.setattr(engine.state.work, "solve", steps)
    solve_subproblem(engine.inputs, engine.state, 1e-3, lambda: None)
    assert len(calls) == 1
    assert engine.state.steps == 1000
