"""Goals: one place says when a solve is done."""

from __future__ import annotations

import numpy as np
import pytest

from widestreet._src.problems.goal import MARGIN, Goal


def test_a_violation_of_tol_is_met():
    goal = Goal(1e-3)
    assert goal.met(0.0)
    assert goal.met(1e-3)
    assert not goal.met(np.nextafter(1e-3, 1.0))
    assert not goal.met(np.nan)
    assert goal.met(0.0, gap=1e9)  # which was not asked for


def test_a_gap_is_relative_to_the_objective_or_to_the_totals():
    goal = Goal(1e-3, gap_tol=1e-2)
    assert goal.met(0.0, gap=0.05, scale=5.0)
    assert not goal.met(0.0, gap=0.0501, scale=5.0)
    assert goal.met(0.0, gap=0.002, scale=0.0, mass=2.0)
    assert not goal.met(0.0, gap=0.003, scale=0.0, mass=2.0)
    assert not goal.met(0.0, gap=np.nan, scale=1.0)
    assert not goal.met(2e-3, gap=0.0, scale=1.0)


def test_a_solve_aims_at_less_than_it_must_reach():
    assert Goal(2.0).aim == pytest.approx(MARGIN * 2.0)
    assert 2 * MARGIN < 1  # on either side of the bias
    assert Goal(2.0).aim < Goal(2.0).within < 2.0


def test_goals_only_get_tighter():
    goal = Goal(1e-3, 1e-2)
    assert goal.tightened(1e-4) == Goal(1e-4, 1e-2)
    assert goal.tightened(1.0) == goal


def test_a_goal_without_gap_keeps_the_violation() -> None:
    goal = Goal(1e-3, 1e-2).without_gap()
    assert goal.met(1e-3, gap=1e9, scale=1.0)
    assert not goal.met(2e-3)
