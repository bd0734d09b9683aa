"""RandSVM as published, step by step against its literal version, and what its trace says."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np
import pytest

from reference import randsvm
from support.sampled_problems import (
    KERNELS,
    MODELS,
    SLIGHT,
    Case,
    assert_same_function,
    case,
    watch,
)
from widestreet.strategies import RandSVM

pytestmark = pytest.mark.numeric


def assert_same_steps(
    problem: Case, seed: int, bound: float, size: int, /, **parameters: Any
) -> list[randsvm.Step]:
    rng = np.random.default_rng(seed)
    expected = randsvm.randsvm(problem.K, problem.reference, rng, SLIGHT, k=bound, r=size)
    looks, solved = watch(problem, RandSVM(until_certified=False, **parameters), seed)
    for look, step in zip(looks, expected, strict=True):
        assert look.W == step.W
        assert look.support == step.point.support.tolist()
        assert look.violators == step.V.tolist()
        assert look.notes.get("ended", "") == step.ended
    assert_same_function(problem, solved, expected[-1].point)
    ended = expected[-1].ended
    assert solved.solution.status == ("optimal" if ended == "violators" else "approximate")
    return expected


@pytest.fixture
def chosen(chosen_data) -> Callable[..., Case]:
    """Problems and draws that were chosen for how they end: some samples of others never do."""
    return case.__wrapped__


# -- step by step ------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("model", MODELS)
def test_every_step_to_the_optimum_is_the_one_of_the_paper(model, kernel, seed, chosen):
    steps = assert_same_steps(chosen(model, kernel, seed=seed), seed, inf, 60, sample_size=60)
    assert steps[-1].ended == "violators"
    assert len(steps) > 1


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("k", [1, 8, 14])
@pytest.mark.parametrize("model", MODELS)
def test_it_ends_at_k_support_vectors(model, k, seed, chosen):
    steps = assert_same_steps(chosen(model), seed, k, 40, k=k, sample_size=40)
    assert steps[-1].ended == "k"


@pytest.mark.parametrize("k", [8, 12, 30, 80])
@pytest.mark.parametrize("model", MODELS)
def test_the_sample_is_twice_k_where_it_is_not_given(model, k):
    assert_same_steps(case(model), 0, k, 2 * k, k=k)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("size", [5, 15])
@pytest.mark.parametrize("model", MODELS)
def test_it_ends_without_room(model, size, seed, chosen):
    steps = assert_same_steps(chosen(model), seed, inf, size, sample_size=size)
    assert steps[-1].ended == "room"
    assert len(steps[-1].point.support) == size


def test_samples_of_one_class_come_to_an_end(chosen):
    """Published to go on for ever: two of one class, two of the other, and nothing is gained."""
    _, solved = watch(chosen("c_svc"), RandSVM(sample_size=2, until_certified=False), 0)
    assert solved.solution.status == "stalled"
    assert not solved.solution.beta.any()


@pytest.mark.parametrize("model", MODELS)
def test_the_bound_of_the_paper(model):
    problem = case(model, n=150)
    k = randsvm.bound(150, 2.0, 0.5)
    steps = assert_same_steps(problem, 0, k, 2 * k, epsilon=2.0, delta=0.5, k="paper")
    assert len(steps[0].W) == 2 * k < 150


def test_without_a_bound_a_thousand_rows_are_a_sample():
    assert RandSVM().bound(10**6) == inf
    assert RandSVM().size(10**6) == 1024
    assert RandSVM().size(500) == 500
    assert RandSVM(k="paper").bound(100_000) == randsvm.bound(100_000, 0.2, 0.9)
    assert RandSVM(k=50).size(10**6) == 100


# -- what the trace says -----------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS)
def test_the_trace_tells_sample_and_bound(model):
    strategy = RandSVM(k=14, sample_size=40, until_certified=False)
    looks, solved = watch(case(model), strategy, 0)
    trace = solved.solution.trace
    assert [record.violators for record in trace] == [len(look.violators) for look in looks]
    assert [record.working_set for record in trace] == [len(look.W) for look in looks]
    for record in trace[:-1]:
        assert record.notes == {"sample_size": 40, "k": 14}
    assert trace[-1].notes == {"sample_size": 40, "k": 14, "ended": "k"}
    assert trace.to_frame()["dual_objective"].is_monotonic_increasing
