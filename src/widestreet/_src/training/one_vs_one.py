"""Several classes, one against one: the problems of all pairs over the same rows, and their votes.

The pairs share work:
- Rows, duplicates and the kernel are prepared once for all pairs.
- A pair starts with the rows that were support vectors in earlier pairs of its two classes.
- One examination certifies all pairs. The kernel values between a row of class c and the support
  vectors of class c are computed once for all pairs (c, j).
- Small pairs are solved in one native call for many of them, pairs of moderate size in parallel.
- A device solves pairs side by side (pairs_on_device.py).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from copy import copy
from dataclasses import replace
from functools import cached_property
from threading import Lock

import numpy as np

from widestreet._src.arrays import Floats, Ints
from widestreet._src.certificate import (
    Examination,
    GapEstimate,
    disagrees,
    examine,
    examine_all,
)
from widestreet._src.engines.budget import Budget, OutOfBudget
from widestreet._src.engines.solution import Observer, Solution
from widestreet._src.engines.working_set import small
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import Callable, Kernel
from widestreet._src.kernels.poll import Poll
from widestreet._src.reporting.observers import Observers
from widestreet._src.rows import Rows
from widestreet._src.shards.point import Point
from widestreet._src.shards.runner import LocalRunner
from widestreet._src.status import Status
from widestreet._src.threads import limited_blas
from widestreet._src.training.engine_sequence import Solver, in_memory
from widestreet._src.training.examiner import ANSWER_WITHIN, Examiner, sampled_gap
from widestreet._src.training.memory_of_fit import least_memory, with_room_for_levels
from widestreet._src.training.pair_budgets import LEAST_SECONDS, PairBudgets
from widestreet._src.training.pair_forecast import PairForecast
from widestreet._src.training.pair_problems import PairProblems
from widestreet._src.training.pairs_on_device import pairs_for_device, solve_on_device
from widestreet._src.training.problem import Problem
from widestreet._src.training.settings import Settings, threads_for
from widestreet._src.training.small_problems import is_small, solve_small
from widestreet._src.training.trained import (
    Trained,
    continued,
    labelled,
    stopped_by,
    uncertified,
    untouched,
)

_COST_PER_THREAD = 1e8  # multiply-adds (an upper bound) that justify one more thread
_MOST_FIRST_ROWS = 1024  # former support vectors of a class with which a pair starts
_SERIAL_ROWS = 500  # up to this many rows of a pair, threads would wait for the interpreter
_LEFT_OVER = 0.1  # of `max_time`: with more left, pairs that their share ended continue
_PARALLEL_ROWS = 4000  # up to this many rows of a pair, pairs are trained in parallel


def train_pairs(
    kernel: Kernel, rows: Rows, machines: PairProblems, settings: Settings, watch: Observers
) -> list[Trained]:
    """Solve and certify the problems of all pairs, in their order."""
    sizes = [problem.dual.rows for problem in machines.problems]
    largest = machines.problems[int(np.argmax(sizes))].dual
    rows, settings = with_room_for_levels(rows, largest, settings)
    helpers = max(1, settings.max_memory // least_memory(largest, rows.shape[1]))
    helpers = min(settings.threads, helpers)
    parallel = _SERIAL_ROWS < max(sizes) <= _PARALLEL_ROWS and not watch.in_order
    parallel = parallel and not isinstance(kernel, Callable)  # it may not be thread-safe
    workers = min(helpers, len(sizes)) if parallel else 1
    threads = 1 if workers > 1 else threads_for(max(sizes), settings)
    with limited_blas(1):
        fit = _Fit(kernel, rows, machines, settings, watch, threads, workers, helpers)
        return fit.certified(fit.solve_all())


class _Fit:
    """Fit of all pairs of classes."""

    def __init__(
        self,
        kernel: Kernel,
        rows: Rows,
        machines: PairProblems,
        settings: Settings,
        watch: Observers,
        threads: int,
        workers: int,
        helpers: int = 1,
    ) -> None:
        self.machines, self.watch = machines, watch
        self.threads, self.workers, self.helpers = threads, workers, helpers
        self.settings = replace(settings, max_memory=settings.max_memory // workers)
        self.helper_settings = replace(settings, max_memory=settings.max_memory // helpers)
        self.gram = Gram(kernel, rows, threads=threads)
        self.budget = Budget(settings.max_time)  # of the whole fit
        self._served = [np.zeros(len(rows), dtype=np.int64) for rows in machines.members]
        sizes = [one.dual.rows for one in machines.problems]
        self._proof = PairForecast(self.gram, sizes)
        self._shares = PairBudgets(
            self.budget, sum(sizes), workers, settings.max_steps, self._proof
        )
        self._lock = Lock()  # of what pairs learn from one another

    @cached_property
    def _rngs(self) -> list[np.random.Generator]:
        """Random generators of the pairs, created when the first of them is needed."""
        return self.settings.rng.spawn(len(self.machines.problems))

    # -- solving -----------------------------------------------------------------------------------

    def solve_all(self) -> list[Solution]:
        """Solve pairs on a device, small ones in one native call each group, others by rounds."""
        problems = self.machines.problems
        found: dict[int, Solution] = {}
        try:
            found |= self._solve_on_device()
            for group, threads in self._groups(found):
                found |= zip(group, self._solve_group(group, threads), strict=True)
        except KeyboardInterrupt:  # raised between two calls: no pair continues
            self._shares.stop()
        large = [p for p in range(len(problems)) if p not in found]
        runner = LocalRunner(self.workers)
        found |= zip(
            large, runner.map(self._solve, large, on_interrupt=self._shares.stop), strict=True
        )
        return [found[p] for p in range(len(problems))]

    def _solve_on_device(self) -> dict[int, Solution]:
        """Solve pairs side by side on a device, if that pays; those that stall continue here.

        With callbacks it does not: they see one pair at a time.
        """
        if self.watch.in_order:
            return {}
        problems, settings = self.machines.problems, self.settings
        numbers = pairs_for_device(self.gram, self.machines, settings, self.helpers)
        if not numbers:
            return {}
        found = solve_on_device(self.gram, self.machines, numbers, settings, self._shares)
        stalled = {p for p, solution in found.items() if solution.status == Status.STALLED}
        rows = [problem.dual.rows for problem in problems]
        self._shares.restart(sum(rows[p] for p in stalled.union(range(len(rows)) - found.keys())))

        def finish(p: int) -> Solution:
            budget = self._shares.share(rows[p]) if p in stalled else None
            return self._finish(p, problems[p], found[p], budget)

        runner = LocalRunner(self.workers)
        finished = runner.map(finish, list(found), on_interrupt=self._shares.stop)
        return dict(zip(found, finished, strict=True))

    def _groups(self, found: Collection[int]) -> Iterator[tuple[list[int], int]]:
        """Yield groups of small pairs to solve in one short call, with their number of threads.

        Pairs that were found before are left out. With callbacks each group is one pair.
        """
        limit = self.helpers * small.CALL_COST
        costs: dict[int, float] = {}  # by number of rows; infinite for large pairs
        group: list[int] = []
        cost = 0.0
        for p, problem in enumerate(self.machines.problems):
            rows = problem.dual.rows
            if p in found:
                continue
            if rows not in costs:
                fits = is_small(self.gram, problem.dual, self.helper_settings)
                costs[rows] = small.cost_of_many(self.gram, rows) if fits else np.inf
            more = costs[rows]
            if more == np.inf:
                continue
            if group and (cost + more > limit or self.watch.in_order):
                yield group, _threads_worth(cost, self.helpers)
                group, cost = [], 0.0
            group.append(p)
            cost += more
        if group:
            yield group, _threads_worth(cost, self.helpers)

    def _solve_group(self, group: list[int], threads: int) -> list[Solution]:
        """Solve pairs in one native call; those that it does not finish continue by rounds."""
        problems = [self.machines.problems[p] for p in group]
        budget = self._shares.share(sum(problem.dual.rows for problem in problems))
        if budget is None:
            return [untouched(problem, self._shares.why) for problem in problems]
        grams = [self.gram.select(self.machines.rows(p)) for p in group]
        try:
            solutions = solve_small(grams, problems, self.settings, budget, threads, numbers=group)
        except (OutOfBudget, KeyboardInterrupt) as stop:
            if isinstance(stop, KeyboardInterrupt):
                self._shares.stop()
            return [untouched(problem, stopped_by(stop)) for problem in problems]
        return [
            self._finish(*one, copy(budget)) for one in zip(group, problems, solutions, strict=True)
        ]

    def _finish(
        self, p: int, problem: Problem, solution: Solution, budget: Budget | None
    ) -> Solution:
        """Report a pair that was solved with others; continue by rounds if it has stalled.

        Without a budget it does not continue.
        """
        self._shares.count(solution.trace[0].n_sv, problem.dual.rows)
        if budget is None and solution.status == Status.STALLED:
            solution = replace(solution, status=self._shares.why)
        try:
            if budget is None or solution.status == Status.OPTIMAL:
                self.watch.tell(solution.trace[-1])
                return solution
            with self.watch.problem(p) as observe:
                solution = self._solver(p, observe, budget).finish(problem, solution)
        except (OutOfBudget, KeyboardInterrupt) as stop:
            solution = replace(solution, status=stopped_by(stop))
        if solution.status == Status.INTERRUPTED:
            self._shares.stop()
        return labelled(solution, p)

    def _gram(self, p: int) -> Gram:
        """Return the kernel values of the rows of a pair, with the diagonal of its dual."""
        diagonal = self.machines.problems[p].dual.diagonal
        return self.gram.select(self.machines.rows(p), diagonal=diagonal)

    def _solver(self, p: int, observe: Observer, budget: Budget) -> Solver:
        """Return the solver of a pair."""
        gram, dual = self._gram(p), self.machines.problems[p].dual
        return Solver(
            gram,
            in_memory(gram, dual, budget, self.threads),
            self.settings,
            budget,
            observe,
            self.threads,
            rng=lambda: self._rngs[p],
            check=None,
        )

    def _solve(self, p: int) -> Solution:
        """Solve a pair by rounds, starting with former support vectors of its classes."""
        problem = self.machines.problems[p]
        try:
            budget = self._shares.share(problem.dual.rows)
            if budget is None:
                return untouched(problem, self._shares.why)
            # in parallel, the first rows would depend on the order in which pairs end
            if self.workers == 1 and problem.start is None:
                problem = replace(problem, first=self._first_rows(p))
            with self.watch.problem(p) as observe:
                solution = self._solver(p, observe, budget).by_rounds(problem, observe)
            self._learn(p, solution)
            if solution.status == Status.INTERRUPTED:
                self._shares.stop()
            return labelled(solution, p)
        except KeyboardInterrupt:  # raised outside the engine
            self._shares.stop()
            return untouched(problem, self._shares.why)

    def _first_rows(self, p: int) -> Ints:
        """Return the rows of a pair that were support vectors most often, of both classes."""
        found = []
        for c in self.machines.layout.pairs[p]:
            often = np.argsort(-self._served[c], kind="stable")[:_MOST_FIRST_ROWS]
            found.append(often[self._served[c][often] > 0])
        found[1] += len(self.machines.members[self.machines.layout.pairs[p][0]])
        return np.concatenate(found)

    def _learn(self, p: int, solution: Solution) -> None:
        """Count the support vectors of a pair. Sets: proof, served."""
        i, j = self.machines.layout.pairs[p]
        first, second = self.machines.halves(p, solution.beta[0])
        self._shares.count(int(np.count_nonzero(solution.beta[0])), solution.beta.shape[1])
        with self._lock:
            self._served[i] += first != 0
            self._served[j] += second != 0

    # -- certifying --------------------------------------------------------------------------------

    def certified(self, solutions: list[Solution]) -> list[Trained]:
        """Examine all pairs at once; continue those that do not meet the goal."""
        if self.budget.stopped and all(s.status != Status.INTERRUPTED for s in solutions):
            # an interrupt after all pairs were solved is reported with the last pair
            solutions = [*solutions[:-1], replace(solutions[-1], status=Status.INTERRUPTED)]
        try:
            if self.budget.stopped and self._proof.seconds(solved=True) > ANSWER_WITHIN:
                raise KeyboardInterrupt
            self.budget.stopped = False  # the examination is short
            return self._examined(solutions)
        except (OutOfBudget, KeyboardInterrupt) as stop:
            if isinstance(stop, KeyboardInterrupt):  # pairs that were solved are not certified
                solutions = [replace(s, status=Status.INTERRUPTED) for s in solutions]
                return [uncertified(solution, self.settings.goal) for solution in solutions]
            return [
                uncertified(solution, self.settings.goal, self._estimate(p, solution))
                for p, solution in enumerate(solutions)
            ]

    def _examined(self, solutions: list[Solution]) -> list[Trained]:
        goal, machines = self.settings.goal, self.machines
        gram, poll = self.gram, Poll(self.budget.look_at_end)
        betas = [solution.beta for solution in solutions]
        scores = machines.scores(gram, [beta[0] for beta in betas], self.helpers, poll)
        duals = [problem.dual for problem in machines.problems]
        if duals[0].diagonal is None:
            seen = examine_all(gram, duals, betas, scores)
        else:
            for p, (dual, beta) in enumerate(zip(duals, betas, strict=True)):
                scores[p] += dual.diagonal * beta[0]
            seen = [
                examine(self._gram(p), dual, beta, score)
                for p, (dual, beta, score) in enumerate(zip(duals, betas, scores, strict=True))
            ]
        solutions = self._settle(poll, solutions, seen, scores)
        found = [
            Trained(solution, one.bias, one.certificate(solution.status, goal))
            for solution, one in zip(solutions, seen, strict=True)
        ]
        self._go_on(found)
        every = found[0].solution.kernel_values + poll.kernel_values
        found[0] = replace(found[0], solution=replace(found[0].solution, kernel_values=every))
        return found

    def _go_on(self, found: list[Trained]) -> None:
        """Continue pairs that are not certified, those ended by time while any is left over.

        Sets: found.
        """
        unfinished = [p for p, one in enumerate(found) if _may_go_on(one)]
        while unfinished:
            for k, p in enumerate(unfinished):
                again = self._again(p, found[p], len(unfinished) - k)
                interrupted = again.certificate.status == Status.INTERRUPTED
                if interrupted or again.at_least_as_good_as(found[p]):
                    found[p] = again
                if interrupted:
                    return
            left, limit = self.budget.remaining(), self.budget.max_time
            if left is None or limit is None or left < _LEFT_OVER * limit:
                return
            unfinished = [p for p in unfinished if found[p].certificate.status == Status.TIME_LIMIT]

    def _estimate(self, p: int, solution: Solution) -> GapEstimate | None:
        """Estimate the gap of a pair that there is no time to examine."""
        shards = in_memory(self._gram(p), self.machines.problems[p].dual, Budget(), self.threads)
        share = self.budget.part(1 / (len(self.machines.problems) - p))
        return sampled_gap(shards(), solution, share, self._proof.seconds(solved=True))

    def _settle(
        self,
        poll: Poll,
        solutions: list[Solution],
        seen: list[Examination],
        scores: list[Floats],
    ) -> list[Solution]:
        """Refine examinations, and replace points that are worse than zero by zero.

        Rounding is bounded row by row where that decides whether a pair is optimal. The scores of
        the largest pair are compared with a second computation. Sets: seen and scores.
        """
        problems, goal, kept = self.machines.problems, self.settings.goal, list(solutions)
        for p, (problem, one) in enumerate(zip(problems, seen, strict=True)):
            dual, beta, score = problem.dual, kept[p].beta, scores[p]
            if one.limited_by_rounding(goal):
                seen[p] = examine(self._gram(p), dual, beta, score, goal=goal, poll=poll)
            elif not (dual.total.any() or one.dual >= 0 or one.meets(goal)):
                zero = Point.zero(dual.layers)
                scores[p] = np.zeros_like(score)
                seen[p] = examine(self._gram(p), dual, zero.dense(dual.rows), scores[p])
                kept[p] = replace(kept[p], point=zero, bias=seen[p].bias, dual_objective=0.0)
        p = int(np.argmax([beta.size * np.count_nonzero(beta) for beta in (s.beta for s in kept)]))
        coef, largest = kept[p].beta.sum(axis=0), self._gram(p)
        used = np.flatnonzero(coef)
        every = np.zeros(len(coef)), len(coef)
        if disagrees(largest, used, coef[used], scores[p], *every, poll):
            seen[:] = [one.inconsistent() for one in seen]
        return kept

    def _again(self, p: int, trained: Trained, sharing: int) -> Trained:
        """Continue a pair with an examiner, within an equal share of the remaining time."""
        solution, steps = trained.solution, self.settings.max_steps
        budget = self.budget.part(
            1 / sharing, max_steps=steps if steps < 0 else max(0, steps - solution.pair_steps)
        )
        if budget.max_time is not None and budget.max_time < LEAST_SECONDS:
            return trained
        problem = self.machines.problems[p].starting_at(solution.beta)
        observe = self.watch.again(p)
        solver = self._solver(p, observe, budget)
        examiner = Examiner(
            solver.shards, self.settings.goal, budget, solver.gram, problem.dual, observe
        )
        solver = replace(solver, check=examiner.check)
        more = labelled(solver.by_rounds(problem, solver.observe), p)
        return examiner.certified(continued(solution, more))


def _threads_worth(cost: float, most: int) -> int:
    """Return the number of threads for pairs that cost at most `cost` multiply-adds."""
    return min(most, 1 + int(cost / _COST_PER_THREAD))


def _may_go_on(trained: Trained) -> bool:
    """Return whether a pair that is not certified may continue: the engine did not fail."""
    unsettled = (Status.OPTIMAL, Status.TIME_LIMIT, Status.STALLED)
    return trained.certificate.status != Status.OPTIMAL and trained.solution.status in unsettled
