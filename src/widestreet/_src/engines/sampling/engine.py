"""Weighted samples of the rows, solved on many sites: the iterations of PRSVM.

A round solves the duals of several samples at the same time, through the runner. The caller passes
the function that solves one sample. prsvm.py explains the steps.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from widestreet._src.arrays import Floats, Ints
from widestreet._src.engines.budget import Budget, OutOfBudget
from widestreet._src.engines.sampling.multiset import Multiset, SparseVector
from widestreet._src.engines.sampling.prsvm import WeightedSampling
from widestreet._src.engines.solution import Observer, Solution, Trace, TraceRecord
from widestreet._src.engines.working_set import precision
from widestreet._src.engines.working_set.state import Examine
from widestreet._src.kernels.gram import Gram
from widestreet._src.problems.dual import Dual
from widestreet._src.problems.goal import Goal
from widestreet._src.shards.expansion import Expansion
from widestreet._src.shards.first_rows import FirstRows
from widestreet._src.shards.point import Point
from widestreet._src.shards.runner import Runner
from widestreet._src.shards.shard_set import ShardSet
from widestreet._src.shards.survey import Survey, SurveyOrder
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
        Their variables.
    start : ndarray, optional
        A feasible point to begin at.
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
        The sample, ascending.
    point : Point
    expansion : Expansion
    objective : float
    """

    rows: Ints
    point: Point
    expansion: Expansion
    objective: float


class SamplingEngine:
    """Solves the dual of a shard set by weighted samples.

    Parameters
    ----------
    shards : ShardSet
    plan : WeightedSampling
    solve_sample : callable
        Takes a Sample and returns its Solution.
    goal, check, budget, observer, rng, start
        As for the WorkingSetEngine.
    runner : Runner
        Where samples are solved.

    Attributes
    ----------
    multiset : Multiset
    unfinished : bool
        Whether it ended because all rounds were spent.
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
        self.unfinished = False
        self._budgets: list[Budget] = []  # of the samples being solved
        self._seed = int(deepcopy(rng).integers(2**63))  # leaves what is drawn next as it is
        if precision.starts_in_float64(shards):
            shards.use_double()

    def _begin(self, start: Point | None) -> Theta:
        """The point given, zero or, where that is not feasible, another one."""
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
        expansion = Expansion.zero(len(bias)).published(point.ids, point.coef, bias, np.inf)
        return Theta(rows, point, expansion, objective)

    # -- the loop --------------------------------------------------------------------------------

    def solve(self) -> Solution:
        """Run iterations until a site has no violators, the rounds or the budget are spent."""
        try:
            status = self._rounds()
        except OutOfBudget as stop:
            status = stop.status
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
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

    def _rounds(self) -> Status:
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
        """Whether the check agrees that the best is the optimum."""
        if self.check is None:
            return True
        return self.check(self.best.point).next_violation is None

    # -- the steps -------------------------------------------------------------------------------

    def _keep_time(self) -> None:
        """Keep time back for a certificate, if it is ours to ask for."""
        if self.check is None:
            return
        support = (
            len(self.best.expansion.ids) or self.plan.size // 4
        )  # a guess before the first solution
        seconds = 3.0 * self.shards.seconds_per_value  # float32 first, float64 after it
        self.budget.keep_back(seconds * self.shards.rows * support)

    def _draw(self) -> list[tuple[Ints, Ints]]:
        """A sample for each site, in the order of their priority: its rows and their copies."""
        size, sites = self.plan.size, self.plan.sites
        copies = self.multiset.draw(size * sites, self.rng)
        parts = [copies[p * size : (p + 1) * size] for p in range(sites)]
        return [np.unique(part, return_counts=True) for part in parts if len(part)]

    def _solve_all(self, samples: list[Ints]) -> list[Theta]:
        """Solve the duals of samples, through the runner. Sets: best, if it stops early."""
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
            if self.plan.until_certified or not self.trace:  # else the last whole round is better
                self.best = max([self.best, *thetas], key=lambda theta: theta.objective)
            if Status.INTERRUPTED in stopped:
                raise KeyboardInterrupt
            raise OutOfBudget(min(stopped))
        self._steps = sum(solution.pair_steps for solution in found)
        return thetas

    def _sample(self, p: int, rows: Ints) -> Sample:
        """Fetch the sample of a site; with the best support vectors, unless as published."""
        start = None
        if self.plan.until_certified:
            rows = np.union1d(rows, self.best.expansion.ids)
            start = self.best.point.at(rows)
        gram, dual = self.shards.fetch(rows)
        rng = np.random.default_rng((self._seed, len(self.trace), p))
        return Sample(rows, gram, dual, start, self._budgets[p], rng)

    def _stop(self) -> None:
        for budget in self._budgets:
            budget.stopped = True

    def _survey(self, theta: Theta) -> Survey:
        """Look at all rows, in float64 if float32 is too coarse. Sets: shards."""
        shards = self.shards
        ids, coef, bias = theta.expansion.ids, theta.expansion.coef, theta.expansion.bias
        shards.publish(shards.news.expansion.published(ids, coef, bias, np.inf), theta.point)
        if not shards.news.double:
            sample = self.rng.choice(shards.rows, precision.ROWS_COMPARED, replace=False)
            error = np.abs(shards.scores(sample) - shards.scores(sample, double=False)).max()
            if precision.too_coarse(float(error), self.goal):
                shards.use_double()
        order = SurveyOrder(shards.rows, self.goal.aim, whole=True, skip=False)
        return shards.survey(order, self.rng)

    def _survey_all(
        self, thetas: list[Theta], samples: list[tuple[Ints, Ints]]
    ) -> tuple[list[Survey], int]:
        """Find the violators of all sites, and double those of a site if they are light enough.

        The weights of the round's beginning count, those of copies that sites of higher priority
        hold not. Nothing is doubled if a site has no violators: it is the end.

        Returns
        -------
        surveys : list of Survey
            How many violators there are outside of each sample, but not which.
        doubled : int
            How many sites doubled theirs.

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
        """The site whose solution is the best: the first without violators, if there is one.

        Otherwise that of the highest objective, or as published that of the fewest violators.
        Sets: best.
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
