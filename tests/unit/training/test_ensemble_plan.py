"""Plans of ensembles are values: equal if everything in them is."""

from __future__ import annotations

import dataclasses

import pytest

from widestreet._src.engines.multiplicative.engine import FixedRate, Projection
from widestreet._src.training.ensemble_plan import Plan

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
