"""The sampling engine: weighted samples of the rows, solved on many sites (PRSVM).

A round solves the duals of several samples through the runner, which may solve them at the same
time. The caller passes the function that solves one sample. prsvm_and_rsvm.py explains the steps.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from widestreet._src.arrays import Floats, Ints
from widestreet._src.engines.budget import Budget, OutOfBudget, status_of
from widestreet._src.engines.forecast import Forecast
from widestreet._src.engines.sampling.multiset import Multiset, SparseVector
from widestreet._src.engines.sampling.prsvm_and_rsvm import WeightedSampling
from widestreet._src.engines.solution import Observer, Solution, Trace, TraceRecord
from widestreet._src.engines.working_set import switch_to_float64
from widestreet._src.engines.working_set.state_of_rounds import Examine
from widestreet._src.kernels.gram import Gram
from widestreet._src.problems.dual import Dual
from widestreet._src.problems.goal import Goal
from widestreet._src.shards.expansion import Expansion
from widestreet._src.shards.first_rows import FirstRows
from widestreet._src.shards.point import Point
from widestreet._src.shards.runner import Runner
from widestreet._src.shards.shard_set import ShardSet
from widestreet._src.shards.survey_order import Survey, SurveyOrder
from widestreet._src.status import Status


@dataclass(frozen=True, eq=False)
class Sample:
    """The dual of a sample of the rows.

    Attributes
    ----------
    rows : ndarray
        Numbers of the rows, ascending.
    gram : Gram
        Kernel values between the rows.
    dual : Dual
        Variables of the rows.
    start : ndarray, optional
        Starting point.
    budget : Budget
    rng : numpy.random.Generator
    """

    rows: Ints
    gram: Gram
    dual: Dual
    start: Floats | None
    budget: Budget
    rng: np.random.Generator


SolveSample: TypeAlias = Callable[[Sample], Solution]


@dataclass(frozen=True, eq=False)
class Theta:
    """The solution of a sample.

    Attributes
    ----------
    rows : ndarray
        Numbers of the rows of the sample, ascending.
    point : Point
    expansion : Expansion
    objective : float
    """

    rows: Ints
    point: Point
    expansion: Expansion
    objective: float


class SamplingEngine:
    """Solver of the dual of a shard set by weighted samples.

    Parameters
    ----------
    shards : ShardSet
    plan : WeightedSampling
    solve_sample : callable
        Takes a Sample and returns its Solution.
    goal, check, budget, observer, rng, start
        Same as the `Inputs` of the working-set engine.
    runner : Runner
        Runner that solves the samples.

    Attributes
    ----------
    multiset : Multiset
    unfinished : bool
        True if the engine stopped without an optimum because it can do no more rounds.
    """

    def __init__(
        self,
        shards: ShardSet,
        plan: WeightedSampling,
        solve_sample: SolveSample,
        *,
        goal: Goal,
        check: Examine | None,
        budget: Budget,
        observer: Observer,
        rng: np.random.Generator,
        runner: Runner,
        start: Point | None = None,
    ) -> None:
        self.shards, self.plan, self.solve_sample = shards, plan, solve_sample
        self.goal, self.check, self.budget = goal, check, budget
        self.observer, self.rng, self.runner = observer, rng, runner
        shards.start()
        self.multiset = Multiset(shards.rows)
        self.best = self._begin(start)
        self.trace = Trace()
        self.pair_steps = self._values = self._steps = 0
        self._forecast = Forecast()
        self.unfinished = False
        self._budgets: list[Budget] = []  # of the samples being solved
        self._seed = int(deepcopy(rng).integers(2**63))  # from a copy, which leaves rng unchanged
        if switch_to_float64.starts_in_float64(shards):
            shards.use_double()

    def _begin(self, start: Point | None) -> Theta:
        """Return the starting point: the one given, or zero, or any feasible point."""
        totals = self.shards.form.total
        if totals.any() and not self.plan.until_certified:
            name = type(self.plan).__name__
            raise ValueError(
                f"{name}(until_certified=False) serves C-SVC and epsilon-SVR: a sample has too few "
                f"rows for the constraints of nu problems; leave until_certified at True"
            )
        point = FirstRows(self.shards).feasible_point() if start is None else start
        objective = -np.inf if len(point) else 0.0
        return self._theta(point.ids, point, np.zeros(len(totals)), objective)

    def _theta(self, rows: Ints, point: Point, bias: Floats, objective: float) -> Theta:
        """Return the solution of a sample with its expansion."""
        expansion = Expansion.zero(len(bias)).published(point.ids, point.coef, bias, np.inf)
        return Theta(rows, point, expansion, objective)

    # -- the loop --------------------------------------------------------------------------------

    def solve(self) -> Solution:
        """Run rounds until a site has no violators, or the rounds or the budget are spent."""
        status = status_of(self._rounds)
        while status == Status.TIME_LIMIT and self.trace and self.check is not None:
            status = status_of(self._look_before_the_end)
            if status is not None:
                break
            status = status_of(self._rounds)
        assert status is not None
        return Solution(
            point=self.best.point,
            rows=self.shards.rows,
            bias=self.best.expansion.bias,
            dual_objective=self.best.objective,
            status=status,
            trace=self.trace,
            pair_steps=self.pair_steps,
            kernel_values=self._values + self.shards.poll.kernel_values,
        )

    def _look_before_the_end(self) -> Status | None:
        """Examine the best point when the time for rounds is over.

        Return the final status; None if more rounds are worthwhile, as in the working-set engine.
        """
        budget = self.budget
        if budget.remaining():
            self._keep_time(now=True)
        if budget.affordable and not budget.worthwhile:
            if self._confirmed():
                return Status.OPTIMAL
            self._keep_time()
        return None if budget.worthwhile else Status.TIME_LIMIT

    def _rounds(self) -> Status:
        """Run rounds and return the final status. Sets: everything."""
        plan = self.plan
        while plan.max_rounds is None or len(self.trace) < plan.max_rounds:
            self._keep_time()
            self.budget.look_at_clock()
            # 1) draw, 2) solve
            samples = self._draw()
            thetas = self._solve_all([rows for rows, _ in samples])
            # 3) survey, 4) double
            weight = self.multiset.log2_total
            surveys, doubled = self._survey_all(thetas, samples)
            p = self._choose(thetas, surveys)
            self._record(p, thetas, surveys, weight, doubled)
            done = surveys[p].found == 0 and self._confirmed()
            self.budget.spend(self._steps, finished=done)
            if done:
                return Status.OPTIMAL
            if surveys[p].found == 0:
                if self.shards.news.double:
                    break
                self.shards.use_double()
        self.unfinished = True
        return Status.APPROXIMATE

    def _confirmed(self) -> bool:
        """Return whether the check finds the best point optimal; True without a check."""
        if self.check is None:
            return True
        begun = time.perf_counter()
        found = self.check(self.best.point)
        seconds = time.perf_counter() - begun
        self._forecast.learn(seconds, self.shards.rows, len(self.best.point))
        return found.next_violation is None

    # -- the steps -------------------------------------------------------------------------------

    def _keep_time(self, *, now: bool = False) -> None:
        """Reserve time for a certificate of the best point, if there is a check."""
        if self.check is None:
            return
        self._forecast.measure(self.shards, self.budget, now=now)
        support = (
            len(self.best.expansion.ids) or self.plan.size // 4
        )  # a guess before the first solution
        self._forecast.keep_back(self.shards, self.budget, support, now=now)

    def _draw(self) -> list[tuple[Ints, Ints]]:
        """Draw a sample for each site, in the order of priority: rows and numbers of copies."""
        size, sites = self.plan.size, self.plan.sites
        copies = self.multiset.draw(size * sites, self.rng)
        parts = [copies[p * size : (p + 1) * size] for p in range(sites)]
        return [np.unique(part, return_counts=True) for part in parts if len(part)]

    def _solve_all(self, samples: list[Ints]) -> list[Theta]:
        """Solve the duals of samples through the runner. Sets: best, if it is stopped early."""
        steps = -1 if self.budget.max_steps < 0 else self.budget.steps_left // len(samples)
        self._budgets = [
            self.budget.part(reserve=self.budget.reserve, max_steps=steps) for _ in samples
        ]
        drawn = [self._sample(p, rows) for p, rows in enumerate(samples)]
        found = self.runner.map(
            self.solve_sample, drawn, on_interrupt=self._stop, interrupted=_interrupted
        )
        thetas = []
        for sample, solution in zip(drawn, found, strict=True):
            self.pair_steps += solution.pair_steps
            self._values += solution.kernel_values
            point = Point.zero(len(solution.beta)).with_rows(sample.rows, solution.beta)
            thetas.append(self._theta(sample.rows, point, solution.bias, solution.dual_objective))
        stopped = {solution.status for solution in found if solution.status.cut_short}
        if stopped:
            if self.plan.until_certified or not self.trace:  # else the last round is better
                self.best = max([self.best, *thetas], key=lambda theta: theta.objective)
            if Status.INTERRUPTED in stopped:
                raise KeyboardInterrupt
            raise OutOfBudget(min(stopped))
        self._steps = sum(solution.pair_steps for solution in found)
        return thetas

    def _sample(self, p: int, rows: Ints) -> Sample:
        """Fetch the sample of a site, with the best support vectors if `until_certified`."""
        start = None
        if self.plan.until_certified:
            rows = np.union1d(rows, self.best.expansion.ids)
            start = self.best.point.at(rows)
        gram, dual = self.shards.fetch(rows)
        rng = np.random.default_rng((self._seed, len(self.trace), p))
        return Sample(rows, gram, dual, start, self._budgets[p], rng)

    def _stop(self) -> None:
        """Stop the solves of all samples. Sets: their budgets."""
        for budget in self._budgets:
            budget.stopped = True

    def _survey(self, theta: Theta) -> Survey:
        """Survey all rows, in float64 if float32 is too coarse. Sets: shards."""
        shards = self.shards
        ids, coef, bias = theta.expansion.ids, theta.expansion.coef, theta.expansion.bias
        shards.publish(shards.news.expansion.published(ids, coef, bias, np.inf), theta.point)
        if not shards.news.double:
            sample = self.rng.choice(shards.rows, switch_to_float64.ROWS_COMPARED, replace=False)
            error = np.abs(shards.scores(sample) - shards.scores(sample, double=False)).max()
            if switch_to_float64.too_coarse(float(error), self.goal):
                shards.use_double()
        order = SurveyOrder(shards.rows, self.goal.aim, whole=True, skip=False)
        return shards.survey(order, self.rng)

    def _survey_all(
        self, thetas: list[Theta], samples: list[tuple[Ints, Ints]]
    ) -> tuple[list[Survey], int]:
        """Find the violators of all sites; double them if their weight is small enough.

        The weights are those at the beginning of the round, less those of copies in samples of
        higher priority. If a site has no violators, nothing is doubled: the iteration ends.

        Returns
        -------
        surveys : list of Survey
            Results without the violators; `found` counts those outside the sample.
        doubled : int
            Number of sites whose violators were doubled.

        Sets: multiset.
        """
        unit = self.multiset.top
        limit = self.multiset.total(unit) / (3 * self.plan.dimension)
        held, times = SparseVector(), SparseVector()
        surveys, doubled = [], 0
        for theta, (rows, copies) in zip(thetas, samples, strict=True):
            survey = self._survey(theta)
            ids = np.setdiff1d(survey.ids, theta.rows)
            if (self.multiset.weights(ids, unit) - held.at(ids)).sum() <= limit:
                times.add(ids, np.ones(len(ids)))
                doubled += 1
            held.add(rows, np.ldexp(copies.astype(np.float64), -unit))
            none = np.empty(0, dtype=np.int64)
            surveys.append(replace(survey, ids=none, violation=np.empty(0), found=len(ids)))
        if any(survey.found == 0 for survey in surveys):
            return surveys, 0
        self.multiset.double(times.ids, times.values)
        return surveys, doubled

    def _choose(self, thetas: list[Theta], surveys: list[Survey]) -> int:
        """Return the site with the best solution: the first without violators, if there is one.

        Otherwise, return the site with the highest objective if `until_certified`, and the site
        with the fewest violators if not. Sets: best.
        """
        few = [survey.found for survey in surveys]
        p = int(np.argmin(few))
        if few[p] > 0 and self.plan.until_certified:
            p = int(np.argmax([theta.objective for theta in thetas]))
        self.best = thetas[p]
        return p

    def _record(
        self,
        p: int,
        thetas: list[Theta],
        surveys: list[Survey],
        weight: float,
        doubled: int,
    ) -> None:
        """Record the round and pass the record to the observer. Sets: trace."""
        theta, survey, total = thetas[p], surveys[p], self.shards.form.total
        linear, free = self.shards.totals(theta.point)
        norm = 2.0 * (linear - theta.objective)
        primal = 0.5 * norm + float(theta.expansion.bias @ total) + survey.loss
        record = TraceRecord(
            round=len(self.trace) + 1,
            working_set=len(theta.rows),
            n_sv=len(theta.expansion.ids),
            n_free=free,
            violation=max(0.0, float((survey.highest - survey.lowest).max())),
            dual_objective=theta.objective,
            gap=primal - theta.objective,
            rows_scanned=sum(s.scanned for s in surveys),
            rows_skipped=0,
            kernel_values=self._values + self.shards.poll.kernel_values,
            pair_steps=self.pair_steps,
            seconds=self.budget.elapsed,
            violators=survey.found,
            notes={
                "site": p,
                "site_violators": [other.found for other in surveys],
                "site_n_sv": [len(other.expansion.ids) for other in thetas],
                "log2_weight": weight,
                "doubled": doubled,
                "levels": self.multiset.levels,
            },
        )
        self.trace.append(record)
        self.observer(record)


def _interrupted(solution: Solution) -> bool:
    return solution.status == Status.INTERRUPTED
