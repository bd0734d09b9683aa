"""The examiner of a fit: it examines points for the engine and certifies the last one."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from math import isfinite

from widestreet._src.certificate import Examination, GapEstimate, Part, examine_all, scores
from widestreet._src.engines.budget import Budget, OutOfBudget
from widestreet._src.engines.forecast import LEAST_SAMPLED_ROWS, SAMPLED_ROWS, Forecast
from widestreet._src.engines.solution import Observer, Solution
from widestreet._src.engines.working_set.state_of_rounds import Check
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.poll import Poll
from widestreet._src.problems.dual import Dual
from widestreet._src.problems.goal import Goal
from widestreet._src.shards.point import Point
from widestreet._src.shards.shard_examination import (
    examine_shards,
    gap_estimates,
    publish,
    sampled_bias,
)
from widestreet._src.shards.shard_set import ShardSet
from widestreet._src.status import Status
from widestreet._src.training.trained import Trained, uncertified

_ROWS_OF_THE_CORE = 2048  # largest dual examined by one call of the core, which is faster there
_LEAST_TIME = 0.3  # of the forecast: with less time left, no examination begins
_MOST_SAMPLED_ROWS = 20_000  # of the support vectors, and of the others, for an estimate
_LARGEST_ESTIMATE = 0.05  # of the time limit, kept back for an estimate in examinations
_SAFETY = 1.2  # of the time of the next, larger sample
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
    observe : callable, optional
        Called with a record when the last examination begins.
    """

    def __init__(
        self,
        shards: Callable[[], ShardSet],
        goal: Goal,
        budget: Budget,
        gram: Gram | None = None,
        dual: Dual | None = None,
        observe: Observer | None = None,
    ) -> None:
        self.shards, self.goal = shards, goal
        self.poll = Poll(lambda: budget.look_at_end(self._kept))
        self._kept = 0.0  # seconds for an estimate, if an examination cannot end in time
        self._budget, self._observe, self._forecast = budget, observe, Forecast()
        self._core = None
        if gram is not None and dual is not None and dual.diagonal is None:
            self._core = (gram, dual) if dual.rows <= _ROWS_OF_THE_CORE else None
        self._last: tuple[Point, Examination] | None = None
        self._best: tuple[Point, Examination] | None = None

    def examine(self, point: Point) -> Examination:
        """Examine a point over all rows. Sets: last, best."""
        if self._last is None or not point.same_as(self._last[0]):
            begun = time.perf_counter()
            self._last = point, self._examined(point)
            if self._core is None:
                seconds = time.perf_counter() - begun
                self._forecast.learn(seconds, self.shards().rows, len(point))
        found = self._last[1]
        if self._best is None or _is_better(found, self._best[1]):
            self._best = point, found
        return found

    def _examined(self, point: Point) -> Examination:
        """Examine a point, by one call of the core if the problem is small."""
        if self._core is not None:
            gram, dual = self._core
            beta = point.dense(dual.rows)
            score = scores(gram, beta, self.poll)
            [found] = examine_all(gram, [dual], [beta], [score])
            if not found.limited_by_rounding(self.goal):
                wrong = Part.whole(gram, dual, beta, score, self.poll).disagrees()
                return found.inconsistent() if wrong else found
        shards = self.shards()
        self._kept = self._seconds_of_estimate(point)
        with shards.polling(self.poll):
            return examine_shards(shards, point, self.goal)

    def _seconds_of_estimate(self, point: Point) -> float:
        """Return the seconds of an estimate of the gap; zero if none will be needed."""
        limit, shards = self._budget.max_time, self.shards()
        known = self._best is not None and isfinite(self._best[1].gap)
        if limit is None or known or not shards.kernel.positive:
            return 0.0
        seconds = self._forecast.sample_seconds(shards, len(point), LEAST_SAMPLED_ROWS)
        return min(seconds, _LARGEST_ESTIMATE * limit)

    def check(self, point: Point) -> Check:
        """Examine a point and return the result as the engine uses it. Sets: last, best."""
        found = self.examine(point)
        return Check(found.violation, found.dual, found.next_violation(self.goal))

    def certified(self, solution: Solution) -> Trained:
        """Return the solution with its certificate.

        If the time does not suffice to examine it, a point examined before takes its place. If
        there is none, the certificate has infinite bounds and an estimate of the gap. If the point
        has a lower dual objective than zero or than a point examined before, it is replaced by the
        best of these. Sets: the last record of the trace, which gets the seconds of the last
        examination.
        """
        begun, support = time.perf_counter(), len(solution.point)
        cost = 3.0 * self._seconds_per_value * support * solution.rows
        if solution.status == Status.INTERRUPTED and cost > ANSWER_WITHIN:
            return uncertified(solution, self.goal)
        known = self._last is not None and solution.point.same_as(self._last[0])
        try:
            if not known:
                self._announce(solution)
            found = self.examine(solution.point)
            if not found.meets(self.goal):
                solution, found = self._best_of(solution, found)
        except OutOfBudget:
            return self._without_time(solution)
        except KeyboardInterrupt:
            return uncertified(replace(solution, status=Status.INTERRUPTED), self.goal)
        if solution.trace and not known:
            solution.trace.add({"certificate": time.perf_counter() - begun})
        return self._trained(solution, found)

    def _trained(self, solution: Solution, found: Examination) -> Trained:
        """Return a solution with its certificate, and with the kernel values of examinations."""
        every = solution.kernel_values + self.poll.kernel_values
        certificate = found.certificate(solution.status, self.goal)
        return Trained(replace(solution, kernel_values=every), found.bias, certificate)

    def _announce(self, solution: Solution) -> None:
        """Tell observers that the last examination begins.

        Raises OutOfBudget if the time that is left is much too short for it.
        """
        if self._core is None:
            if solution.status != Status.INTERRUPTED:
                self._forecast.measure(self.shards(), self._budget, now=True)
            left = self._budget.remaining()
            if left is not None and left < _LEAST_TIME * self._seconds(solution):
                raise OutOfBudget(Status.TIME_LIMIT)
        if solution.trace and self._observe is not None:
            last = replace(solution.trace[-1], phase="certificate", seconds=self._budget.elapsed)
            self._observe(last)

    def _seconds(self, solution: Solution) -> float:
        """Return the estimated seconds of an examination."""
        return self._forecast.seconds(self.shards(), len(solution.point))

    def _without_time(self, solution: Solution) -> Trained:
        """Return the best point that was examined; else the solution with an estimate of its gap.

        The solution ended by its time limit, whatever else it reached.
        """
        if solution.status != Status.ITERATION_LIMIT:
            solution = replace(solution, status=Status.TIME_LIMIT)
        if self._best is not None and isfinite(self._best[1].gap):
            point, best = self._best
            solution = replace(solution, point=point, bias=best.bias, dual_objective=best.dual)
            return self._trained(solution, best)
        solution = with_sampled_bias(self.shards(), solution, self._budget)
        return uncertified(solution, self.goal, self._estimate(solution))

    def _estimate(self, solution: Solution) -> GapEstimate | None:
        """Estimate the gap of a solution from a sample of the rows, in the time that is left."""
        return sampled_gap(self.shards(), solution, self._budget, self._seconds(solution))

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


def with_sampled_bias(shards: ShardSet, solution: Solution, budget: Budget) -> Solution:
    """Return a solution that was stopped before the first round with biases from some rows.

    A start that meets the required sums has no bias of its own.
    """
    if solution.trace or solution.bias.any() or shards.form.diagonal is not None:
        return solution
    try:
        with shards.polling(Poll(budget.look_for_stop)):
            publish(shards, solution.point)
            return replace(solution, bias=sampled_bias(shards, SAMPLED_ROWS))
    except OutOfBudget:  # of rows elsewhere
        return solution
    except KeyboardInterrupt:
        return replace(solution, status=Status.INTERRUPTED)


def sampled_gap(
    shards: ShardSet, solution: Solution, budget: Budget, pass_seconds: float
) -> GapEstimate | None:
    """Estimate the gap of a solution; None if nothing bounds the optimum, or if it is stopped.

    The sample grows as long as there is time. The first one, which is small, takes as long as it
    needs.

    Parameters
    ----------
    shards : ShardSet
    solution : Solution
    budget : Budget
    pass_seconds : float
        Seconds of an examination of all rows.
    """
    if not shards.kernel.positive:
        return None
    found: list[GapEstimate | None] = []
    begun = time.perf_counter()
    poll = Poll(lambda: budget.look_at_end() if found else budget.look_for_stop())
    violation = solution.trace[-1].violation if solution.trace else 0.0
    try:
        with shards.polling(poll):
            publish(shards, solution.point)
            for one in gap_estimates(
                shards,
                solution.bias,
                solution.dual_objective,
                LEAST_SAMPLED_ROWS,
                _MOST_SAMPLED_ROWS,
                pass_seconds,
                violation,
            ):
                found.append(one)
                left, spent = budget.remaining(), time.perf_counter() - begun
                if left is not None and left < _SAFETY * spent:  # the next takes as long again
                    break
    except OutOfBudget:
        pass
    except KeyboardInterrupt:
        return None
    return found[-1] if found else None


def _is_better(one: Examination, other: Examination) -> bool:
    """Return whether a point is better than another: by the dual, or by the violation if equal."""
    rounding = _ROUNDING_OF_DUAL * max(abs(one.dual), abs(other.dual))
    if not abs(one.dual - other.dual) <= rounding:
        return one.dual > other.dual
    return one.violation < other.violation
