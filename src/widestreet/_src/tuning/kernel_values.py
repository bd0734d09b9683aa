"""Kernel values of a search: stored as a matrix, or computed when they are needed.

Both solve one problem after the other and compute the scores of held-out rows.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from widestreet import _core
from widestreet._src.arrays import Floats, Ints, Real
from widestreet._src.engines.budget import Budget, OutOfBudget
from widestreet._src.engines.interior import cost_against_pair_steps as cost
from widestreet._src.engines.interior.low_rank_factor import rank_bound
from widestreet._src.engines.selection.auto_doubling import Auto
from widestreet._src.engines.working_set.tile_memory import TileMemory
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.poll import Poll
from widestreet._src.problems.dual import Dual, select
from widestreet._src.problems.goal import Goal
from widestreet._src.status import Status
from widestreet._src.training.engine_sequence import Solver, in_memory
from widestreet._src.training.problem import Problem
from widestreet._src.training.settings import Settings
from widestreet._src.tuning.chain import ChainPoint, Scratches, solve_next, solve_together

TOGETHER = 2000  # rows: the problems of a chain are solved in one call of the core
_SNAP = 1e-12  # of a box: what is nearer to a bound is at the bound
_FEW_INSIDE = 0.5  # of the nonzero variables: if fewer are inside, the others stay at bounds
_FEW_CHANGED = 0.5  # of the support vectors: if more change, their scores are computed anew

Timed = tuple[ChainPoint, float]  # a solution and the seconds that it took


@dataclass(frozen=True, eq=False)
class Step:
    """One problem of a chain.

    Attributes
    ----------
    dual : Dual
    scale : float
        Parameter that the coefficients are proportional to.
    settings : Settings
        Tolerances and limits.
    """

    dual: Dual
    scale: float
    settings: Settings

    @property
    def tol(self) -> float:
        """Violation to reach."""
        return self.settings.goal.within


class KernelValues(Protocol):
    """Kernel values between distinct rows."""

    def part(self, members: Ints | None) -> KernelValues:
        """Return the kernel values between some of the rows."""
        ...

    def solve_all(self, steps: Iterable[Step], before: ChainPoint | None) -> Iterator[Timed]:
        """Solve problems over all rows, each from the solution of the one before."""
        ...

    def scores(self, rows: Ints, coefs: Floats) -> Floats:
        """Return the scores of some rows for lines of coefficients."""
        ...


@dataclass(frozen=True, eq=False)
class StreamedValues:
    """Kernel values that are not stored: problems are solved by rounds of the engines.

    Attributes
    ----------
    gram : Gram
    budget : Budget
    threads : int
    tiles : TileMemory or None
        Memory that is kept for the tiles of the engine.
    """

    gram: Gram
    budget: Budget
    threads: int
    tiles: TileMemory | None = None

    def part(self, members: Ints | None) -> StreamedValues:
        """Return the kernel values between some of the rows."""
        return self if members is None else replace(self, gram=self.gram.select(members))

    def solve_all(self, steps: Iterable[Step], before: ChainPoint | None) -> Iterator[Timed]:
        """Solve problems, each from the solution of the one before."""
        for step in steps:
            begun = time.perf_counter()
            before = self.solve(step, before)
            yield before, time.perf_counter() - begun

    def solve(self, step: Step, before: ChainPoint | None) -> ChainPoint:
        """Solve a problem by rounds, over the rows that have a box."""
        there = np.flatnonzero((step.dual.upper > step.dual.lower).any(axis=0))
        dual, gram = select(step.dual, there), self.gram.select(there)
        budget = self.budget.beside()  # other threads solve problems with it
        problem = Problem(dual)
        if before is not None:
            problem = self._from(before, step, dual, there)
        settings = replace(
            step.settings,
            strategy=Auto(),
            goal=Goal(step.settings.goal.tol),
            max_time=None,
            max_steps=-1,
            rng=np.random.default_rng(0),  # the same for every problem, in any order
        )
        solver = Solver(
            gram,
            in_memory(gram, dual, budget, self.threads),
            settings,
            budget,
            lambda record: None,
            self.threads,
            lambda: settings.rng,
            None,
            self.tiles,
        )
        found = solver.solve(problem)
        if found.status == Status.STALLED and before is not None:  # the start may be the cause
            return self.solve(step, None)
        if found.status == Status.INTERRUPTED:  # by a signal, of which the budget knows nothing
            raise KeyboardInterrupt
        if found.status.cut_short:
            raise OutOfBudget(found.status)
        beta = np.zeros_like(step.dual.target)
        beta[:, there] = found.beta
        violation = found.trace[-1].violation if found.trace else 0.0
        linear = float((step.dual.target * beta).sum())
        norm = 2.0 * (linear - found.dual_objective)
        steps = found.pair_steps
        return ChainPoint(beta, None, found.bias, violation, steps, step.scale, norm)

    def _from(self, before: ChainPoint, step: Step, dual: Dual, there: Ints) -> Problem:
        """Return the problem over some rows, starting from the solution of another one.

        If most variables are at a bound, they stay there: each round moves only as many rows as are
        in the working set. Scores come from those of the solution, where few coefficients change.
        """
        ratio = step.scale / before.scale
        moved = ratio * before.beta
        inside = (moved > (1 - _SNAP) * step.dual.lower) & (moved < (1 - _SNAP) * step.dual.upper)
        inside &= moved != 0
        if inside.sum() > _FEW_INSIDE * np.count_nonzero(moved):
            ratio = before.ray(step.dual, step.scale)
            moved = ratio * before.beta
        problem = Problem(dual).starting_at(moved[:, there])
        assert problem.start is not None
        if before.score is None:
            return problem
        change = -moved.sum(axis=0)
        change[there] += problem.start.sum(axis=0)
        change[np.abs(change) <= _SNAP * np.abs(moved).max(initial=0.0)] = 0.0
        used = np.flatnonzero(change)
        if len(used) > _FEW_CHANGED * np.count_nonzero(problem.start.any(axis=0)):
            return problem
        dtype = np.float32 if self.gram.fits_float32 else np.float64
        more = self.gram.scan(
            there, used, change[used], dtype=dtype, poll=Poll(self.budget.look_at_clock)
        )
        return replace(problem, score=ratio * before.score[there] + more)

    def scores(self, rows: Ints, coefs: Floats) -> Floats:
        """Return the scores of some rows; each kernel value is computed once for all lines."""
        used = np.flatnonzero(coefs.any(axis=0))
        poll = Poll(self.budget.look_at_clock)
        lines = np.ascontiguousarray(coefs[:, used])
        return self.gram.scan(rows, used, lines, poll=poll)


@dataclass(frozen=True, eq=False)
class StoredValues:
    """A stored kernel matrix.

    Attributes
    ----------
    matrix : ndarray
    streamed : StreamedValues
        The same values, for problems that need many pair steps.
    scratches : Scratches
        Memory of problems.
    rounded : ndarray or None
        The matrix in float32, which pair steps read in half the time.
    """

    matrix: Floats
    streamed: StreamedValues
    scratches: Scratches = field(default_factory=Scratches)
    rounded: Real | None = None

    def part(self, members: Ints | None) -> StoredValues:
        """Return the kernel values between some of the rows, copied."""
        if members is None:
            return self
        size = len(members)
        matrix = np.empty((size, -(-size // 16) * 16))[:, :size]
        _core.gather(matrix, self.matrix, len(self.matrix), members, 1)
        return StoredValues(matrix, self.streamed.part(members), self.scratches)

    @cached_property
    def _poll(self) -> Poll:
        return Poll(self.streamed.budget.look_at_clock)

    @cached_property
    def _most_steps(self) -> int | None:
        return most_pair_steps(self.streamed.gram, len(self.matrix))

    def solve_all(self, steps: Iterable[Step], before: ChainPoint | None) -> Iterator[Timed]:
        """Solve problems, each from the solution of the one before; small ones in few calls."""
        small = len(self.matrix) <= TOGETHER and self._most_steps is None
        left = list(steps) if small else []
        while left:
            solved = solve_together(
                self.matrix,
                [step.dual for step in left],
                [step.scale for step in left],
                [step.tol for step in left],
                before,
                self._poll,
            )
            done = 0
            for point, seconds in solved:
                begun, before = time.perf_counter(), point
                if not point.violation <= left[done].tol:
                    before = self.solve(left[done], point, since=point.steps)
                    seconds += time.perf_counter() - begun
                done += 1
                yield before, seconds
            left = left[done:]
        for step in () if small else steps:
            begun = time.perf_counter()
            before = self.solve(step, before)
            yield before, time.perf_counter() - begun

    def solve(self, step: Step, before: ChainPoint | None, since: int = 0) -> ChainPoint:
        """Solve a problem by pair steps; one that takes too many is continued by the engines.

        `since` is the number of pair steps that led to the starting point.
        """
        with self.scratches.one() as scratch:
            found = solve_next(
                self.matrix,
                step.dual,
                step.scale,
                step.tol,
                before,
                self._poll,
                self._most_steps,
                since,
                scratch=scratch,
                rounded=self.rounded,
            )
        point = replace(found, steps=since + found.steps)
        if point.violation <= step.tol:
            return point
        more = self.streamed.solve(step, point)
        score = self.scores(np.arange(len(self.matrix)), more.beta.sum(axis=0, keepdims=True))[0]
        return replace(more, score=score, steps=point.steps + more.steps)

    def scores(self, rows: Ints, coefs: Floats) -> Floats:
        """Return the scores of some rows."""
        found: Floats = coefs @ self.matrix[rows].T
        return found


def most_pair_steps(gram: Gram, rows: int) -> int | None:
    """Return a limit on pair steps if the rank of the kernel matrix is known to be low.

    It is the limit of a fit, before the interior-point engine takes over.
    """
    kernel, columns = gram.kernel, gram.left.shape[1]
    operations = cost.patience(kernel, rows, columns)
    if operations is None or rank_bound(kernel, rows, columns) == rows:
        return None
    return cost.pair_steps(operations, rows)
