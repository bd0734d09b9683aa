"""Outcomes of training: what an unfinished, a continued and an unexamined solution says."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from reference import kkt
from reference.duals import MODELS
from support.fitting import in_reference_terms
from support.model_duals import build, labels
from support.trace_records import record
from widestreet._src.certificate import Certificate
from widestreet._src.engines.budget import OutOfBudget
from widestreet._src.engines.solution import Solution, Trace
from widestreet._src.problems.goal import Goal
from widestreet._src.shards.point import Point
from widestreet._src.status import Status
from widestreet._src.training.problem import Problem
from widestreet._src.training.trained import (
    Trained,
    continued,
    labelled,
    stopped_by,
    uncertified,
    untouched,
)


def solution(rounds: int, status: Status = Status.OPTIMAL, steps: int = 100) -> Solution:
    trace = Trace(
        record(round=r, pair_steps=steps * (r + 1) // rounds, kernel_values=10 * (r + 1))
        for r in range(rounds)
    )
    return Solution(
        point=Point.of(np.full((1, 3), float(rounds))),
        rows=3,
        bias=np.zeros(1),
        dual_objective=1.0,
        status=status,
        trace=trace,
        pair_steps=steps,
        kernel_values=10 * rounds,
    )


def test_who_stopped_it():
    assert stopped_by(KeyboardInterrupt()) is Status.INTERRUPTED
    assert stopped_by(OutOfBudget(Status.TIME_LIMIT)) is Status.TIME_LIMIT


@pytest.mark.parametrize("model", MODELS)
def test_a_problem_that_was_not_begun_has_a_feasible_point(model, rng):
    dual = build(model, labels(rng, model, 20), np.ones(20))
    found = untouched(Problem(dual), Status.INTERRUPTED)
    assert kkt.feasibility(in_reference_terms(dual), found.beta) <= TOL.feasibility
    assert found.status is Status.INTERRUPTED
    assert found.dual_objective == (-np.inf if found.beta.any() else 0.0)
    begun = Problem(dual).starting_at(found.beta)
    assert untouched(begun, Status.INTERRUPTED).beta.tolist() == begun.start.tolist()


def test_a_continued_solution_has_the_accounts_of_both():
    first, more = solution(2, Status.STALLED), solution(3)
    both = continued(first, more)
    assert both.status is Status.OPTIMAL
    assert (both.beta == 3.0).all()
    assert [one.round for one in both.trace] == [0, 1, 2, 3, 4]
    assert (both.pair_steps, both.kernel_values) == (200, 50)
    assert both.trace[-1].pair_steps == both.pair_steps
    assert both.trace[-1].kernel_values == both.kernel_values


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (Status.OPTIMAL, Status.TIME_LIMIT),
        (Status.INTERRUPTED, Status.INTERRUPTED),
        (Status.ITERATION_LIMIT, Status.ITERATION_LIMIT),
    ],
)
def test_nothing_is_optimal_that_was_not_examined(status, said):
    found = uncertified(solution(1, status), Goal(1e-3, 0.01))
    assert found.certificate.status is said
    assert found.certificate.n_rows == 0
    assert found.certificate.kkt_violation == np.inf


def test_records_are_labelled_with_their_problem():
    one = solution(2)
    assert labelled(one, 0) is one
    assert {each.problem for each in labelled(one, 4).trace} == {4}


def test_a_later_result_replaces_an_earlier_one_if_it_is_certified_and_not_worse():
    def result(rows: int, dual: float, status: Status = Status.TIME_LIMIT) -> Trained:
        certificate = Certificate(2.0, dual, 2.0 - dual, 1.0, 0.1, status, rows, 1e-3)
        return Trained(solution(1), np.zeros(1), certificate)

    early = result(10, 1.0)
    assert result(10, 1.5).at_least_as_good_as(early)
    assert not result(10, 0.5).at_least_as_good_as(early)
    assert result(10, 0.5, Status.OPTIMAL).at_least_as_good_as(early)
    assert not result(0, 1.5).at_least_as_good_as(early)
    assert early.at_least_as_good_as(result(0, 1.5))
    assert result(0, 1.5).at_least_as_good_as(result(0, 1.0))
