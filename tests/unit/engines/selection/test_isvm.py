"""iSVM as published, step by step against its literal version, and what its trace says."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby, pairwise
from typing import Any

import numpy as np
import pytest

from reference import isvm
from support.sampled_problems import (
    KERNELS,
    MODELS,
    SLIGHT,
    Case,
    Look,
    assert_same_function,
    case,
    watch,
)
from widestreet.strategies import ISVM

pytestmark = pytest.mark.numeric

SMALL = {"sample_size": 8, "stage_one_size": 20, "scan_fraction": 1.0, "block": 1}


def literal(problem: Case, seed: int, **parameters: Any) -> list[isvm.Step]:
    rng = np.random.default_rng(seed)
    return isvm.isvm(problem.K, problem.reference, rng, SLIGHT, **SMALL | parameters)


def published(**parameters: Any) -> ISVM:
    return ISVM(**SMALL | parameters, until_certified=False)


@dataclass
class Step:
    """Rounds that looked at different rows with the same solution."""

    W: list[int]
    support: list[int]
    sample: list[int] = field(default_factory=list)
    passed: list[int] = field(default_factory=list)
    violators: list[int] = field(default_factory=list)
    ended: str = ""


def steps_of(looks: list[Look]) -> list[Step]:
    steps = []
    for W, rounds in groupby(looks, key=lambda look: look.W):
        step = Step(W, [])
        for look in rounds:
            seen = look.asked[: look.visited]
            (step.sample if look.notes["stage"] == 1 else step.passed).extend(seen)
            step.support, step.violators = look.support, step.violators + look.violators
            step.ended += look.notes.get("ended", "")
        steps.append(step)
    return steps


def assert_same_steps(problem: Case, seed: int, **parameters: Any) -> list[isvm.Step]:
    expected = literal(problem, seed, **parameters)
    looks, solved = watch(problem, published(**parameters), seed)
    for one, other in zip(steps_of(looks), expected, strict=True):
        assert sorted(other.W) == one.W
        assert one.support == other.point.support.tolist()
        assert one.sample == other.sample
        assert one.passed == other.passed
        assert one.violators == other.violators
        assert one.ended == other.ended
    assert solved.solution.status == "approximate"
    assert_same_function(problem, solved, expected[-1].point)
    return expected


# -- step by step ------------------------------------------------------------------------------


@pytest.mark.parametrize("block", [1, 5])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("model", MODELS)
def test_every_step_is_the_one_of_the_paper(model, kernel, block):
    assert_same_steps(case(model, kernel), 0, block=block)


@pytest.mark.parametrize("fraction", [0.0, 0.1, 0.4, 1.0])
@pytest.mark.parametrize("block", [1, 5, 1000])
@pytest.mark.parametrize("model", MODELS)
def test_the_pass_ends_where_it_should(model, block, fraction):
    problem = case(model)
    steps = assert_same_steps(problem, 4, block=block, scan_fraction=fraction)
    assert sum(len(step.passed) for step in steps) == fraction * len(problem.K)


@pytest.mark.parametrize(
    ("ended", "parameters"),
    [
        ("sample", {"sample_size": 1, "stage_one_size": 80}),
        ("size", {"sample_size": 8, "stage_one_size": 5}),
        ("average", {"sample_size": 20, "stage_one_size": 80}),
        ("average", {"sample_size": 1000, "stage_one_size": 80}),
    ],
)
@pytest.mark.parametrize("model", MODELS)
def test_each_end_of_stage_one(model, ended, parameters):
    steps = assert_same_steps(case(model), 0, **parameters)
    assert ended in [step.ended for step in steps]


@pytest.mark.parametrize(("model", "block"), [("c_svc", 1), ("eps_svr", 30)])
def test_a_pass_over_more_rows_than_are_evaluated_at_once(model, block):
    assert_same_steps(case(model, n=400), 0, sample_size=50, stage_one_size=60, block=block)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("block", [1, 5])
@pytest.mark.parametrize("model", MODELS)
def test_every_step_where_all_support_vectors_are_at_a_bound(model, block, seed):
    """The bias has an interval to itself: many newcomers change nothing, and leave again."""
    steps = assert_same_steps(case(model, penalty=0.01, seed=seed), seed, block=block)
    idle = [np.array_equal(a.point.beta, b.point.beta) for a, b in pairwise(steps)]
    if (model, block) == ("eps_svr", 1):
        assert sum(idle) > 5


# -- what the trace says -----------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS)
def test_the_trace_tells_stages_and_rows(model):
    problem = case(model)
    looks, solved = watch(problem, published(stage_one_size=5), 1)
    steps, trace = literal(problem, 1, stage_one_size=5), solved.solution.trace
    assert [record.notes for record in trace] == [look.notes for look in looks]
    assert [record.working_set for record in trace] == [len(look.W) for look in looks]
    assert [record.n_sv for record in trace] == [len(look.support) for look in looks]
    assert [record.violators for record in trace] == [len(look.violators) for look in looks]
    drawn = sum(len(step.sample) for step in steps)
    assert trace[-1].notes["examined"] == drawn + len(problem.K)
    stages = [record.notes["stage"] for record in trace]
    assert stages == sorted(stages)
    assert [record.notes["ended"] for record in trace if "ended" in record.notes] == ["size"]


def test_notes_are_columns_of_the_frame():
    looks, solved = watch(case("c_svc"), published(), 1)
    frame = solved.solution.trace.to_frame()
    assert "notes" not in frame
    assert frame["stage"].tolist() == [look.notes["stage"] for look in looks]
    assert frame["examined"].is_monotonic_increasing
    assert frame["ended"].notna().sum() == 1
    assert frame["dual_objective"].is_monotonic_increasing
