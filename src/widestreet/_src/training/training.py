"""One fit: from rows and a dual to a certified solution."""

from __future__ import annotations

from collections.abc import Callable as Function
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from widestreet._src.arrays import Floats, Ints
from widestreet._src.certificate import (
    Certificate,
    Examination,
    Part,
    examine_parts,
    here,
)
from widestreet._src.engines.budget import Budget, OutOfBudget
from widestreet._src.engines.sampling.engine import SamplingEngine, SolveSample
from widestreet._src.engines.sampling.prsvm import WeightedSampling
from widestreet._src.engines.selection.auto import Auto
from widestreet._src.engines.selection.contract import Strategy
from widestreet._src.engines.solution import Observer, Solution, Trace, TraceRecord
from widestreet._src.engines.working_set import small as whole
from widestreet._src.engines.working_set.engine import WorkingSetEngine
from widestreet._src.engines.working_set.state import Check, Inputs
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import Callable, Kernel
from widestreet._src.kernels.poll import Poll
from widestreet._src.problems.dual import Dual, select
from widestreet._src.problems.goal import Goal
from widestreet._src.rows import Rows
from widestreet._src.shards.runner import LocalRunner
from widestreet._src.shards.shard_set import ShardSet
from widestreet._src.status import Status
from widestreet._src.threads import limited_blas

_LEAST_TILE = 256  # rows of the smallest working set worth having
_PANEL_BYTES = 1 << 26  # scratch of a scan
_ROWS_PER_THREAD = 1000  # fewer are not worth waking another thread for
ANSWER_WITHIN = 0.15  # seconds a certificate may take after an interrupt


@dataclass(frozen=True, eq=False, kw_only=True)
class Resources:
    """What a fit may use."""

    max_steps: int
    max_time: float | None
    max_memory: int
    threads: int
    verbose: int
    rng: np.random.Generator

    @property
    def final_violation(self) -> float:
        """The violation at which a fit ends; zero if it does not end by one."""
        return 0.0


@dataclass(frozen=True, eq=False, kw_only=True)
class Settings(Resources):
    """Everything about a fit to an optimum that is not the problem itself."""

    strategy: Strategy
    tol: float
    gap_tol: float | None
    skip: bool

    @property
    def final_violation(self) -> float:
        return self.tol


@dataclass(frozen=True, eq=False)
class Trained:
    """A solution with its biases and its certificate."""

    solution: Solution
    bias: Floats
    certificate: Certificate


@dataclass(frozen=True, eq=False)
class Problem:
    """A dual and where to begin.

    Attributes
    ----------
    dual : Dual
    start : ndarray, optional
        A feasible point to begin at.
    first : ndarray, optional
        Rows of the dual to begin with.
    """

    dual: Dual
    start: Floats | None = None
    first: Ints | None = None

    def starting_at(self, beta: Floats) -> Problem:
        """Begin near a point, with the rows that are strictly inside their box there."""
        start = self.dual.nearest(beta)
        inside = (start > self.dual.lower) & (start < self.dual.upper)
        return replace(self, start=start, first=np.flatnonzero(inside.any(axis=0)))


def threads_for(rows: int, resources: Resources) -> int:
    """Threads worth using on a problem of so many rows."""
    return min(resources.threads, 1 + rows // _ROWS_PER_THREAD)


@dataclass(frozen=True, eq=False)
class Solver:
    """What a problem is solved with. `check` has the last word; None leaves it to the caller."""

    gram: Gram
    settings: Settings
    budget: Budget
    observe: Observer
    threads: int
    rng: Function[[], np.random.Generator]
    check: Function[[Floats], Check] | None

    def solve(self, problem: Problem) -> Solution:
        """Solve a problem: whole if it is small, by rounds if it is large."""
        if not solved_whole(self.gram, problem.dual, self.settings):
            return self.by_rounds(problem, self.observe)
        try:
            [solution] = solve_whole(
                [self.gram], [problem], self.settings, self.budget, self.threads
            )
        except (OutOfBudget, KeyboardInterrupt) as stop:
            return untouched(problem, stopped_by(stop))
        return self.finish(problem, solution)

    def finish(self, problem: Problem, solution: Solution) -> Solution:
        """See to a problem that was solved whole: it goes on by rounds if there is more to do."""
        if solution.status == Status.INTERRUPTED:
            return solution
        try:
            self.observe(solution.trace[-1])
            done = solution.status == Status.OPTIMAL
            self.budget.spend(solution.pair_steps, finished=done)
            if done and self.check is not None:
                done = self.check(solution.beta).next_violation is None
        except (OutOfBudget, KeyboardInterrupt) as stop:
            return replace(solution, status=stopped_by(stop))
        if done:
            return solution
        problem = replace(problem, start=solution.beta)
        more = self.by_rounds(problem, lambda record: self.observe(after(solution, record)))
        return continued(solution, more)

    def by_rounds(self, problem: Problem, observe: Observer) -> Solution:
        """Solve a problem as its strategy does."""
        return self.settings.strategy.solve(Engines(self, problem, observe))


@dataclass(frozen=True, eq=False)
class Engines:
    """A problem and the engines that can solve it: the context of a strategy."""

    solver: Solver
    problem: Problem
    observe: Observer

    @property
    def _shards(self) -> ShardSet:
        solver = self.solver
        poll = Poll(solver.budget.look_at_clock)
        return ShardSet.of(solver.gram, self.problem.dual, poll=poll, threads=solver.threads)

    def by_rounds(self, strategy: Strategy) -> Solution:
        """Run the working-set engine."""
        solver, problem, settings = self.solver, self.problem, self.solver.settings
        columns = solver.gram.left.shape[1]
        inputs = Inputs(
            shards=self._shards,
            strategy=strategy,
            goal=Goal(settings.tol),
            check=solver.check,
            budget=solver.budget,
            room=working_set_capacity(settings.max_memory, problem.dual, columns),
            observer=self.observe,
            rng=solver.rng(),
            threads=solver.threads,
            skip=settings.skip,
            start=problem.start,
            first=problem.first,
        )
        return WorkingSetEngine(inputs).solve()

    def by_samples(self, strategy: WeightedSampling) -> Solution:
        """Solve samples of the rows on sites; the working-set engine goes on from there."""
        solver, observe = self.solver, self.observe
        workers = self._workers(strategy)
        engine = SamplingEngine(
            self._shards,
            strategy,
            self._sample_solver(workers),
            goal=Goal(solver.settings.tol),
            check=solver.check,
            budget=solver.budget,
            observer=observe,
            rng=solver.rng(),
            runner=LocalRunner(workers),
            start=self.problem.start,
        )
        found = engine.solve()
        if not engine.unfinished or not strategy.until_certified:
            return found
        rest = replace(
            self,
            problem=self.problem.starting_at(found.beta),
            observe=lambda record: observe(after(found, record)),
        )
        more = rest.by_rounds(strategy)
        if not more.trace:  # stopped before it knew anything better
            more = replace(more, beta=found.beta, bias=found.bias)
            more = replace(more, dual_objective=found.dual_objective)
        return continued(found, more)

    def _workers(self, strategy: WeightedSampling) -> int:
        """Samples that are solved at the same time."""
        solver = self.solver
        if isinstance(solver.gram.kernel, Callable):
            return 1
        least = least_memory(self.problem.dual, solver.gram.left.shape[1])
        room = solver.settings.max_memory // least
        return max(1, min(solver.threads, strategy.sites, room))

    def _sample_solver(self, workers: int) -> SolveSample:
        """Return what solves the dual of a sample."""
        solver, dual = self.solver, self.problem.dual
        settings = replace(
            solver.settings,
            strategy=Auto(),
            tol=Goal(solver.settings.tol).aim,  # rows that violate by more are counted
            max_memory=solver.settings.max_memory // workers,
        )
        threads = max(1, solver.threads // workers)

        def solve(
            rows: Ints, start: Floats | None, budget: Budget, rng: np.random.Generator
        ) -> Solution:
            sample = Problem(select(dual, rows))
            if start is not None:
                sample = sample.starting_at(start)
            return Solver(
                solver.gram.select(rows),
                settings,
                budget,
                lambda record: None,
                threads,
                lambda: rng,
                None,
            ).solve(sample)

        return solve


def solved_whole(gram: Gram, dual: Dual, settings: Settings) -> bool:
    """Whether a problem is small enough to be solved whole; the core knows no diagonal term."""
    if dual.diagonal is not None:
        return False
    capacity = working_set_capacity(settings.max_memory, dual, gram.left.shape[1])
    return whole.suits(gram, dual.rows, settings.strategy, capacity)


def solve_whole(
    grams: Sequence[Gram],
    problems: Sequence[Problem],
    settings: Settings,
    budget: Budget,
    threads: int,
    numbers: Sequence[int] = (0,),
) -> list[Solution]:
    """Solve small problems in one call; what becomes of them is for `Solver.finish` to say.

    `numbers` are what they are called in their records.
    """
    budget.look_at_clock()
    return whole.solve(
        grams,
        [problem.dual for problem in problems],
        [problem.start for problem in problems],
        goal=Goal(settings.tol),
        budget=budget,
        threads=threads,
        numbers=numbers,
    )


def stopped_by(stop: OutOfBudget | KeyboardInterrupt) -> Status:
    """The status of a solution that was not finished."""
    return stop.status if isinstance(stop, OutOfBudget) else Status.INTERRUPTED


def untouched(problem: Problem, status: Status) -> Solution:
    """Where a problem begins, for one that there is no time for."""
    dual = problem.dual
    beta = dual.feasible_point() if problem.start is None else problem.start
    return Solution(
        beta=beta,
        bias=np.zeros(dual.groups),
        dual_objective=-np.inf if beta.any() else 0.0,  # which bounds it from below
        status=status,
        trace=Trace(),
        pair_steps=0,
        kernel_values=0,
    )


def after(solution: Solution, record: TraceRecord) -> TraceRecord:
    """A record of what came after a solution, with the accounts of both."""
    return replace(
        record,
        round=record.round + len(solution.trace),
        pair_steps=record.pair_steps + solution.pair_steps,
        kernel_values=record.kernel_values + solution.kernel_values,
    )


def continued(solution: Solution, more: Solution) -> Solution:
    """A solution reached from another one, with the accounts of both."""
    return replace(
        more,
        trace=Trace([*solution.trace, *(after(solution, record) for record in more.trace)]),
        pair_steps=solution.pair_steps + more.pair_steps,
        kernel_values=solution.kernel_values + more.kernel_values,
    )


def train(
    kernel: Kernel,
    rows: Rows,
    problem: Problem,
    settings: Settings,
    observe: Observer,
    kept: Ints | None = None,
) -> Trained:
    """Solve one problem and certify the result; `kept` are its rows among all, if not all are."""
    threads = threads_for(problem.dual.rows, settings)
    budget = Budget(settings.max_time, settings.max_steps)
    gram = Gram(kernel, rows, threads=threads).select(kept, diagonal=problem.dual.diagonal)
    examiner = Examiner(gram, problem, budget, settings)
    rng = settings.rng
    solver = Solver(gram, settings, budget, observe, threads, lambda: rng, examiner.check)
    with limited_blas(1):
        return examiner.certified(solver.solve(problem))


class Examiner:
    """Examines points of one problem for the engine; remembers the last one and the best one."""

    def __init__(self, gram: Gram, problem: Problem, budget: Budget, settings: Settings) -> None:
        self.gram, self.problem, self.poll = gram, problem, Poll(budget.look_at_end)
        self.tol, self.gap_tol = settings.tol, settings.gap_tol
        self._last: tuple[Floats, Examination, Part] | None = None
        self._best: tuple[Floats, Examination] | None = None

    def examine(self, beta: Floats) -> Examination:
        """Examine a point over all rows. Sets: last, best."""
        if self._last is None or not np.array_equal(beta, self._last[0]):
            self._last = self._examined(beta.copy())
        beta, found, _ = self._last
        if self._best is None or found.dual > self._best[1].dual:
            self._best = beta, found
        return found

    def _examined(self, beta: Floats) -> tuple[Floats, Examination, Part]:
        dual = self.problem.dual
        part = Part.whole(self.gram, dual, beta, poll=self.poll)
        convex = self.gram.kernel.positive
        found = examine_parts(here([part]), dual.total, convex=convex, tol=self.tol, compare=True)
        return beta, found, part

    def check(self, beta: Floats) -> Check:
        """Return what the engine asks for."""
        found = self.examine(beta)
        assert self._last is not None
        scores = self._last[2].scores
        aim = found.next_violation(self.tol, self.gap_tol)
        return Check(found.violation, scores.score, scores.exact, aim)

    def certified(self, solution: Solution) -> Trained:
        """Return the solution with its certificate: an empty one if there is no time for another.

        A point whose dual objective is below that of zero, or of a point examined before, is
        replaced by the better one.
        """
        support = int(solution.beta.any(axis=0).sum())
        cost = 3.0 * self.gram.seconds_per_value * support * self.problem.dual.rows
        if solution.status == Status.INTERRUPTED and cost > ANSWER_WITHIN:
            return uncertified(solution, self.tol, self.gap_tol)
        try:
            found = self.examine(solution.beta)
            if not found.meets(self.tol, self.gap_tol):
                solution, found = self._best_of(solution, found)
        except (OutOfBudget, KeyboardInterrupt) as stop:
            if isinstance(stop, KeyboardInterrupt):
                solution = replace(solution, status=Status.INTERRUPTED)
            return uncertified(solution, self.tol, self.gap_tol)
        every = solution.kernel_values + self.poll.kernel_values
        certificate = found.certificate(solution.status, self.tol, self.gap_tol)
        return Trained(replace(solution, kernel_values=every), found.bias, certificate)

    def _best_of(self, solution: Solution, found: Examination) -> tuple[Solution, Examination]:
        """Replace a solution by the best point that was examined, zero included."""
        if not self.problem.dual.total.any() and not found.dual >= 0:
            self.examine(np.zeros_like(solution.beta))
        assert self._best is not None
        beta, best = self._best
        if not best.dual > found.dual:
            return solution, found
        found_again = replace(solution, beta=beta, bias=best.bias, dual_objective=best.dual)
        return found_again, best


def uncertified(solution: Solution, tol: float, gap_tol: float | None) -> Trained:
    """Return a solution that was not examined for lack of time, whatever the engine says."""
    status = Status.TIME_LIMIT if solution.status == Status.OPTIMAL else solution.status
    certificate = Certificate.unexamined(status, solution.dual_objective, tol, gap_tol)
    return Trained(solution, solution.bias, certificate)


def _fixed_memory(dual: Dual, columns: int) -> int:
    """Bytes of what has one entry per row, and of the scratch of a scan."""
    return dual.rows * 200 * dual.layers + min(_PANEL_BYTES, 8 * dual.rows * columns) + (1 << 20)


def least_memory(dual: Dual, columns: int) -> int:
    """Bytes without which a problem cannot be solved."""
    return _fixed_memory(dual, columns) + 16 * min(_LEAST_TILE, dual.rows) ** 2


def working_set_capacity(max_memory: int, dual: Dual, columns: int) -> int:
    """Rows of the working set whose tile, with everything else, fits into `max_memory` bytes.

    Half of what is left is for the tile in float64, half for the copy while it grows and for
    blocks of pair steps.
    """
    least = least_memory(dual, columns)
    if max_memory < least:
        raise ValueError(
            f"max_memory={max_memory:,} bytes is too small: {dual.rows:,} rows of {columns:,} "
            f"columns need at least {least:,} bytes; raise max_memory (or cache_size), or leave "
            "both at None"
        )
    return int(np.sqrt((max_memory - _fixed_memory(dual, columns)) / 16))
