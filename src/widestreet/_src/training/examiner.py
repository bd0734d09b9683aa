"""The examiner of a fit: it examines points for the engine and certifies the last one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from widestreet._src.certificate import Examination, Part, examine_all, scores
from widestreet._src.engines.budget import Budget, OutOfBudget
from widestreet._src.engines.solution import Solution
from widestreet._src.engines.working_set.state import Check
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.poll import Poll
from widestreet._src.problems.dual import Dual
from widestreet._src.problems.goal import Goal
from widestreet._src.shards.examination import examine_shards
from widestreet._src.shards.point import Point
from widestreet._src.shards.shard_set import ShardSet
from widestreet._src.status import Status
from widestreet._src.training.outcome import Trained, uncertified

_ROWS_OF_THE_CORE = 2048  # largest dual examined by one call of the core, which is faster there
_ROUNDING_OF_DUAL = 1e-9  # smaller differences of two objectives do not decide which is better
ANSWER_WITHIN = 0.15  # largest estimated seconds of a certificate after an interrupt


class Examiner:
    """Examinations of points of one problem; the last and the best are stored.

    Parameters
    ----------
    shards : callable
        Returns the shard set of the rows; it is not called for small problems.
    goal : Goal
    budget : Budget
    gram, dual : Gram and Dual, optional
        Kernel values and variables of the rows, if they are in memory.
    """

    def __init__(
        self,
        shards: Callable[[], ShardSet],
        goal: Goal,
        budget: Budget,
        gram: Gram | None = None,
        dual: Dual | None = None,
    ) -> None:
        self.shards, self.goal, self.poll = shards, goal, Poll(budget.look_at_end)
        self._core = None
        if gram is not None and dual is not None and dual.diagonal is None:
            self._core = (gram, dual) if dual.rows <= _ROWS_OF_THE_CORE else None
        self._last: tuple[Point, Examination] | None = None
        self._best: tuple[Point, Examination] | None = None

    def examine(self, point: Point) -> Examination:
        """Examine a point over all rows. Sets: last, best."""
        if self._last is None or not point.same_as(self._last[0]):
            self._last = point, self._examined(point)
        found = self._last[1]
        if self._best is None or _is_better(found, self._best[1]):
            self._best = point, found
        return found

    def _examined(self, point: Point) -> Examination:
        """Examine a point, by one call of the core if the problem is small."""
        tol = self.goal.tol
        if self._core is not None:
            gram, dual = self._core
            beta = point.dense(dual.rows)
            score = scores(gram, beta, self.poll)
            [found] = examine_all(gram, [dual], [beta], [score])
            if not found.violation <= tol < found.violation + found.rounding:
                wrong = Part.whole(gram, dual, beta, score, self.poll).disagrees()
                return replace(found, rounding=float("inf")) if wrong else found
        shards = self.shards()
        with shards.polling(self.poll):
            return examine_shards(shards, point, tol)

    def check(self, point: Point) -> Check:
        """Examine a point and return the result as the engine uses it. Sets: last, best."""
        found = self.examine(point)
        return Check(found.violation, found.dual, found.next_violation(self.goal))

    def certified(self, solution: Solution) -> Trained:
        """Return the solution with its certificate.

        If there is no time left to examine it, the certificate has infinite bounds. If the point
        has a lower dual objective than zero or than a point examined before, it is replaced by the
        best of these.
        """
        cost = 3.0 * self._seconds_per_value * len(solution.point) * solution.rows
        if solution.status == Status.INTERRUPTED and cost > ANSWER_WITHIN:
            return uncertified(solution, self.goal)
        try:
            found = self.examine(solution.point)
            if not found.meets(self.goal):
                solution, found = self._best_of(solution, found)
        except (OutOfBudget, KeyboardInterrupt) as stop:
            if isinstance(stop, KeyboardInterrupt):
                solution = replace(solution, status=Status.INTERRUPTED)
            return uncertified(solution, self.goal)
        every = solution.kernel_values + self.poll.kernel_values
        certificate = found.certificate(solution.status, self.goal)
        return Trained(replace(solution, kernel_values=every), found.bias, certificate)

    @property
    def _seconds_per_value(self) -> float:
        """Estimated seconds per kernel value."""
        if self._core is not None:
            return self._core[0].seconds_per_value
        return self.shards().seconds_per_value

    def _best_of(self, solution: Solution, found: Examination) -> tuple[Solution, Examination]:
        """Replace a solution by the best point that was examined, zero included."""
        zero = Point.zero(len(solution.point.beta))
        if not found.mass and not found.dual >= 0:
            self.examine(zero)
        assert self._best is not None
        point, best = self._best
        if not _is_better(best, found):
            return solution, found
        better = replace(solution, point=point, bias=best.bias, dual_objective=best.dual)
        return better, best


def _is_better(one: Examination, other: Examination) -> bool:
    """Return whether a point is better than another: by the dual, or by the violation if equal."""
    rounding = _ROUNDING_OF_DUAL * max(abs(one.dual), abs(other.dual))
    if not abs(one.dual - other.dual) <= rounding:
        return one.dual > other.dual
    return one.violation < other.violation
