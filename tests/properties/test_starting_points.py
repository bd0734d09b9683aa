"""Where the engine begins: any feasible point, any rows; and who has the last word."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from conftest import TOL
from reference import kkt
from reference.duals import MODELS
from reference.qp import solve_qp
from support.fitting import build_dual, checker, in_reference_terms
from support.problems import random_feasible, toy_model
from widestreet._src.certificate import examine
from widestreet._src.engines.budget import Budget
from widestreet._src.engines.working_set.rounds import WorkingSetEngine
from widestreet._src.engines.working_set.state_of_rounds import Inputs
from widestreet._src.kernels import kernels
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.poll import Poll
from widestreet._src.problems.goal import Goal
from widestreet._src.rows import as_rows
from widestreet._src.shards.point import Point
from widestreet._src.shards.shard_set import ShardSet
from widestreet._src.training.problem import Problem
from widestreet.strategies import SMO, Auto

pytestmark = pytest.mark.numeric

TINY = Auto(start_size=8, max_size=16)


class Bench:
    """One of the five duals on a toy problem, and engines that solve it from anywhere."""

    def __init__(self, model: str, n: int = 60, kernel=None) -> None:
        self.problem, self.K, self.qp = toy_model(model, n)
        self.dual = build_dual(model, np.float64(self.problem.y), C=3.0)
        self.gram = Gram(kernel or kernels.RBF(0.5), as_rows(self.problem.X))

    def engine(
        self, strategy=TINY, *, start=None, checked=True, budget=None, capacity=1 << 20, **options
    ):
        check, budget = checker(self.gram, self.dual, TOL.violation), budget or Budget()
        inputs = Inputs(
            shards=ShardSet.of(self.gram, self.dual, poll=Poll(budget.look_at_clock)),
            strategy=strategy,
            goal=Goal(TOL.violation),
            check=check if checked else None,
            budget=budget,
            room=capacity,
            observer=lambda record: None,
            rng=np.random.default_rng(0),
            start=None if start is None else Point.of(start),
            **options,
        )
        return WorkingSetEngine(inputs)

    def value(self, beta) -> float:
        return kkt.dual_objective(self.K, in_reference_terms(self.dual), beta)

    def starts(self, rng) -> list[np.ndarray]:
        """Points on few rows, inside all boxes, the one by default, and the optimum."""
        terms = in_reference_terms(self.dual)
        anywhere = self.dual.nearest(rng.uniform(self.dual.lower, self.dual.upper))
        best = self.qp.beta(solve_qp(self.qp.Q, self.qp.p, self.qp.A, self.qp.d, self.qp.upper).a)
        few = [random_feasible(terms, rng) for _ in range(2)]
        return [*few, anywhere, self.dual.feasible_point(), self.dual.nearest(best)]


@pytest.mark.parametrize("checked", [True, False])
@pytest.mark.parametrize("strategy", [TINY, SMO(size=16), Auto()])
@pytest.mark.parametrize("model", MODELS)
def test_every_start_leads_to_the_optimum(model, strategy, checked, rng):
    """The objective begins at that of the start and never falls below it."""
    bench = Bench(model)
    *starts, best = bench.starts(rng)
    optimum = bench.value(best)
    for start in (*starts, best):
        first = np.flatnonzero(rng.random(60) < 0.2)
        given = start.copy()
        solution = bench.engine(strategy, checked=checked, start=start, first=first).solve()
        assert np.array_equal(start, given)
        found = examine(bench.gram, bench.dual, solution.beta)
        assert solution.status == "optimal"
        assert found.violation <= TOL.violation
        assert found.infeasibility <= TOL.feasibility
        assert bench.value(solution.beta) == pytest.approx(optimum, rel=TOL.objective_rel)
        values = [bench.value(start)] + [record.dual_objective for record in solution.trace]
        slack = TOL.monotone * np.abs(values).max()
        assert (np.diff(values) >= -slack).all()
        assert solution.dual_objective == pytest.approx(found.dual, rel=TOL.objective_rel)


@pytest.mark.parametrize("steps", [1, 7, 40])
@pytest.mark.parametrize("model", MODELS)
def test_whatever_stops_it_the_start_was_not_better(model, steps, rng):
    bench = Bench(model)
    for start in bench.starts(rng)[:-1]:
        solution = bench.engine(TINY, start=start, budget=Budget(None, steps)).solve()
        assert solution.status == "iteration_limit"
        assert solution.pair_steps == steps
        value, before = bench.value(solution.beta), bench.value(start)
        assert value >= before - TOL.monotone * abs(before)
        assert solution.dual_objective == pytest.approx(value, rel=TOL.trace_rel)
        feasible = kkt.feasibility(in_reference_terms(bench.dual), solution.beta)
        assert feasible <= TOL.feasibility


@pytest.mark.parametrize("model", MODELS)
def test_an_interrupt_before_the_first_round_leaves_the_start(model, rng):
    bench = Bench(model)
    start = bench.starts(rng)[0]
    stopped = Budget(stopped=True)
    solution = bench.engine(start=start, budget=stopped).solve()
    assert solution.status == "interrupted"
    assert np.array_equal(solution.beta, start)
    assert len(solution.trace) == 0


@pytest.mark.parametrize("model", MODELS)
def test_the_optimum_is_recognised(model, rng):
    """As a start it costs no more than a look at every row."""
    bench = Bench(model)
    cold = bench.engine(TINY).solve()
    warm = bench.engine(TINY, start=cold.beta, first=np.flatnonzero(cold.beta.any(axis=0))).solve()
    assert warm.status == "optimal"
    assert warm.pair_steps <= cold.pair_steps // 4
    assert bench.value(warm.beta) >= bench.value(cold.beta) - TOL.monotone * abs(
        bench.value(cold.beta)
    )


@pytest.mark.parametrize("capacity", [20, 30, 45, 1000])
def test_rows_to_begin_with(capacity):
    """Beside those that the strategy draws, as many as there is room for; none twice."""
    seen = []

    class Watching(Auto):
        def propose(self, situation, rng):
            seen.append(situation)
            return super().propose(situation, rng)

    bench, first = Bench("c_svc"), np.arange(59, 19, -1)
    engine = bench.engine(Watching(8, 64), first=first, capacity=capacity)
    assert engine.solve().status == "optimal"
    begun = seen[0].violators
    assert len(set(begun)) == len(begun) <= min(capacity, 60)
    room = min(capacity, 60) - 8
    assert set(first[:room]) <= set(begun)
    assert len(begun) <= 8 + len(first[:room])


@pytest.mark.parametrize("model", MODELS)
def test_rows_to_begin_with_keep_no_others_out(model):
    """A problem that fits into the first working set is solved at once."""
    bench = Bench(model)
    solution = bench.engine(Auto(), first=np.arange(0, 60, 4)).solve()
    assert solution.status == "optimal"
    assert [record.working_set for record in solution.trace] == [60]


def test_without_a_check_nobody_looks_at_every_row_in_float64():
    """That is left to the caller, and no time is kept back for it."""
    for checked in (True, False):
        bench, budget = Bench("c_svc"), Budget(60.0)
        engine = bench.engine(checked=checked, budget=budget)
        assert engine.solve().status == "optimal"
        assert ("check" in engine.state.timings) == checked
        assert (budget.reserve > 0) == checked


def test_without_a_check_what_does_not_move_is_not_called_optimal():
    class Lazy(Auto):
        def propose(self, situation, rng):
            plan = super().propose(situation, rng)
            return plan if situation.round == 0 else replace(plan, add=plan.add[:0])

    bench = Bench("c_svc")
    solution = bench.engine(Lazy(8, 64), checked=False).solve()
    assert solution.status == "stalled"
    assert examine(bench.gram, bench.dual, solution.beta).violation > TOL.violation


@pytest.mark.parametrize("model", MODELS)
def test_a_problem_that_starts_somewhere(model, rng):
    """Near any point, with the rows that are free there."""
    bench = Bench(model)
    problem = Problem(bench.dual)
    for beta in (*bench.starts(rng), 5 * rng.normal(size=bench.dual.target.shape)):
        begun = problem.starting_at(beta)
        assert begun.dual is problem.dual
        assert np.array_equal(begun.start, bench.dual.nearest(beta))
        free = (begun.start > bench.dual.lower) & (begun.start < bench.dual.upper)
        assert np.array_equal(begun.first, np.flatnonzero(free.any(axis=0)))
    assert problem.start is problem.first is None
