"""Many problems of moderate size, solved side by side in the memory of a device.

The rows and variables of all problems are there. Each round

    1) draws a block of each problem that is not solved: its free rows, and violators in equal
       numbers from either side of the interval of biases, at random if there are many,
    2) takes pair steps within all blocks at the same time,
    3) updates the scores of all rows,

until no problem violates. Scores have the errors of all updates then. They are computed in float64,
and rounds go on where a problem violates after all: coefficients change so little by then that the
errors of these changes do not matter.

The host reads a few figures per problem in each round. Sequential pair steps cost the time of the
slowest problem only. A problem that makes no progress is left to the caller as stalled.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from widestreet._src.arrays import Bools, Floats, Ints
from widestreet._src.device.batch_contract import Batch, Extent, Standings
from widestreet._src.device.contract import Variables
from widestreet._src.engines.budget import Budget, OutOfBudget
from widestreet._src.engines.solution import Solution, Trace, TraceRecord
from widestreet._src.engines.working_set.on_device import NEAR, variables_of
from widestreet._src.kernels.on_device import Resident
from widestreet._src.problems.dual import Dual, join
from widestreet._src.problems.goal import Goal
from widestreet._src.shards.point import Point
from widestreet._src.status import Status

_LEAST_WIDTH, _MOST_WIDTH = 64, 2048  # rows of a block
_FIRST = 1024  # rows of a block in the first round, in which all rows violate
_SPARE = 1.1  # rows of a block per row that takes part: all of them are in it for certain
_PART, _PART_OF_ALL = 0.2, 0.03  # of the violation to which a block is solved
_MOST_STEPS = 8192  # of a problem in a round: some milliseconds
_PROGRESS = 0.9  # of the best violation
_PATIENCE, _MOST_ROUNDS = 15, 200  # rounds without progress, and rounds in all
_REFRESHES = 3  # of all scores
_BYTES_OF_ROW = 80  # of a problem: variables, kind, position, and rows of scores computed anew
_BYTES_OF_SLOT = 64  # of a block, besides its tile
_MOST_PROBLEMS = 1 << 15  # of a batch: programs side by side
_MOST_BYTES = 1 << 33  # of a batch: enough problems to keep a device busy
_NO_LIMIT = 2**31 - 1
_NONE = 1e29  # less than the end of an interval that has none


@dataclass(frozen=True, eq=False)
class Part:
    """A problem of a batch.

    Attributes
    ----------
    dual : Dual
        It has one variable per row, one group and no diagonal.
    rows : ndarray
        Its rows among those of the Gram matrix.
    start : ndarray, optional
        Feasible starting point.
    number : int
        Its number in records.
    """

    dual: Dual
    rows: Ints
    start: Floats | None = None
    number: int = 0


def widest(rows: int) -> int:
    """Return the largest number of rows of a block of a problem."""
    return min(_MOST_WIDTH, max(_LEAST_WIDTH, 1 << (rows - 1).bit_length()))


def batches(sizes: Sequence[int], spare: int) -> list[list[int]]:
    """Return groups of problems that fit into so many bytes; none if one of them does not fit.

    Parameters
    ----------
    sizes : sequence of int
        Numbers of rows of the problems.
    spare : int
    """
    width, spare = widest(max(sizes)), min(spare, _MOST_BYTES)
    block = width * (4 * width + _BYTES_OF_SLOT)
    groups: list[list[int]] = [[]]
    left = spare
    for p, rows in enumerate(sizes):
        needed = block + rows * _BYTES_OF_ROW
        if needed > spare:
            return []
        if needed > left or len(groups[-1]) == _MOST_PROBLEMS:
            groups.append([])
            left = spare
        groups[-1].append(p)
        left -= needed
    return groups


@dataclass(eq=False)
class _Rounds:
    """Rounds of all problems of a batch.

    Attributes
    ----------
    batch : Batch
    goal : float
        Violation to reach.
    budget : Budget
        Limits; that of steps holds for each problem.
    widest : int
    now : Standings
    best, idle : ndarray
        Smallest violation of each problem, and rounds since there was progress.
    """

    batch: Batch
    goal: float
    budget: Budget
    widest: int
    now: Standings = field(init=False)
    best: Floats = field(init=False)
    idle: Ints = field(init=False)
    rounds: int = 0

    def run(self, started: bool) -> Status | None:
        """Take steps until all problems are solved or stall; return why they were cut short.

        `started` says that there are coefficients whose scores are not known. Sets: everything.
        """
        self.now = self.batch.refresh() if started else self.batch.look()
        self.best = np.full(len(self.now.steps), np.inf)
        self.idle = np.zeros(len(self.best), dtype=np.int64)
        try:
            for _ in range(_REFRESHES):
                self._until_solved()
                self.now = self.batch.refresh()
                if not self.open.any():
                    break
        except OutOfBudget as stop:
            return stop.status
        except KeyboardInterrupt:
            return Status.INTERRUPTED
        return None

    @property
    def limit(self) -> int:
        """Largest number of pair steps of a problem."""
        return min(_NO_LIMIT, self.budget.steps_left)

    @property
    def solved(self) -> Bools:
        found: Bools = self.now.violation <= self.goal  # False where it is no number
        return found

    @property
    def open(self) -> Bools:
        """Problems that violate, and may take steps with a prospect of progress."""
        found: Bools = ~self.solved & (self.idle <= _PATIENCE) & (self.now.steps < self.limit)
        return found

    def _until_solved(self) -> None:
        """Take rounds until no problem is open. Sets: now, best, idle, rounds."""
        while self.open.any() and self.rounds < _MOST_ROUNDS:
            self.budget.look_at_clock()
            width = self._width()
            to = Extent(self.goal, _PART, _PART_OF_ALL, _MOST_STEPS, self.limit)
            self.now = self.batch.pairs(width, to)
            self.rounds += 1
            better = self.now.violation < _PROGRESS * self.best
            self.idle = np.where(better, 0, self.idle + 1)
            self.best = np.fmin(self.best, self.now.violation)

    def _width(self) -> int:
        """Return the number of rows of the blocks of the next round."""
        taking = _SPARE * (self.now.free + self.now.violators)[self.open].max()
        most = self.widest if self.rounds else min(self.widest, _FIRST)
        return min(most, widest(int(taking)))


def solve(resident: Resident, parts: Sequence[Part], goal: Goal, budget: Budget) -> list[Solution]:
    """Solve problems side by side, each from its start or from zero.

    The status of a solution is "optimal", "stalled", or that of a limit. A MemoryError ends the
    call if the memory of the device is short.

    Parameters
    ----------
    resident : Resident
        The rows of the Gram matrix.
    parts : sequence of Part
    goal : Goal
    budget : Budget
        Limits; that of steps holds for each problem.
    """
    begun = time.perf_counter()
    sizes = np.array([part.dual.rows for part in parts])
    width = widest(int(sizes.max()))
    rows = resident.places(np.concatenate([part.rows for part in parts]))
    variables, started = _joined(parts)
    batch = resident.batch(rows, sizes, variables, NEAR * goal.tol, width)
    rounds = _Rounds(batch, goal.within, budget, width)
    stop = rounds.run(started)
    coef, score = batch.result()
    seconds, ends = (time.perf_counter() - begun) / len(parts), np.cumsum(sizes)[:-1]
    found = []
    points = zip(parts, np.split(coef, ends), np.split(score, ends), strict=True)
    for p, (part, c, u) in enumerate(points):
        record = _record(part, c, u, rounds.now, p)
        record = replace(record, seconds=budget.elapsed, timings={"solve": seconds})
        found.append(
            Solution(
                point=Point.of(c[None]),
                rows=part.dual.rows,
                bias=np.array([_bias(rounds.now, p)]),
                dual_objective=record.dual_objective,
                status=_status(rounds, p, stop),
                trace=Trace([record]),
                pair_steps=record.pair_steps,
                kernel_values=record.kernel_values,
            )
        )
    return found


def _joined(parts: Sequence[Part]) -> tuple[Variables, bool]:
    """Return the variables of all problems, and whether one of them has a starting point."""
    dual = join([part.dual for part in parts])
    coef = np.zeros(dual.rows)
    end = np.cumsum([part.dual.rows for part in parts])
    for part, b in zip(parts, end.tolist(), strict=True):
        if part.start is not None:
            coef[b - part.dual.rows : b] = part.start[0]
    variables = variables_of(dual.target, dual.lower, dual.upper, coef, np.zeros(dual.rows))
    return variables, bool(coef.any())


def _bias(now: Standings, p: int) -> float:
    """Return the middle of the interval of biases, or its only end, or zero."""
    ends = [end for end in (float(now.highest[p]), float(now.lowest[p])) if abs(end) < _NONE]
    return sum(ends) / len(ends) if ends else 0.0


def _record(part: Part, c: Floats, u: Floats, now: Standings, p: int) -> TraceRecord:
    """Return the record of the only round of a problem."""
    dual, bias = part.dual, _bias(now, p)
    linear, norm = float(dual.target[0] @ c), float(c @ u)
    excess = dual.target[0] - u - bias
    loss = float(np.maximum(dual.upper[0] * excess, dual.lower[0] * excess).sum())
    return TraceRecord(
        round=1,
        working_set=dual.rows,
        n_sv=int(np.count_nonzero(c)),
        n_free=int(np.count_nonzero((c > dual.lower[0]) & (c < dual.upper[0]) & (c != 0))),
        violation=max(0.0, float(now.violation[p])),
        dual_objective=linear - 0.5 * norm,
        gap=norm + bias * float(dual.total[0]) + loss - linear,
        rows_scanned=0,
        rows_skipped=0,
        kernel_values=int(now.values[p]),
        pair_steps=int(now.steps[p]),
        seconds=0.0,
        problem=part.number,
    )


def _status(rounds: _Rounds, p: int, stop: Status | None) -> Status:
    """Return the status of a problem, where `stop` cut the rounds short."""
    if stop == Status.INTERRUPTED:
        return stop
    if rounds.solved[p]:
        return Status.OPTIMAL
    if rounds.now.steps[p] >= rounds.limit:
        return Status.ITERATION_LIMIT
    return Status.STALLED if stop is None else stop
