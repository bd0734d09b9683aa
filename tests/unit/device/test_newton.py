"""Newton steps: the optimum of a working set whose variables stay inside, or reach their bounds."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from unit.device.test_working import Problem
from widestreet._src.device.contract import Map


@pytest.mark.parametrize("tube", [0.0, 0.4])
def test_steps_without_a_ridge_reach_the_optimum(tube, rng):
    problem = Problem(rng, Map("rbf", 2.0), tube)
    problem.steps(1e-2, 200)
    before = problem.checked()
    for _ in range(4):
        look = problem.work.newton(1e-9, 8)
    assert look.steps >= 1
    assert look.violation < TOL.violation
    assert problem.checked() > before


def test_only_rows_that_take_part_move(rng):
    problem = Problem(rng, Map("rbf", 0.7), 0.0)
    problem.steps(1e-3, 8)
    before = problem.work.result()[0].copy()
    kind = problem.work.standing.kind.cpu().numpy()
    problem.work.newton(0.03, 2)
    after, _ = problem.work.result()
    assert (before != after).any()
    np.testing.assert_array_equal(before[kind == 0], after[kind == 0])
