"""Examine points of a problem while it is solved, and certify the last one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from widestreet._src.arrays import Floats
from widestreet._src.certificate import Examination, Part, examine_all, examine_parts, here, scores
from widestreet._src.engines.budget import Budget, OutOfBudget
from widestreet._src.engines.solution import Solution
from widestreet._src.engines.working_set.state import Check
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.poll import Poll
from widestreet._src.status import Status
from widestreet._src.training.outcome import Trained, uncertified
from widestreet._src.training.problem import Problem
from widestreet._src.training.settings import Settings

_ROWS_OF_THE_CORE = 2048  # of duals for which the calls of Python cost more than the sums
ANSWER_WITHIN = 0.15  # seconds a certificate may take after an interrupt


class Examiner:
    """Examines points of one problem for the engine; remembers the last one and the best one."""

    def __init__(self, gram: Gram, problem: Problem, budget: Budget, settings: Settings) -> None:
        self.gram, self.problem, self.poll = gram, problem, Poll(budget.look_at_end)
        self.goal = settings.goal
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
        gram, dual, tol = self.gram, self.problem.dual, self.goal.tol
        if dual.rows <= _ROWS_OF_THE_CORE and dual.diagonal is None:
            score = scores(gram, beta, self.poll)
            [found] = examine_all(gram, [dual], [beta], [score])
            part = Part.whole(gram, dual, beta, score, self.poll)
            if not found.violation <= tol < found.violation + found.rounding:
                rounding = float("inf") if part.disagrees() else found.rounding
                return beta, replace(found, rounding=rounding), part
        part = Part.whole(gram, dual, beta, poll=self.poll)
        convex = gram.kernel.positive
        found = examine_parts(here([part]), dual.total, convex=convex, tol=tol, compare=True)
        return beta, found, part

    def check(self, beta: Floats) -> Check:
        """Return what the engine asks for."""
        found = self.examine(beta)
        assert self._last is not None
        scores = self._last[2].scores
        aim = found.next_violation(self.goal)
        return Check(found.violation, scores.score, scores.exact, aim)

    def certified(self, solution: Solution) -> Trained:
        """Return the solution with its certificate: an empty one if there is no time for another.

        A point whose dual objective is below that of zero, or of a point examined before, is
        replaced by the better one.
        """
        support = int(solution.beta.any(axis=0).sum())
        cost = 3.0 * self.gram.seconds_per_value * support * self.problem.dual.rows
        if solution.status == Status.INTERRUPTED and cost > ANSWER_WITHIN:
            return uncertified(solution, self.goal)
        try:
            found = self.examine(solution.beta)
            if not found.meets(self.goal):
                solution, found = self._best_of(solution, found)
        except (OutOfBudget, KeyboardInterrupt) as stop:
            if isinstance(stop, KeyboardInterrupt):
                solution = replace(solution, status=Status.INTERRUPTED)
            return uncertified(solution, self.goal)
        every = solution.kernel_values + self.poll.kernel_values
        certificate = found.certificate(solution.status, self.goal)
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
