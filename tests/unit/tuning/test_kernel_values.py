"""Problems over stored kernel values, and over values that are computed when needed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from conftest import TOL
from reference import kernels
from support.interrupted import Interrupting
from support.machines import GAMMA, data
from support.settings import settings
from widestreet._src.engines.budget import Budget, OutOfBudget
from widestreet._src.engines.interior import cost_against_pair_steps as cost
from widestreet._src.engines.working_set.tile_memory import TileMemory
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import RBF, Callable, Linear
from widestreet._src.problems.formulations import CSVC, EpsilonSVR
from widestreet._src.problems.goal import Goal
from widestreet._src.rows import as_rows
from widestreet._src.status import Status
from widestreet._src.tuning import chain, kernel_values
from widestreet._src.tuning.kernel_values import Step, StoredValues, StreamedValues
from widestreet.datasets import checkerboard

FORMULATIONS = {"svc": CSVC(C=10.0), "svr": EpsilonSVR(C=10.0)}


@pytest.fixture(params=FORMULATIONS)
def problem(request):
    """Kernel matrix, both sources of its values, and a problem with rows held out."""
    X, y = data(request.param)
    streamed = StreamedValues(Gram(RBF(GAMMA), as_rows(X, centred=True)), Budget(), 1)
    K = kernels.matrix("rbf", X, gamma=GAMMA)
    weight = np.ones(len(y))
    weight[10:40] = 0.0
    formulation = FORMULATIONS[request.param]
    dual = formulation.dual(y.astype(np.float64), formulation.box(weight))
    return (
        K,
        StoredValues(K, streamed),
        streamed,
        Step(dual, 10.0, settings(goal=Goal(TOL.violation))),
    )


def test_both_solve_the_same_problem(problem):
    K, stored, streamed, step = problem
    one, other = stored.solve(step, None), streamed.solve(step, None)
    objective = [step.dual.objective(p.beta, K @ p.beta.sum(axis=0)) for p in (one, other)]
    assert objective[0] == pytest.approx(objective[1], rel=TOL.strategies_rel)
    np.testing.assert_allclose(one.bias, other.bias, atol=TOL.decision)
    assert one.norm == pytest.approx(other.norm, rel=TOL.strategies_rel)


@pytest.mark.parametrize("C", [0.1, 100.0])
def test_engines_start_from_known_scores_at_the_same_optimum(C):
    """A solution for another C, with its scores: fewer kernel values, the same objective."""
    X, y = checkerboard(2500, random_state=1)
    y[::7] *= -1  # noise, so that variables are at their bounds
    gram = Gram(RBF(2.0), as_rows(X, centred=True))
    streamed = StreamedValues(gram, Budget(), 1)

    def step(C):
        formulation = CSVC(C=C)
        dual = formulation.dual(y.astype(np.float64), formulation.box(np.ones(len(y))))
        return Step(dual, C, settings(goal=Goal(TOL.violation)))

    def score(point):
        return gram.scan(None, np.arange(len(y)), point.beta.sum(axis=0))

    def spent(before):
        values = gram.pace.values
        return streamed.solve(step(C), before), gram.pace.values - values

    before = streamed.solve(step(1.0), None)
    (plain, all_values), (known, values) = map(
        spent, (before, replace(before, score=score(before)))
    )
    dual = step(C).dual
    objective = [dual.objective(p.beta, score(p)) for p in (plain, known)]
    assert objective[0] == pytest.approx(objective[1], rel=TOL.strategies_rel)
    assert values < all_values


@pytest.mark.parametrize(("part", "factor"), [(1.0, 2.0), (0.25, 1.0)])
def test_variables_stay_at_bounds_if_most_are_there(problem, part, factor):
    """Otherwise the best multiple of the solution is the start: here it is the same point."""
    _, _, streamed, step = problem
    dual, alternate = step.dual, np.arange(step.dual.rows) % 2 == 0
    before = streamed.solve(step, None)
    bounds = np.where(alternate, dual.upper, 0.0) + np.where(alternate, 0.0, dual.lower)
    before = replace(before, beta=0.5 * part * bounds, scale=0.5 * step.scale, norm=1e30)
    dual = replace(dual, total=np.array([factor * 0.5 * part * bounds.sum()]))
    moved = Step(dual, step.scale, step.settings)
    start = streamed._from(before, moved, dual, np.arange(dual.rows)).start
    np.testing.assert_allclose(start, factor * before.beta)


def test_a_rounded_copy_leads_to_the_same_solution(problem):
    K, stored, _, step = problem
    rounded = replace(stored, rounded=np.pad(K.astype(np.float32), (0, 32)))
    one, other = (values.solve(step, None) for values in (stored, rounded))
    assert other.violation <= step.tol
    np.testing.assert_allclose(other.score, K @ other.beta.sum(axis=0), atol=TOL.decision)
    np.testing.assert_allclose(one.score, other.score, atol=TOL.decision * step.scale)


def test_tiles_are_kept_and_change_no_bit(problem):
    _, _, streamed, step = problem
    kept = replace(streamed, tiles=TileMemory(1 << 30))
    one = streamed.solve(step, None)
    for _ in range(2):
        other = kept.solve(step, None)
        assert np.array_equal(one.beta, other.beta)


def test_an_interrupt_inside_the_engine_is_raised(problem):
    _, _, streamed, step = problem
    interrupted = Gram(Callable(Interrupting(1)), as_rows(streamed.gram.left.values))
    with pytest.raises(KeyboardInterrupt):
        replace(streamed, gram=interrupted).solve(step, None)


def test_a_limit_inside_the_engine_is_raised(problem, monkeypatch):
    _, _, streamed, step = problem
    solve = kernel_values.Solver.solve

    def cut(self, problem):
        return replace(solve(self, problem), status=Status.TIME_LIMIT)

    monkeypatch.setattr(kernel_values.Solver, "solve", cut)
    with pytest.raises(OutOfBudget):
        streamed.solve(step, None)


def test_both_start_from_a_solution(problem):
    _, stored, streamed, step = problem
    for values in (stored, streamed):
        point = values.solve(step, None)
        again = values.solve(step, point)
        np.testing.assert_allclose(again.beta, point.beta, atol=TOL.decision * step.scale)


def test_chains_in_few_calls_solve_what_single_calls_solve(problem, monkeypatch):
    K, stored, _, step = problem
    steps = [step, step, step]
    monkeypatch.setattr(kernel_values, "TOGETHER", 0)
    alone = [point for point, _ in stored.solve_all(steps, None)]
    monkeypatch.setattr(kernel_values, "TOGETHER", len(K))
    together = [point for point, _ in stored.solve_all(steps, None)]
    for one, other in zip(alone, together, strict=True):
        assert other.violation <= step.tol
        assert other.norm == pytest.approx(one.norm, rel=TOL.strategies_rel)
        np.testing.assert_allclose(one.bias, other.bias, atol=TOL.decision)


def test_a_chain_goes_on_after_a_problem_that_its_call_left(problem, monkeypatch):
    K, stored, _, step = problem
    real = kernel_values.solve_together

    def first_only(*given):
        [(point, seconds), *_] = real(*given)
        yield replace(point, violation=np.inf), seconds

    monkeypatch.setattr(kernel_values, "solve_together", first_only)
    found = [point for point, _ in stored.solve_all([step, step], None)]
    assert len(found) == 2
    for point in found:
        assert point.violation <= step.tol
        np.testing.assert_allclose(point.score, K @ point.beta.sum(axis=0), atol=TOL.decision)


def test_problems_that_need_many_pair_steps_are_continued_by_rounds(problem, monkeypatch):
    K, stored, _, step = problem
    expected = stored.solve(step, None)
    monkeypatch.setattr(chain, "_MOST_STEPS", 0)
    found = stored.solve(step, None)
    assert found.norm == pytest.approx(expected.norm, rel=TOL.strategies_rel)
    np.testing.assert_allclose(found.score, K @ found.beta.sum(axis=0), atol=TOL.decision)


def test_few_pair_steps_precede_the_engines_if_the_rank_is_low(monkeypatch):
    X, y = data("svc")
    X = X * np.logspace(0, 4, X.shape[1])  # without scaling pair steps converge slowly
    streamed = StreamedValues(Gram(Linear(), as_rows(X, centred=True)), Budget(), 1)
    K = kernels.matrix("linear", X - X.mean(axis=0))
    formulation = CSVC(C=10.0)
    dual = formulation.dual(y.astype(np.float64), formulation.box(np.ones(len(y))))
    taken = []

    def counted(*arguments, **options):
        taken.append(chain.solve_next(*arguments, **options))
        return taken[-1]

    monkeypatch.setattr(kernel_values, "solve_next", counted)
    step = Step(dual, 10.0, settings(goal=Goal(TOL.violation)))
    found = StoredValues(K, streamed).solve(step, None)
    assert taken[0].steps <= cost.pair_steps(cost.patience(Linear(), *X.shape), len(X))
    assert found.violation <= TOL.violation
    expected = streamed.solve(step, None)
    assert found.norm == pytest.approx(expected.norm, rel=TOL.strategies_rel)


def test_scores_and_parts(problem, rng):
    K, stored, streamed, _ = problem
    members = np.arange(20, 90)
    rows, coefs = np.arange(5, 25), rng.normal(size=(3, len(members)))
    coefs[:, 10:] = 0.0
    expected = coefs @ K[np.ix_(members, members)][:, rows]
    for values in (stored, streamed):
        found = values.part(members).scores(rows, coefs)
        np.testing.assert_allclose(found, expected, atol=TOL.decision)
