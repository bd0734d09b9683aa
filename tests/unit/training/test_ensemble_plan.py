"""Plans of ensembles are values: equal if everything in them is."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from widestreet._src.certificate import Certificate
from widestreet._src.engines.multiplicative.exponentiated_gradient import FixedRate, Projection
from widestreet._src.engines.solution import Solution, Trace
from widestreet._src.shards.point import Point
from widestreet._src.status import Status
from widestreet._src.training.ensemble_plan import Plan, Result
from widestreet._src.training.trained import Trained

PLAN = Plan(
    pace=Projection(),
    aggregate="ensemble",
    rank=None,
    intercept=True,
    prune=0.0,
    part=0.01,
    memory=1 << 30,
    keep=False,
    folds=5,
)


@pytest.mark.parametrize(
    "change",
    [{"pace": FixedRate(2.0)}, {"aggregate": "last"}, {"rank": 100}, {"folds": 0}],
    ids=str,
)
def test_plans_are_compared_by_what_they_say(change):
    assert dataclasses.replace(PLAN) == PLAN
    assert dataclasses.replace(PLAN, **change) != PLAN
    with pytest.raises(dataclasses.FrozenInstanceError):
        PLAN.folds = 3


def result(steps: int, rows: int) -> Result:
    certificate = Certificate(1.0, 0.5, 0.5, 0.5, 0.1, Status.TIME_LIMIT, rows, 1e-3)
    solution = Solution(Point.zero(1), rows, np.zeros(1), 0.5, Status.TIME_LIMIT, Trace(), 0, 0)
    return Result(Trained(solution, np.zeros(1), certificate), np.zeros((0, 1)), steps, 1, 0.0, 0.0)


def test_a_pair_that_started_again_replaces_the_first_result_if_it_came_as_far():
    assert result(5, 10).replaces(result(3, 10))
    assert result(5, 10).replaces(result(5, 0))
    assert not result(2, 10).replaces(result(3, 10))
    assert not result(5, 0).replaces(result(3, 10))
