"""Several classes, one against one: the problems of all pairs over the same rows, and their votes.

What the pairs share:
- rows, duplicates and the kernel are prepared once for all of them,
- a pair begins with the rows that were support vectors in earlier pairs of its two classes,
- one examination certifies all pairs: a row of class c needs the kernel values of the support
  vectors of its own class once, however many of the pairs (c, j) they serve,
- small pairs, but for tiny ones, are trained side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from threading import Lock

import numpy as np

from widestreet.arrays import Bools, Floats, Ints
from widestreet.budget import Budget, OutOfBudget
from widestreet.certificate import examine
from widestreet.estimators.training import (
    ANSWER_WITHIN,
    Examiner,
    Problem,
    Settings,
    Trained,
    least_memory,
    solve,
    threads_for,
    uncertified,
)
from widestreet.estimators.watch import Watch
from widestreet.gram import Gram
from widestreet.kernels import Callable, Kernel
from widestreet.rows import Rows
from widestreet.runners import LocalRunner
from widestreet.solution import Solution, Trace
from widestreet.threads import limited_blas

_EXPERIENCED = 1024  # rows of a class that a pair begins with, beside random ones
_LEAST_SECONDS = 0.01  # for a pair, as long as there is time at all
_TINY = 500  # rows of a pair up to which threads only wait for the interpreter
_SMALL = 4000  # rows of a pair up to which pairs are trained side by side, a thread for each


def pairs(classes: int) -> list[tuple[int, int]]:
    """All pairs of classes in the order of scikit-learn: (0, 1), (0, 2), ..., (1, 2), ..."""
    return list(combinations(range(classes), 2))


@dataclass(frozen=True, eq=False)
class OneVsOne:
    """The problems between all pairs of classes.

    Attributes
    ----------
    members : list of ndarray
        Where the rows of each class stand among all rows.
    problems : list of Problem
        In the order of `pairs`; the rows of the first class come first.
    """

    members: list[Ints]
    problems: list[Problem]

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """Which classes each problem is about."""
        return pairs(len(self.members))

    @cached_property
    def number(self) -> dict[tuple[int, int], int]:
        """Which problem is about two classes, in either order."""
        found = {pair: p for p, pair in enumerate(self.pairs)}
        return found | {(j, i): p for (i, j), p in found.items()}

    def halves(self, pair: int, values: Floats) -> tuple[Floats, Floats]:
        """Split something with a last axis over the rows of a pair by its two classes."""
        first = len(self.members[self.pairs[pair][0]])
        return values[..., :first], values[..., first:]

    def by_class(self, coefs: Sequence[Floats]) -> list[Floats]:
        """Coefficients of the pairs as one matrix per class, of shape (classes - 1, rows).

        Line l of class c belongs to the pair of c and the l-th of the other classes, which is how
        `dual_coef_` is laid out.
        """
        k = len(self.members)
        found = [np.zeros((k - 1, len(rows))) for rows in self.members]
        for p, (i, j) in enumerate(self.pairs):
            found[i][j - 1], found[j][i] = self.halves(p, coefs[p])
        return found

    def scores(self, gram: Gram, coefs: Sequence[Floats]) -> list[Floats]:
        """Scores K c of the rows of every pair in float64."""
        k = len(self.members)
        matrix = self.by_class(coefs)
        found = [np.zeros(len(c)) for c in coefs]
        for c, rows in enumerate(self.members):
            support = matrix[c].any(axis=0)
            own = gram.scan(rows, rows[support], matrix[c][:, support])
            for line, other in enumerate(x for x in range(k) if x != c):
                p = self.number[c, other]
                mine = self.halves(p, found[p])[int(c > other)]
                mine += own[line]
                theirs = matrix[other][c if c < other else c - 1]
                used = np.flatnonzero(theirs)
                mine += gram.scan(rows, self.members[other][used], theirs[used])
        return found


def train_pairs(
    kernel: Kernel, rows: Rows, machines: OneVsOne, settings: Settings, watch: Watch
) -> list[Trained]:
    """Solve and certify the problems of all pairs, in their order."""
    sizes = [problem.dual.rows for problem in machines.problems]
    side_by_side = _TINY < max(sizes) <= _SMALL and settings.threads > 1 and not watch.in_order
    side_by_side = side_by_side and not isinstance(kernel, Callable)  # may not expect company
    workers = min(settings.threads, len(sizes)) if side_by_side else 1
    threads = 1 if side_by_side else threads_for(max(sizes), settings)
    largest = machines.problems[int(np.argmax(sizes))].dual
    workers = min(workers, max(1, settings.max_memory // least_memory(largest, rows.shape[1])))
    settings = replace(settings, max_memory=settings.max_memory // workers)
    with limited_blas(1):
        fit = _Fit(kernel, rows, machines, settings, watch, threads, workers)
        return fit.certified(fit.solve_all())


class _Fit:
    """The fit of all pairs."""

    def __init__(
        self,
        kernel: Kernel,
        rows: Rows,
        machines: OneVsOne,
        settings: Settings,
        watch: Watch,
        threads: int,
        workers: int,
    ) -> None:
        self.machines, self.settings, self.watch = machines, settings, watch
        self.threads, self.workers = threads, workers
        self.gram = Gram(kernel, rows, threads=threads)
        self.budget = Budget(settings.max_time)  # of everything
        self._budgets: list[Budget] = []  # of the pairs begun
        self._rngs = settings.rng.spawn(len(machines.problems))
        self._rows_left = sum(problem.dual.rows for problem in machines.problems)
        self._served = [np.zeros(len(rows), dtype=np.int64) for rows in machines.members]
        self._proof = 0.0  # seconds that examining the pairs solved so far will take
        self._lock = Lock()

    # -- solving -----------------------------------------------------------------------------------

    def solve_all(self) -> list[Solution]:
        every = range(len(self.machines.problems))
        return LocalRunner(self.workers).map(self._solve, every, on_interrupt=self._stop)

    def _solve(self, p: int) -> Solution:
        """Solve a pair, beginning with rows that served its classes before."""
        problem = self.machines.problems[p]
        try:
            budget = self._share(problem.dual.rows)
            if budget is None:
                return self._untouched(problem)
            if self.workers == 1 and problem.start is None:  # else it would depend on who was first
                problem = replace(problem, first=self._experienced(p))
            with self.watch.problem(p) as observe:
                solution = solve(
                    self.gram,
                    problem,
                    self.settings,
                    budget,
                    observe,
                    threads=self.threads,
                    rng=self._rngs[p],
                    check=None,
                )
            self._learn(p, solution)
            if solution.status == "interrupted":
                self._stop()
            return _labelled(solution, p)
        except KeyboardInterrupt:  # just beside the engine
            self._stop()
            return self._untouched(problem)

    def _untouched(self, problem: Problem) -> Solution:
        """Where a pair begins, for one that there is no time for."""
        dual = problem.dual
        beta = dual.feasible_point() if problem.start is None else problem.start
        return Solution(
            beta=beta,
            bias=np.zeros(dual.groups),
            dual_objective=-np.inf if beta.any() else 0.0,  # which bounds it from below
            status="interrupted" if self.budget.stopped else "time_limit",
            trace=Trace(),
            pair_steps=0,
            kernel_values=0,
        )

    def _share(self, rows: int) -> Budget | None:
        """Time for a pair of so many rows: its part of what is left, less that for the proof.

        None when there is none left.
        """
        with self._lock:
            seconds = self.budget.max_time
            if self.budget.stopped:
                return None
            if seconds is not None:
                done = max(1, len(self._budgets))
                proof = self._proof * len(self.machines.problems) / done
                proof = min(max(proof, 0.1 * seconds), 0.6 * seconds)
                left = max(0.0, seconds - self.budget.elapsed - proof)
                if left == 0:
                    return None
                share = min(1.0, self.workers * rows / max(rows, self._rows_left))
                seconds = max(1e-9, min(left, max(_LEAST_SECONDS, left * share)))
            self._rows_left -= rows
            self._budgets.append(Budget(seconds, self.settings.max_steps))
            return self._budgets[-1]

    def _stop(self) -> None:
        """Let the pairs that are being solved end where they are, and those to come at once."""
        with self._lock:
            for budget in (self.budget, *self._budgets):
                budget.stopped = True

    def _experienced(self, p: int) -> Ints:
        """Rows of a pair that were support vectors most often, as many of either class."""
        found = []
        for c in self.machines.pairs[p]:
            often = np.argsort(-self._served[c], kind="stable")[:_EXPERIENCED]
            found.append(often[self._served[c][often] > 0])
        found[1] += len(self.machines.members[self.machines.pairs[p][0]])
        return np.concatenate(found)

    def _learn(self, p: int, solution: Solution) -> None:
        """Note who was a support vector, and what the proof will cost."""
        i, j = self.machines.pairs[p]
        first, second = self.machines.halves(p, solution.beta[0])
        support = np.count_nonzero(first) + np.count_nonzero(second)
        cost = 2.0 * self.gram.seconds_per_value * support * solution.beta.shape[1]
        with self._lock:
            self._proof += cost
            self._served[i] += first != 0
            self._served[j] += second != 0

    # -- proving -----------------------------------------------------------------------------------

    def certified(self, solutions: list[Solution]) -> list[Trained]:
        """Examine all pairs at once; those that fail go on from where they are."""
        tol = self.settings.tol
        if self.budget.stopped and self._proof > ANSWER_WITHIN:
            return [uncertified(solution, tol) for solution in solutions]
        self.budget.stopped = False  # what is still to come is short
        try:
            return self._examined(solutions)
        except (OutOfBudget, KeyboardInterrupt) as stop:
            if isinstance(stop, KeyboardInterrupt):
                solutions = [replace(s, status="interrupted") for s in solutions]
            return [uncertified(solution, tol) for solution in solutions]

    def _examined(self, solutions: list[Solution]) -> list[Trained]:
        tol, machines = self.settings.tol, self.machines
        gram = self.gram.twin(self.budget.look_at_end)
        scores = machines.scores(gram, [s.beta.sum(axis=0) for s in solutions])
        found = []
        for p, (problem, solution) in enumerate(zip(machines.problems, solutions, strict=True)):
            seen = examine(gram, problem.dual, solution.beta, score=scores[p])
            certificate = seen.certificate(solution.status, tol)
            found.append(Trained(solution, seen.bias, certificate))
        unfinished = [p for p, one in enumerate(found) if _may_go_on(one)]
        for k, p in enumerate(unfinished):
            found[p] = self._again(p, found[p], len(unfinished) - k)
            if found[p].certificate.status == "interrupted":
                break
        every = found[0].solution.kernel_values + gram.kernel_values
        found[0] = replace(found[0], solution=replace(found[0].solution, kernel_values=every))
        return found

    def _again(self, p: int, trained: Trained, sharing: int) -> Trained:
        """Go on with a pair under the eyes of an examiner, in a part of the time that is left."""
        solution = trained.solution
        seconds, steps = self.budget.max_time, self.settings.max_steps
        if seconds is not None:
            seconds = (seconds - self.budget.elapsed) / sharing
            if seconds < _LEAST_SECONDS:
                return trained
        budget = Budget(seconds, steps if steps < 0 else max(0, steps - solution.pair_steps))
        problem = self.machines.problems[p].starting_at(solution.beta)
        examiner = Examiner(self.gram, problem, budget)
        more = solve(
            self.gram,
            problem,
            self.settings,
            budget,
            lambda record: None,
            threads=self.threads,
            rng=self._rngs[p],
            check=examiner.check,
        )
        return examiner.certified(_continued(solution, _labelled(more, p)), self.settings.tol)


def _may_go_on(trained: Trained) -> bool:
    """Whether the examination disagrees with the engine, or only time was wanting."""
    unsettled = ("optimal", "time_limit", "stalled")
    return trained.certificate.status != "optimal" and trained.solution.status in unsettled


def _labelled(solution: Solution, problem: int) -> Solution:
    """A solution whose records say to which problem they belong."""
    trace = Trace(replace(record, problem=problem) for record in solution.trace)
    return replace(solution, trace=trace)


def _continued(solution: Solution, more: Solution) -> Solution:
    """A solution reached from another one, with the accounts of both."""
    trace = [
        replace(
            record,
            round=record.round + len(solution.trace),
            pair_steps=record.pair_steps + solution.pair_steps,
            kernel_values=record.kernel_values + solution.kernel_values,
        )
        for record in more.trace
    ]
    return replace(
        more,
        trace=Trace([*solution.trace, *trace]),
        pair_steps=solution.pair_steps + more.pair_steps,
        kernel_values=solution.kernel_values + more.kernel_values,
    )


# -- votes -----------------------------------------------------------------------------------------


def count_votes(won: Bools, classes: int) -> Ints:
    """Votes of each row for each class.

    Parameters
    ----------
    won : ndarray of shape (n, pairs)
        Whether the first class of a pair has the vote.
    classes : int
    """
    votes = np.zeros((len(won), classes), dtype=np.int64)
    for p, (i, j) in enumerate(pairs(classes)):
        votes[:, i] += won[:, p]
        votes[:, j] += ~won[:, p]
    return votes


def most_votes(decision: Floats, classes: int) -> Ints:
    """The class with the most votes, the first of equals; zero is a vote for the second of a pair.

    Parameters
    ----------
    decision : ndarray of shape (n, pairs)
    classes : int
    """
    winner: Ints = count_votes(decision > 0, classes).argmax(axis=1)
    return winner


def one_vs_rest(decision: Floats, classes: int) -> Floats:
    """One value per class: its votes, and within a third of a vote the sum of its decision values.

    Zero is a vote for the first of a pair: with `most_votes`, this is what scikit-learn does.

    Parameters
    ----------
    decision : ndarray of shape (n, pairs)
    classes : int
    """
    trust = np.zeros((len(decision), classes))
    for p, (i, j) in enumerate(pairs(classes)):
        trust[:, i] += decision[:, p]
        trust[:, j] -= decision[:, p]
    value: Floats = count_votes(decision >= 0, classes) + trust / (3 * (np.abs(trust) + 1))
    return value
