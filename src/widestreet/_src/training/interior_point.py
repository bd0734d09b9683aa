"""The interior-point engine for a problem in memory, and when to use it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from math import isqrt

import numpy as np

from widestreet._src.arrays import Floats, Ints
from widestreet._src.engines.budget import Budget, OutOfBudget
from widestreet._src.engines.interior import cost_against_pair_steps as cost
from widestreet._src.engines.interior.crossover import crossed_over, feasible
from widestreet._src.engines.interior.iterate import scores
from widestreet._src.engines.interior.low_rank_factor import factor_of, rank_bound
from widestreet._src.engines.interior.pivoted_cholesky import (
    NotPositive,
    RankTooLarge,
    pivoted_cholesky,
)
from widestreet._src.engines.interior.predictor_corrector import InteriorEngine
from widestreet._src.engines.interior.vertex import polished
from widestreet._src.engines.solution import Observer, Solution, TraceRecord
from widestreet._src.kernels.gram import Gram, without_diagonal
from widestreet._src.kernels.kernels import Linear
from widestreet._src.kernels.poll import Poll
from widestreet._src.problems.dual import Dual
from widestreet._src.shards.point import Point
from widestreet._src.status import Status
from widestreet._src.training.problem import Problem
from widestreet._src.training.trained import stopped_by, untouched

_BYTES_PER_VARIABLE = 300  # of the vectors of an iteration
_PASSES_OF_CERTIFICATE = 3.0  # in units of a scan
_PASSES_AT_END = 2.0  # times the seconds of the first iterate
_SECONDS_PER_ROW = 1.2e-6  # for sums over rows and their variables
_MATRICES = 4  # of the size of the Newton system, and one more for each thread
_SAMPLE = 2  # rows per rank that pays, in the sample whose rank is computed
_WORTH_ALL_ROWS = 1e-4  # of the objective: for less, a point with fewer coefficients is kept
_LAST_STEPS_PER_ROW, _LEAST_LAST_STEPS = 20, 20_000  # pair steps of the rounds that follow


@dataclass(frozen=True)
class Patience:
    """Limit on the operations of rounds before the interior-point engine takes over.

    Attributes
    ----------
    operations : float
        Multiply-adds for kernel values.
    cost : float
        Multiply-adds of a kernel value.
    possible : callable
        Returns whether that engine may succeed; called when the limit is reached.
    """

    operations: float
    cost: float
    possible: Callable[[], bool]

    def watch(self, observe: Observer) -> Observer:
        """Return an observer that raises OutOfBudget after a round that exceeds the limit."""

        def watched(record: TraceRecord) -> None:
            observe(record)
            if record.kernel_values * self.cost > self.operations and self.possible():
                raise OutOfBudget(Status.STALLED)

        return watched


@dataclass(frozen=True, eq=False)
class LowRank:
    """The interior-point engine for a problem in memory.

    Attributes
    ----------
    gram : Gram
        Kernel values, with the diagonal term of the dual if that has one.
    dual : Dual
    budget : Budget
    threads : int
    max_memory : int
        Bytes of a fit.
    enough : float
        Violation below which the last digits do not matter.
    """

    gram: Gram
    dual: Dual
    budget: Budget
    threads: int
    max_memory: int
    enough: float = 0.0

    @property
    def _operations(self) -> float | None:
        return cost.patience(self.gram.kernel, self.dual.rows, self.gram.left.shape[1])

    @property
    def patience(self) -> Patience | None:
        """Limit on the rounds before this engine; None if it would take too long."""
        operations = self._operations
        if operations is None:
            return None
        # scores of a linear kernel need one vector instead of all kernel values
        value = 0.0 if isinstance(self.gram.kernel, Linear) else self.gram.cost
        return Patience(operations, value, lambda: self.possible)

    @cached_property
    def possible(self) -> bool:
        """False if a sample of the rows shows that the rank is too large, or K not positive.

        The rank of all rows is at least that of some. To compute it costs next to nothing.
        """
        rows = self.dual.rows
        if rank_bound(self.gram.kernel, rows, self.gram.left.shape[1]) < rows:
            return True
        most = self._most(None)
        some = np.unique(np.linspace(0, rows - 1, min(rows, _SAMPLE * most)).astype(np.int64))
        try:
            pivoted_cholesky(without_diagonal(self.gram).select(some), most, Poll())
        except (RankTooLarge, NotPositive):
            return False
        return True

    @property
    def pair_steps(self) -> int:
        """Limit on the pair steps before this engine."""
        return cost.pair_steps(self._operations or 0.0, self.dual.rows)

    @property
    def last_pair_steps(self) -> int:
        """Limit on the pair steps after this engine; more would only lose digits."""
        return max(self.pair_steps, _LEAST_LAST_STEPS, _LAST_STEPS_PER_ROW * self.dual.rows)

    def solve(self, most: int | None, observe: Observer) -> tuple[Solution, Ints]:
        """Return the point of the interior-point engine, and its rows with free variables.

        Raises RankTooLarge or NotPositive if the kernel matrix has no factor of low rank.

        Parameters
        ----------
        most : int or None
            Largest rank; None for that at which the method pays.
        observe : callable
        """
        dual, gram, poll = self.dual, self.gram, Poll(self.budget.look_at_clock)
        engine, crossed, status = None, None, Status.STALLED
        self._keep_time()
        try:
            factor = factor_of(
                without_diagonal(gram),
                most=self._most(most),
                memory=self._memory,
                centred=abs(float(dual.total.sum())) == 0.0,
                threads=self.threads,
                poll=poll,
            )
            begun = time.perf_counter()
            engine = InteriorEngine(factor, dual, self.budget, observe)
            self._keep_time(time.perf_counter() - begun)
            with np.errstate(over="ignore", invalid="ignore"):  # the result is checked
                engine.solve()
                crossed = crossed_over(dual, engine.best, factor)
                crossed = polished(gram, dual, factor, crossed[0], self.enough), crossed[1]
        except (OutOfBudget, KeyboardInterrupt) as stop:
            status = stopped_by(stop)
        if engine is None:
            return untouched(Problem(dual), status), np.empty(0, dtype=np.int64)
        if crossed is None:
            with np.errstate(over="ignore", invalid="ignore"):
                beta, first, last = _stopped_at(engine)
        else:
            beta, first = crossed
            last = engine.trace[-1].dual_objective
        if not np.isfinite(beta).all():  # the boxes are so large that products overflow
            return untouched(Problem(dual), status), np.empty(0, dtype=np.int64)
        found = Solution(
            point=Point.of(beta),
            rows=dual.rows,
            bias=-engine.best.multiplier,
            dual_objective=last,
            status=status,
            trace=engine.trace,
            pair_steps=0,
            kernel_values=poll.kernel_values,
        )
        return found, first

    def _keep_time(self, first: float = 0.0) -> None:
        """Reserve time for the last point and a certificate.

        Half of the rows may become support vectors. Scores of a linear kernel need one vector
        instead. The first iterate takes `first` seconds, for some passes over V.
        """
        rows = self.dual.rows
        values = 0.0 if isinstance(self.gram.kernel, Linear) else 0.5 * rows**2
        seconds = _PASSES_OF_CERTIFICATE * self.gram.seconds_per_value * values
        self.budget.keep_back(seconds + rows * _SECONDS_PER_ROW + _PASSES_AT_END * first)

    @contextmanager
    def explained(self, most: int) -> Iterator[None]:
        """Turn the reasons why there is no factor of this rank into errors for the user."""
        try:
            yield
        except NotPositive:
            raise ValueError(
                f"strategy='interior' needs a positive semidefinite kernel matrix, but that of "
                f"the {self.gram.kernel.name} kernel is not; use strategy='auto', or another kernel"
            ) from None
        except RankTooLarge:
            raise ValueError(
                "strategy='interior' needs a kernel matrix of low rank, but the rank of that of "
                f"the {self.gram.kernel.name} kernel exceeds {self._most(most):,}; use "
                "strategy='auto', or raise max_memory or the max_rank of Interior"
            ) from None

    def _most(self, most: int | None) -> int:
        """Return the largest rank: that asked for, or where it pays, if the memory allows it."""
        if most is None:
            most = cost.largest_rank(self.gram.kernel, self.dual.rows, self.gram.left.shape[1])
        matrices = _MATRICES + self.threads
        return min(most, isqrt(max(1, self._memory // (8 * matrices))))

    @property
    def _memory(self) -> int:
        """Bytes for the factor."""
        used = _BYTES_PER_VARIABLE * self.dual.rows * self.dual.layers
        return max(0, self.max_memory - used) // 2


def _stopped_at(engine: InteriorEngine) -> tuple[Floats, Ints, float]:
    """Return a feasible point of an engine that was stopped, its free rows, and its objective.

    It is the best iterate, or that with variables at the bounds that they approach, which has fewer
    coefficients. Long before the end the latter is often far from the optimum.
    """
    dual, at = engine.dual, engine.best
    snapped, first = crossed_over(dual, at)
    inside = feasible(dual, at)
    at_bounds, best = (_objective(engine, beta) for beta in (snapped, inside))
    if at_bounds >= best - _WORTH_ALL_ROWS * abs(best):
        return snapped, first, at_bounds
    return inside, np.flatnonzero(at.movable.any(axis=0)), best


def _objective(engine: InteriorEngine, beta: Floats) -> float:
    """Return the dual objective of a point, by the factor."""
    factor = replace(engine.factor, poll=Poll())  # the clock would end it
    inner = factor.transposed(beta.sum(axis=0))
    return engine.dual.objective(beta, scores(factor, engine.dual, beta, inner))
