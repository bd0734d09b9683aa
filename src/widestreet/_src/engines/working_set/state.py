"""Inputs and state of the working-set engine."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from widestreet._src.arrays import Floats, Ints
from widestreet._src.engines.budget import Budget
from widestreet._src.engines.selection.contract import Search, Situation, Strategy
from widestreet._src.engines.solution import Observer, Trace
from widestreet._src.engines.working_set.newton_schedule import Pacing
from widestreet._src.engines.working_set.tile import WorkingSet, tiles_memory
from widestreet._src.problems.goal import Goal
from widestreet._src.shards.expansion import Expansion
from widestreet._src.shards.news import Released
from widestreet._src.shards.point import Point
from widestreet._src.shards.shard_set import ShardSet
from widestreet._src.shards.survey import Survey

_IDLE_ROUNDS = 5  # rounds without progress after which the check is asked
_ROUNDING_OF_OBJECTIVE = 1e-14  # a relative gain of the objective that is no gain
_NOTABLE_DECREASE = 0.9  # of the violation: a smaller one is progress
_DRIFT_BEFORE_CHECKS = 0.1  # part of the drift bound, as long as a check of every row is to come


@dataclass(frozen=True, eq=False)
class Check:
    """An independent examination of a point.

    Attributes
    ----------
    violation : float
        Over all rows.
    dual : float
        The dual objective.
    next_violation : float or None
        The violation to aim at next; None when the point is as good as it has to be.
    """

    violation: float
    dual: float
    next_violation: float | None


Examine: TypeAlias = Callable[[Point], Check]


@dataclass(frozen=True, eq=False)
class Inputs:
    """The inputs of a fit.

    Attributes
    ----------
    shards : ShardSet
        The rows.
    strategy : Strategy
    goal : Goal
        The violation to reach over all rows.
    check : callable or None
        Takes a Point and returns a Check. The engine trusts it over its own
        surveys; None leaves the last word to the caller.
    budget : Budget
    room : int
        Rows for which the memory of the working set suffices.
    observer : callable
        Called with the record of each round.
    rng : numpy.random.Generator
    threads : int
        For the working set.
    skip : bool
        Whether surveys may skip rows.
    start : Point, optional
        A feasible point to begin at.
    first : ndarray, optional
        Rows to begin with, beside those that the strategy draws.
    """

    shards: ShardSet
    strategy: Strategy
    goal: Goal
    check: Examine | None
    budget: Budget
    room: int
    observer: Observer
    rng: np.random.Generator
    threads: int = 1
    skip: bool = True
    start: Point | None = None
    first: Ints | None = None

    @property
    def capacity(self) -> int:
        """Rows the working set may hold."""
        return min(self.room, self.shards.rows)


@dataclass(eq=False)
class Attempts:
    """Attempts that did not halve the best value so far.

    Attributes
    ----------
    best : float
    failures : int
        Since the last that did.
    """

    best: float = np.inf
    failures: int = 0

    def count(self, value: float) -> int:
        """Return how many failed since the last that did not. Sets: everything."""
        self.failures = 0 if value < 0.5 * self.best else self.failures + 1
        self.best = min(self.best, value)
        return self.failures


@dataclass(eq=False)
class Progress:
    """The best objective and violation so far, and rounds that improved neither.

    A round that only looked at more rows, or that has more of them in the working set, was busy:
    it has not failed to improve them.
    """

    objective: float = -np.inf
    violation: float = np.inf
    idle: int = 0

    def stuck(self, objective: float, violation: float, busy: bool) -> bool:
        """Tell whether neither has improved for some rounds. Sets: everything."""
        gained = objective - self.objective > _ROUNDING_OF_OBJECTIVE * abs(objective)
        if gained or violation < _NOTABLE_DECREASE * self.violation:
            self.idle = 0
        else:
            self.idle += not busy
        self.objective = max(self.objective, objective)
        self.violation = min(self.violation, violation)
        return self.idle >= _IDLE_ROUNDS


@dataclass(eq=False)
class State:
    """The state of a fit, which changes from round to round.

    Attributes
    ----------
    search : Search
    work : WorkingSet
    point : Point
        The coefficients of all rows.
    expansion : Expansion
        All support vectors.
    released : Released
        Rows that have left the working set since the shards were told.
    goal : Goal
        Tightened by checks that fail.
    survey : Survey
        The last one.
    violation : float
        The largest seen in the last round.
    drift : float
        Part of the drift bound by which surveys take scores to have moved.
    linear, norm : float
        t'beta and c'Kc of the expansion.
    before : tuple of ndarray, or None
        Coefficients and scores of the working set where the present solve began.
    steps, pair_steps : int
        Pair steps of the last round, and of all.
    moved : bool
        Whether the last newcomers changed anything.
    newcomers : int
        Rows that came since scores were compared with exact ones.
    gave_up : bool
        Whether the last solve of the working set was given up.
    """

    search: Search
    work: WorkingSet
    point: Point
    expansion: Expansion
    goal: Goal
    survey: Survey
    violation: float
    drift: float
    linear: float = 0.0
    norm: float = 0.0
    before: tuple[Floats, Floats] | None = None
    released: Released = field(default_factory=Released)
    steps: int = 0
    pair_steps: int = 0
    moved: bool = False
    newcomers: int = 0
    gave_up: bool = False
    schedule: Pacing = field(default_factory=Pacing)
    progress: Progress = field(default_factory=Progress)
    refreshed: Attempts = field(default_factory=Attempts)
    checks: Attempts = field(default_factory=Attempts)
    trace: Trace = field(default_factory=Trace)
    timings: dict[str, float] = field(default_factory=dict)

    @classmethod
    def first(cls, inputs: Inputs) -> State:
        """Return the state before the first round: no rows, the zero expansion."""
        shards, nothing = inputs.shards, np.empty(0, dtype=np.int64)
        shards.start()
        memory = tiles_memory(inputs.room)
        return cls(
            search=inputs.strategy.search(),
            work=WorkingSet(
                shards.known, shards.form, inputs.capacity, inputs.threads, memory, shards.poll
            ),
            point=shards.news.point,
            expansion=shards.news.expansion,
            goal=inputs.goal,
            survey=Survey.first(nothing),
            violation=np.inf,
            drift=_DRIFT_BEFORE_CHECKS,
        )

    @property
    def objective(self) -> float:
        """The dual objective."""
        return self.linear - 0.5 * self.norm

    def clock(self, part: str, begun: float) -> None:
        """Add the time since `begun` to a part of the round. Sets: timings."""
        self.timings[part] = self.timings.get(part, 0.0) + time.perf_counter() - begun

    def situation(self, inputs: Inputs) -> Situation:
        """Return what the strategy may know."""
        work, survey = self.work, self.survey
        return Situation(
            round=len(self.trace),
            rows=inputs.shards.rows,
            capacity=inputs.capacity,
            tol=self.goal.tol,
            violation=self.violation,
            ids=work.ids[work.present],
            support=np.asarray(work.beta[:, work.present].any(axis=0)),
            free=np.asarray(work.free().any(axis=0)),
            newest=work.entered[work.present] == work.admissions,
            moved=self.moved,
            slack=work.slack(self.expansion.bias),
            violators=survey.ids,
            excess=survey.violation,
            found=survey.found,
            visited=survey.visited,
            complete=survey.complete,
        )

    def bias(self) -> Floats:
        """Return the middle of each group's interval.

        Where an interval is open, its one end; where it is open on both sides, the last bias.
        """
        highest, lowest = self.work.extremes()
        bias = np.where(np.isfinite(highest), highest, lowest)
        both = np.isfinite(highest) & np.isfinite(lowest)
        bias[both] = 0.5 * (highest[both] + lowest[both])
        found: Floats = np.where(np.isfinite(bias), bias, self.expansion.bias)
        return found
