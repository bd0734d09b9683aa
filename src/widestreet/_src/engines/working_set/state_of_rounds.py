"""Inputs and state of the working-set engine."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from widestreet._src.arrays import Floats, Ints
from widestreet._src.device.contract import Census, Growing
from widestreet._src.engines.budget import Budget
from widestreet._src.engines.forecast import Forecast
from widestreet._src.engines.selection.strategy_protocol import Notes, Search, Situation, Strategy
from widestreet._src.engines.solution import Observer, Trace, TraceRecord
from widestreet._src.engines.working_set.device_schedule import DevicePacing
from widestreet._src.engines.working_set.newton_schedule import Pacing
from widestreet._src.engines.working_set.stalling import Attempts, Progress
from widestreet._src.engines.working_set.tile import WorkingSet, tiles_memory
from widestreet._src.engines.working_set.tile_memory import TileMemory
from widestreet._src.kernels.gram import resident
from widestreet._src.kernels.on_device import Resident
from widestreet._src.problems.goal import Goal
from widestreet._src.shards.expansion import Expansion
from widestreet._src.shards.news import Released
from widestreet._src.shards.point import Point
from widestreet._src.shards.shard_set import ShardSet
from widestreet._src.shards.survey_order import Survey, SurveyOrder

_VALUES_OF_FIRST_CHECK = 500_000_000  # rows times support vectors of a start that is examined
_MOST_ON_DEVICE = 1 << 20  # rows of a working set on a device
_BYTES_ON_DEVICE = 512  # of a row of a working set: its variables, their copies, scratch
_BYTES_OUTSIDE = 256  # of every row, where a working set grows on a device
_LEAST_ON_DEVICE = 1 << 26  # bytes: with less, blocks and Newton steps would be small
FEW_FOR_DEVICE = 30_000  # rows up to which the CPU solves the working set
_DRIFT_BEFORE_CHECKS = 0.1  # of the drift bound, before the first survey that is safe


@dataclass(frozen=True, eq=False)
class Check:
    """Result of an independent examination of a point.

    Attributes
    ----------
    violation : float
        Violation over all rows.
    dual : float
        Dual objective.
    next_violation : float or None
        Violation to aim at next; None if the engine need not or cannot improve the point.
    """

    violation: float
    dual: float
    next_violation: float | None


@dataclass(frozen=True, eq=False)
class Held:
    """All rows in the memory of a device.

    Attributes
    ----------
    rows : Growing
    version : int
        Version of the expansion that the scores belong to.
    double : bool
        True if scores are updated in float64.
    """

    rows: Growing
    version: int
    double: bool


Examine: TypeAlias = Callable[[Point], Check]


@dataclass(frozen=True, eq=False)
class Inputs:
    """Inputs of a fit, which do not change.

    Attributes
    ----------
    shards : ShardSet
        The rows.
    strategy : Strategy
    goal : Goal
        Violation to reach over all rows.
    check : callable or None
        Takes a Point and returns a Check, which overrules the surveys. If None, the caller examines
        the solution.
    budget : Budget
    room : int
        Number of rows for which the memory of the working set suffices.
    observer : callable
        Called with the record of each round.
    rng : numpy.random.Generator
    threads : int
        Threads of the working set.
    skip : bool
        True if surveys may skip rows.
    start : Point, optional
        Feasible starting point.
    first : ndarray, optional
        Rows of the first working set, in addition to those that the strategy draws.
    on_device : bool
        True if a device that holds the rows may solve the working set.
    tiles : TileMemory, optional
        Memory that is kept for the tiles of several fits.
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
    on_device: bool = True
    tiles: TileMemory | None = None

    @property
    def capacity(self) -> int:
        """Largest number of rows in the working set."""
        if self.resident is None:
            return min(self.room, self.shards.rows)
        spare = self.resident.spare - self.grows * _BYTES_OUTSIDE * self.shards.rows
        return min(_MOST_ON_DEVICE, spare // _BYTES_ON_DEVICE, self.shards.rows)

    @property
    def grows(self) -> bool:
        """True if the device has memory for all variables, so that a working set grows there."""
        if self.resident is None:
            return False
        return self.resident.spare >= _LEAST_ON_DEVICE + _BYTES_OUTSIDE * self.shards.rows

    @cached_property
    def resident(self) -> Resident | None:
        """The rows in the memory of a device that solves the working set; None for the CPU."""
        few = self.shards.rows <= FEW_FOR_DEVICE
        if not self.on_device or few or self.shards.form.groups > 1:
            return None
        found = resident(self.shards.known.gram)
        return None if found is None or found.spare < _LEAST_ON_DEVICE else found


@dataclass(eq=False)
class State:
    """State of a fit, which changes from round to round.

    Attributes
    ----------
    search : Search
    work : WorkingSet
    point : Point
        Coefficients of all rows.
    expansion : Expansion
        All support vectors.
    released : Released
        Rows that have left the working set since the last publication.
    goal : Goal
        Goal of the inputs, tightened by failed checks.
    survey : Survey
        Last survey.
    violation : float
        Largest violation in the last round.
    drift : float
        Factor of the drift bound in surveys.
    linear, norm : float
        t'beta and c'Kc of the expansion.
    before : tuple of ndarray, or None
        Coefficients and scores of the working set at the beginning of the present solve.
    steps, pair_steps : int
        Number of pair steps in the last round, and in all rounds.
    moved : bool
        True if the last solve with new rows took a pair step.
    newcomers : int
        Number of rows added since scores were compared with exact ones.
    gave_up : bool
        True if the last solve of the working set was given up.
    exact_at : float
        Round in which the scores of the working set were computed anew in float64; -inf if never.
    held : Held or None
        All rows in the memory of a device, with scores of the present expansion.
    support : int
        Largest number of support vectors that the present round can have on a device, while the
        working set grows there.
    order : SurveyOrder or None
        Survey that the strategy asked for in the present round.
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
    exact_at: float = -np.inf
    held: Held | None = None
    support: int = 0
    order: SurveyOrder | None = None
    forecast: Forecast = field(default_factory=Forecast)
    schedule: Pacing = field(default_factory=Pacing)
    device_schedule: DevicePacing = field(default_factory=DevicePacing)
    progress: Progress = field(default_factory=Progress)
    refreshed: Attempts = field(default_factory=Attempts)
    checks: Attempts = field(default_factory=Attempts)
    trace: Trace = field(default_factory=Trace)
    timings: dict[str, float] = field(default_factory=dict)

    @classmethod
    def first(cls, inputs: Inputs) -> State:
        """Return the state before the first round: an empty working set, the zero expansion."""
        shards, nothing = inputs.shards, np.empty(0, dtype=np.int64)
        shards.start()
        memory = tiles_memory(inputs.room)
        strategy = inputs.strategy
        if inputs.resident is not None:
            strategy = strategy.on_device(shards.rows)
        return cls(
            search=strategy.search(),
            work=WorkingSet(
                shards.known,
                shards.form,
                inputs.capacity,
                inputs.threads,
                memory,
                shards.poll,
                stored=inputs.resident is None,
                tiles=inputs.tiles,
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
        """Dual objective."""
        return self.linear - 0.5 * self.norm

    @property
    def pass_rounds(self) -> float:
        """Number of rounds of a pass, if a round replaces a quarter of the working set."""
        outside = len(self.expansion.ids) - np.count_nonzero(self.work.coef())
        return 1.0 + 4.0 * outside / max(1, self.work.size)

    def clock(self, part: str, begun: float) -> None:
        """Add the time since `begun` to a part of the round. Sets: timings."""
        self.timings[part] = self.timings.get(part, 0.0) + time.perf_counter() - begun

    def begins_with_check(self, inputs: Inputs) -> bool:
        """Return whether the first survey is left out for an examination, whose scores are kept.

        A survey after the first round of a given starting point visits most rows, to find few that
        violate. An examination takes longer, but the next one then needs only what has changed.
        """
        if self.trace or inputs.start is None or inputs.check is None:
            return False
        enough = inputs.budget.max_time is None or inputs.budget.affordable
        return enough and inputs.shards.rows * len(self.point) >= _VALUES_OF_FIRST_CHECK

    def checked(self, inputs: Inputs) -> Check:
        """Return the result of the check of the present point. Sets: timings, forecast."""
        assert inputs.check is not None
        begun = time.perf_counter()
        check = inputs.check(self.point)
        self.clock("check", begun)
        seconds = time.perf_counter() - begun
        self.forecast.learn(seconds, inputs.shards.rows, len(self.point))
        return check

    def situation(self, inputs: Inputs) -> Situation:
        """Return the situation that the strategy decides on."""
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

    def recorded(self, inputs: Inputs, notes: Notes) -> TraceRecord:
        """Return the record of a round. Sets: trace, timings."""
        work, expansion, survey = self.work, self.expansion, self.survey
        excess = work.indicator() - expansion.bias[work.group[:, work.present]]
        lower, upper = work.lower[:, work.present], work.upper[:, work.present]
        loss = survey.loss + float(np.maximum(upper * excess, lower * excess).sum())
        primal = 0.5 * self.norm + float(expansion.bias @ inputs.shards.form.total) + loss
        figures = {
            "working_set": work.size,
            "n_sv": len(expansion.ids),
            "n_free": int(work.free().sum()),
            "dual_objective": self.objective,
            "gap": primal - self.objective,
        }
        return self._record(inputs, figures, notes)

    def recorded_on_device(self, inputs: Inputs, size: int, census: Census) -> TraceRecord:
        """Return the record of a round that a device took by itself. Sets: trace, timings."""
        objective = census.linear - 0.5 * census.norm
        bias = census.bias * float(inputs.shards.form.total.sum())
        figures = {
            "working_set": size,
            "n_sv": census.support,
            "n_free": census.free,
            "dual_objective": objective,
            "gap": 0.5 * census.norm + bias + census.loss - objective,
        }
        return self._record(inputs, figures, {})

    def _record(self, inputs: Inputs, figures: dict[str, Any], notes: Notes) -> TraceRecord:
        """Return the record of a round from its own figures and the rest. Sets: trace, timings."""
        survey = self.survey
        record = TraceRecord(
            round=len(self.trace) + 1,
            violation=self.violation,
            rows_scanned=survey.scanned,
            rows_skipped=survey.skipped,
            kernel_values=inputs.shards.poll.kernel_values,
            pair_steps=self.pair_steps,
            seconds=inputs.budget.elapsed,
            timings=self.timings,
            violators=survey.found,
            notes=notes,
            **figures,
        )
        self.timings = {}
        self.trace.append(record)
        return record

    def bias(self) -> Floats:
        """Return the middle of the interval of biases of each group.

        If the interval is unbounded on one side, return its end; if on both, the last bias.
        """
        highest, lowest = self.work.extremes()
        bias = np.where(np.isfinite(highest), highest, lowest)
        both = np.isfinite(highest) & np.isfinite(lowest)
        bias[both] = 0.5 * (highest[both] + lowest[both])
        found: Floats = np.where(np.isfinite(bias), bias, self.expansion.bias)
        return found
