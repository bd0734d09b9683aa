"""Straight pieces, breakpoints, cycles and the end of a homotopy."""

from __future__ import annotations

import sys
from itertools import pairwise

import numpy as np
import pytest

from conftest import TOL
from support.path_problems import MODELS, ChangingProblem
from widestreet._src.engines.homotopy import follow_breakpoints
from widestreet._src.engines.homotopy.follow_breakpoints import (
    Homotopy,
    InfeasibleError,
    PathSegment,
)
from widestreet._src.engines.homotopy.parametric_optimum import Endpoint, ParametricOptimum
from widestreet._src.engines.homotopy.path_state import FREE, LOWER, UPPER

pytestmark = pytest.mark.numeric


def full(model: str, seed: int) -> tuple[ChangingProblem, ParametricOptimum]:
    """A problem with all rows, and its optimum."""
    problem = ChangingProblem(model, "rbf", seed, n=40)
    problem.C, problem.nu, problem.weight = 10.0, 0.3, np.ones(problem.n)
    return problem, problem.optimum()


@pytest.mark.parametrize("model", MODELS)
def test_every_step_ends_at_an_optimum(model):
    """The state is optimal for its own data after every step, not only at the end."""
    problem, optimum = full(model, 3)
    weight = np.where(np.arange(problem.n) % 4, 1.0, 0.5)
    subject, s = Homotopy(optimum.state, problem.end(weight), active_limit=0), optimum.state
    before = -1.0
    while not subject.finished:
        assert subject.theta >= before
        before = subject.theta
        h, tolerance = s.slack(), TOL.decision * max(1.0, s.largest_target())
        movable = s.upper > s.lower
        assert np.abs(h[s.bound_state == FREE]).max(initial=0.0) <= tolerance
        assert h[(s.bound_state == LOWER) & movable].max(initial=-np.inf) <= tolerance
        assert h[(s.bound_state == UPPER) & movable].min(initial=np.inf) >= -tolerance
        np.testing.assert_allclose(
            s.sum_by_group(s.beta), s.total, rtol=0, atol=TOL.feasibility * np.abs(s.beta).sum()
        )
        subject.step()
    subject.finish()
    problem.weight = weight
    problem.check(optimum)


@pytest.mark.usefixtures("chosen_data")
@pytest.mark.parametrize("model", MODELS)
def test_segments_join_and_are_straight(model):
    """They cover theta from 0 to 1, and each one leads to the beginning of the next."""
    problem, optimum = full(model, 3)
    segments: list[PathSegment] = []
    # only the bounds of some rows move, so that bounds alone do not describe the path
    weight = np.where(np.arange(problem.n) % 4, 1.0, 2.0)
    optimum.follow(problem.end(weight), observe=segments.append)
    assert len(segments) > 2
    assert segments[0].theta == 0.0
    for one, other in pairwise(segments):
        assert one.theta + one.length == pytest.approx(other.theta, abs=TOL.exact)
        end = dict(zip(one.free.tolist(), one.beta + one.length * one.change, strict=True))
        start = dict(zip(other.free.tolist(), other.beta, strict=True))
        for v in set(end) & set(start):
            assert end[v] == pytest.approx(start[v], abs=TOL.decision * problem.C)
    last = segments[-1]
    assert last.theta + last.length == pytest.approx(1.0, abs=TOL.exact)


def test_rounding_of_moving_bounds_does_not_cause_cycles():
    """Three rows are added that no other row opposes; their motion sums to zero."""
    problem = ChangingProblem("c_svc", "rbf", 108)
    optimum = problem.optimum()
    for weight in filter(np.any, (problem.next() for _ in range(10))):
        problem.change(optimum, weight)
        problem.check(optimum)
    assert optimum.counts.steps < 100


def test_a_cycle_that_perturbations_do_not_end_is_an_error(monkeypatch):
    problem = ChangingProblem("eps_svr", "rbf", 3)
    optimum = problem.optimum()

    def zero_step(self: Homotopy) -> None:
        self._zero_steps += 1

    monkeypatch.setattr(Homotopy, "step", zero_step)
    with pytest.raises(RuntimeError, match=r"the homotopy cycles at theta=0: .*scale"):
        optimum.follow(problem.end(np.ones(problem.n)))


def test_an_endpoint_without_a_solution_is_an_error():
    problem = ChangingProblem("one_class", "rbf", 1)
    problem.weight = np.ones(problem.n)
    optimum = problem.optimum()
    with pytest.raises(InfeasibleError, match="group 0") as caught:
        optimum.follow(Endpoint(total=optimum.total * (1.5 / problem.nu)))
    assert 0 <= caught.value.theta < 1


def test_perturbations_are_taken_back(monkeypatch):
    """Two steps of length zero count as a cycle: the second homotopy must restore the targets."""
    monkeypatch.setattr(follow_breakpoints, "_ZERO_STEPS_BEFORE_PERTURBATION", 2)
    perturbations = 0
    for seed in range(6):
        problem = ChangingProblem("nu_svc", "linear", seed)
        optimum = problem.optimum()
        for _ in problem.history(optimum, 30):
            problem.check(optimum)
            target = problem.end(problem.weight).target
            np.testing.assert_array_equal(optimum.state.target, target)
        perturbations += optimum.counts.perturbations
    assert perturbations > 0


def test_targets_may_be_restored_many_times(monkeypatch):
    """More often than functions may call each other."""
    problem = ChangingProblem("c_svc", "rbf", 0)
    problem.weight, finish, homotopies = np.ones(problem.n), Homotopy.finish, []

    def shifted(self: Homotopy) -> None:
        finish(self)
        homotopies.append(self)
        if len(homotopies) < 2 * sys.getrecursionlimit():
            self.target_shift = np.zeros_like(self.goal)

    optimum = problem.optimum()
    monkeypatch.setattr(Homotopy, "finish", shifted)
    optimum.follow(problem.end(2.0 * problem.weight))
    assert len(homotopies) == 2 * sys.getrecursionlimit()
    problem.weight = 2.0 * problem.weight
    problem.check(optimum)


def test_scores_are_computed_anew_after_many_steps(monkeypatch):
    """Rounding that updates leave in the scores does not grow without bound."""
    monkeypatch.setattr(follow_breakpoints, "_STEPS_BETWEEN_REFRESHES", 3)
    problem = ChangingProblem("eps_svr", "rbf", 3)
    optimum = problem.optimum()
    for _ in problem.history(optimum, 20):
        problem.check(optimum)
        assert optimum.state.steps_since_refresh < 3
