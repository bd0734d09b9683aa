"""The solver of one problem, with the engine that suits its size and its strategy."""

from __future__ import annotations

from collections.abc import Callable as Function
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np

from widestreet._src.arrays import Ints
from widestreet._src.engines.budget import Budget, OutOfBudget
from widestreet._src.engines.interior.pivoted_cholesky import NotPositive, RankTooLarge
from widestreet._src.engines.sampling.prsvm_and_rsvm import WeightedSampling
from widestreet._src.engines.sampling.prsvm_rounds import Sample, SamplingEngine, SolveSample
from widestreet._src.engines.selection.auto_doubling import Auto
from widestreet._src.engines.selection.interior import Interior
from widestreet._src.engines.selection.strategy_protocol import Strategy
from widestreet._src.engines.solution import Observer, Solution
from widestreet._src.engines.working_set.rounds import WorkingSetEngine
from widestreet._src.engines.working_set.state_of_rounds import Check, Inputs
from widestreet._src.engines.working_set.tile_memory import TileMemory
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import Callable, Kernel, Linear
from widestreet._src.kernels.poll import Poll
from widestreet._src.problems.dual import Dual
from widestreet._src.problems.goal import Goal
from widestreet._src.rows import Rows
from widestreet._src.shards.point import Point
from widestreet._src.shards.runner import LocalRunner, Runner
from widestreet._src.shards.shard_set import ShardSet
from widestreet._src.status import Status
from widestreet._src.threads import limited_blas
from widestreet._src.training import sampled_start
from widestreet._src.training.examiner import Examiner
from widestreet._src.training.interior_point import LowRank
from widestreet._src.training.memory_of_fit import (
    least_memory,
    with_room_for_levels,
    working_set_capacity,
)
from widestreet._src.training.monomial_rows import monomial_rows
from widestreet._src.training.problem import Problem
from widestreet._src.training.settings import Settings, threads_for
from widestreet._src.training.small_problems import is_small, solve_small
from widestreet._src.training.trained import (
    Trained,
    after,
    at_point_of,
    continued,
    stopped_by,
    untouched,
)


@dataclass(frozen=True, eq=False)
class Solver:
    """Engines for one problem in memory, and their settings.

    Attributes
    ----------
    gram : Gram
    shards : callable
        Returns the shard set of the rows, always the same object.
    settings, budget, observe, threads, rng
    check : callable, optional
        Takes a Point and returns a Check. If None, the caller certifies the solution.
    tiles : TileMemory, optional
        Memory that is kept for the tiles of several fits.
    """

    gram: Gram
    shards: Function[[], ShardSet]
    settings: Settings
    budget: Budget
    observe: Observer
    threads: int
    rng: Function[[], np.random.Generator]
    check: Function[[Point], Check] | None
    tiles: TileMemory | None = None

    def solve(self, problem: Problem) -> Solution:
        """Solve a problem: in one call of the core if it is small, otherwise by rounds."""
        if not is_small(self.gram, problem.dual, self.settings):
            return self.by_rounds(problem, self.observe)
        try:
            [solution] = solve_small(
                [self.gram], [problem], self.settings, self.budget, self.threads
            )
        except (OutOfBudget, KeyboardInterrupt) as stop:
            return untouched(problem, stopped_by(stop))
        return self.finish(problem, solution)

    def finish(self, problem: Problem, solution: Solution) -> Solution:
        """Return the solution of a small problem; continue by rounds if it is not optimal."""
        if solution.status == Status.INTERRUPTED:
            return solution
        try:
            self.observe(solution.trace[-1])
            done = solution.status == Status.OPTIMAL
            self.budget.spend(solution.pair_steps, finished=done)
            if done and self.check is not None:
                done = self.check(solution.point).next_violation is None
        except (OutOfBudget, KeyboardInterrupt) as stop:
            return replace(solution, status=stopped_by(stop))
        if done:
            return solution
        problem = replace(problem, start=solution.beta, score=None)
        more = self.by_rounds(problem, lambda record: self.observe(after(solution, record)))
        return continued(solution, more)

    def by_rounds(self, problem: Problem, observe: Observer) -> Solution:
        """Solve a problem by the rounds of its strategy."""
        if isinstance(self.settings.strategy, Auto) and sampled_start.is_useful(
            problem, self.budget
        ):
            try:
                problem = self._from_sample(problem)
            except (OutOfBudget, KeyboardInterrupt) as stop:
                return untouched(problem, stopped_by(stop))
        settings, dual, columns = self.settings, problem.dual, self.gram.left.shape[1]
        engines = Engines(
            shards=self.shards(),
            settings=settings,
            budget=self.budget,
            observe=observe,
            threads=self.threads,
            rng=self.rng(),
            check=self.check,
            room=working_set_capacity(settings.max_memory, dual, columns),
            sites=settings.max_memory // least_memory(dual, columns),
            start=None if problem.start is None else Point.of(problem.start, problem.score),
            first=problem.first,
            low_rank=LowRank(
                self.gram,
                dual,
                self.budget,
                self.threads,
                settings.max_memory,
                settings.goal.aim,
            ),
            tiles=self.tiles,
        )
        return settings.strategy.solve(engines)

    def _from_sample(self, problem: Problem) -> Problem:
        """Return a problem with a starting point from a sample of its rows, if that helps."""
        automatic = isinstance(self.settings.strategy, Auto)
        if not automatic or not sampled_start.is_useful(problem, self.budget):
            return problem

        def solve(sample: Sample, goal: Goal) -> Solution:
            return solve_sample(sample, replace(self.settings, goal=goal), self.threads)

        return sampled_start.sampled_start(
            self.gram, problem, solve, self.budget, self.rng(), self.shards().poll
        )


@dataclass(frozen=True, eq=False)
class Engines:
    """Engines for one problem, from which a strategy chooses.

    Attributes
    ----------
    shards : ShardSet
        The rows of the problem.
    settings : Settings
    budget : Budget
    observe : callable
    threads : int
    rng : numpy.random.Generator
    check : callable, optional
        Takes a Point and returns a Check. If None, the caller certifies the solution.
    room : int
        Number of rows for which the memory of the working set suffices.
    sites : int
        Number of samples that the memory holds at the same time.
    start : Point, optional
        Feasible starting point.
    first : ndarray, optional
        Rows of the first working set.
    runner : Runner, optional
        Runner that solves samples; threads of this process by default.
    low_rank : LowRank, optional
        The interior-point engine, if the rows are in memory.
    tiles : TileMemory, optional
        Memory that is kept for the tiles of several fits.
    """

    shards: ShardSet
    settings: Settings
    budget: Budget
    observe: Observer
    threads: int
    rng: np.random.Generator
    check: Function[[Point], Check] | None
    room: int
    sites: int
    start: Point | None = None
    first: Ints | None = None
    runner: Runner | None = None
    low_rank: LowRank | None = None
    tiles: TileMemory | None = None

    def by_rounds(self, strategy: Strategy) -> Solution:
        """Run the working-set engine; on the CPU if a device ends without a solution."""
        found = WorkingSetEngine(inputs := self._inputs(strategy)).solve()
        if inputs.resident is None or found.status != Status.STALLED:
            return found
        rest = replace(self._after(found)._inputs(strategy), on_device=False)
        return continued(found, WorkingSetEngine(rest).solve())

    def _inputs(self, strategy: Strategy) -> Inputs:
        """Return the inputs of the working-set engine."""
        return Inputs(
            shards=self.shards,
            strategy=strategy,
            goal=self.settings.goal,
            check=self.check,
            budget=self.budget,
            room=self.room,
            observer=self.observe,
            rng=self.rng,
            threads=self.threads,
            skip=self.settings.skip,
            start=self.start,
            first=self.first,
            tiles=self.tiles,
        )

    def by_rounds_or_interior(self, strategy: Strategy) -> Solution:
        """Run the working-set engine and, if it makes slow progress, the interior-point engine."""
        low_rank = self.low_rank
        patience = None if low_rank is None else low_rank.patience
        if low_rank is None or patience is None:
            return self.by_rounds(strategy)
        with self.budget.pausing(low_rank.pair_steps, lambda: low_rank.possible):
            observe = patience.watch(self.observe)
            found = replace(self, observe=observe).by_rounds(strategy)
        if found.status != Status.STALLED:
            return found
        rest = self._after(found)
        try:
            more = rest._by_interior(low_rank, None, strategy)
        except (RankTooLarge, NotPositive):
            more = rest.by_rounds(strategy)
        if more.status.cut_short and not more.dual_objective > found.dual_objective:
            more = at_point_of(found, more)
        return continued(found, more)

    def by_interior(self, strategy: Interior) -> Solution:
        """Run the interior-point engine, then the working-set engine from its point."""
        if self.low_rank is None:
            raise ValueError(
                "strategy='interior' needs all rows in memory, but these are in files or on a "
                "cluster; use strategy='auto'"
            )
        with self.low_rank.explained(strategy.max_rank):
            return self._by_interior(self.low_rank, strategy.max_rank, strategy)

    def _by_interior(self, low_rank: LowRank, most: int | None, strategy: Strategy) -> Solution:
        """Run both engines; raise RankTooLarge or NotPositive if the first is not possible."""
        found, first = low_rank.solve(most, self.observe)
        try:
            if not found.status.cut_short and self._passes(found.point):
                return replace(found, status=Status.OPTIMAL)
        except (OutOfBudget, KeyboardInterrupt) as stop:
            found = replace(found, status=stopped_by(stop))
        if found.status.cut_short:
            return found
        rest = replace(self._after(found), first=first)
        with self.budget.pausing(low_rank.last_pair_steps):
            more = rest.by_rounds(strategy)
        if not more.trace:  # it was stopped before the first round
            more = at_point_of(found, more)
        return continued(found, more)

    def _passes(self, point: Point) -> bool:
        """Return whether the check accepts a point."""
        return self.check is not None and self.check(point).next_violation is None

    def _after(self, found: Solution) -> Engines:
        """Return the engines that continue a solution."""
        observe = self.observe
        return replace(
            self, start=found.point, observe=lambda record: observe(after(found, record))
        )

    def by_samples(self, strategy: WeightedSampling) -> Solution:
        """Run the sampling engine, then the working-set engine from its best point."""
        observe, workers = self.observe, self._workers(strategy)
        engine = SamplingEngine(
            self.shards,
            strategy,
            self._sample_solver(workers),
            goal=self.settings.goal,
            check=self.check,
            budget=self.budget,
            observer=observe,
            rng=self.rng,
            runner=self.runner or LocalRunner(workers),
            start=self.start,
        )
        found = engine.solve()
        if not engine.unfinished or not strategy.until_certified:
            return found
        try:
            start, first = self._near(found.point)
        except (OutOfBudget, KeyboardInterrupt) as stop:
            return replace(found, status=stopped_by(stop))
        rest = replace(
            self, start=start, first=first, observe=lambda record: observe(after(found, record))
        )
        more = rest.by_rounds(strategy)
        if not more.trace:  # it was stopped before the first round
            more = at_point_of(found, more)
        return continued(found, more)

    def _near(self, point: Point) -> tuple[Point, Ints]:
        """Return the feasible point nearest to another one, and its rows with free variables."""
        if len(point) == 0:
            return point, point.ids
        sample = Problem(self.shards.fetch(point.ids)[1]).starting_at(point.beta)
        assert sample.start is not None
        assert sample.first is not None
        return Point(point.ids, sample.start), point.ids[sample.first]

    def _workers(self, strategy: WeightedSampling) -> int:
        """Return the number of samples to solve at the same time."""
        if isinstance(self.shards.kernel, Callable):
            return 1
        return max(1, min(self.threads, strategy.sites, self.sites))

    def _sample_solver(self, workers: int) -> SolveSample:
        """Return a function that solves the dual of a sample."""
        settings = replace(
            self.settings,
            strategy=Auto(),
            goal=Goal(self.settings.goal.aim),  # the tolerance of the surveys
            max_memory=self.settings.max_memory // workers,
        )
        threads = 1 if self.runner is not None else max(1, self.threads // workers)
        return partial(solve_sample, settings=settings, threads=threads)


def solve_sample(sample: Sample, settings: Settings, threads: int) -> Solution:
    """Solve the dual of a sample of the rows."""
    problem = Problem(sample.dual)
    if sample.start is not None:
        problem = problem.starting_at(sample.start)
    solver = Solver(
        sample.gram,
        in_memory(sample.gram, sample.dual, sample.budget, threads),
        settings,
        sample.budget,
        lambda record: None,
        threads,
        lambda: sample.rng,
        None,
    )
    return solver.solve(problem)


def in_memory(gram: Gram, dual: Dual, budget: Budget, threads: int) -> Function[[], ShardSet]:
    """Return a function that makes the rows of a dual one shard, at its first call."""
    return cache(lambda: ShardSet.of(gram, dual, poll=Poll(budget.look_at_clock), threads=threads))


def train(
    kernel: Kernel,
    rows: Rows,
    problem: Problem,
    settings: Settings,
    observe: Observer,
    kept: Ints | None = None,
) -> Trained:
    """Solve one problem and certify the result.

    Parameters
    ----------
    kernel : Kernel
    rows : Rows
    problem : Problem
    settings : Settings
    observe : callable
        Called with the record of each round.
    kept : ndarray, optional
        Positions of the rows of the problem; all rows by default.
    """
    threads = threads_for(problem.dual.rows, settings)
    budget = Budget(settings.max_time, settings.max_steps)
    monomials = monomial_rows(kernel, rows, problem.dual, settings)
    if monomials is not None:
        kernel, rows = Linear(), monomials.rows
    rows, settings = with_room_for_levels(rows, problem.dual, settings)
    gram = Gram(kernel, rows, threads=threads).select(kept, diagonal=problem.dual.diagonal)
    shards = in_memory(gram, problem.dual, budget, threads)
    examiner = Examiner(shards, settings.goal, budget, gram, problem.dual, observe)
    rng = settings.rng
    solver = Solver(gram, shards, settings, budget, observe, threads, lambda: rng, examiner.check)
    with limited_blas(1):
        trained = examiner.certified(solver.solve(problem))
    return trained if monomials is None else monomials.uncentred(trained, kept)
