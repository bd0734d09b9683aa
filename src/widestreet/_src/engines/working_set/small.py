"""Solution of small problems in one native call, for many problems at a time.

If the first working set of a strategy contains all rows, no rounds are needed: the call computes
the kernel tile, takes pair steps and Newton steps to the strategy's last tolerance, and one round
is recorded. The working-set engine continues problems that are not solved then, because convergence
is slow or kernel values overflow.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from widestreet import _core
from widestreet._src.arrays import Floats, Ints
from widestreet._src.engines.budget import Budget
from widestreet._src.engines.selection.strategy_protocol import Strategy
from widestreet._src.engines.solution import Solution, Trace, TraceRecord
from widestreet._src.kernels.gram import Gram
from widestreet._src.problems.dual import Dual, join
from widestreet._src.problems.goal import Goal
from widestreet._src.shards.point import Point
from widestreet._src.status import Status

CALL_COST = 1e9  # multiply-adds of a native call per thread: some hundredths of a second
_MOST_ROWS = 2048  # kernel values are float64 throughout
_STEPS_PER_ROW, _LEAST_STEPS = 20, 1000  # limit of pair steps of a problem
_STEP_COST = 10.0  # of a pair step per row, in multiply-adds
_NEWTON_STEPS, _FREE = 30, 200  # limits of Newton steps, and of their free variables


def most_steps(rows: int) -> int:
    """Return the largest number of pair steps of a problem."""
    return max(_LEAST_STEPS, _STEPS_PER_ROW * rows)


def cost(gram: Gram, rows: int) -> float:
    """Return a bound on the multiply-adds of a problem, without Newton steps."""
    return rows * (rows * gram.cost + _STEP_COST * most_steps(rows))


def cost_of_many(gram: Gram, rows: int) -> float:
    """Return a bound on the multiply-adds of a problem, with Newton steps."""
    return cost(gram, rows) + _NEWTON_STEPS * min(rows, _FREE) ** 3 / 3


def suits(gram: Gram, rows: int, strategy: Strategy, capacity: int) -> bool:
    """Return whether one native call may solve a problem; `capacity` limits the working set."""
    return (
        rows <= _MOST_ROWS
        and gram.native is not None
        and strategy.solves_small
        and strategy.search().start(rows, capacity) == rows
        and cost(gram, rows) <= CALL_COST
    )


def solve(
    grams: Sequence[Gram],
    duals: Sequence[Dual],
    starts: Sequence[Floats | None],
    *,
    goal: Goal,
    budget: Budget,
    threads: int,
    numbers: Sequence[int] = (0,),
) -> list[Solution]:
    """Take pair steps on problems of the same kind, each from its start or a feasible point.

    The status of a solution is "optimal", "stalled" if the problem is not solved, or "interrupted"
    after Ctrl-C.

    Parameters
    ----------
    grams : sequence of Gram
        Kernel values between the rows of each dual, all of them of one Gram.
    duals : sequence of Dual
    starts : sequence of ndarray or None
        Feasible points.
    goal : Goal
        Violation to reach over all rows.
    budget : Budget
        Limits; that of steps holds for each problem.
    threads : int
    numbers : sequence of int
        Indices of the problems in their records.
    """
    begun = time.perf_counter()
    packed = _Packed.of(grams, duals, starts)
    steps = np.array([min(budget.steps_left, most_steps(dual.rows)) for dual in duals])
    interrupted = False
    try:
        reports, biases = packed.call(steps, goal, threads)
    except KeyboardInterrupt:  # raised after the call: beta is its result
        interrupted = True
        reports, biases = packed.call(np.zeros_like(steps), goal, threads)
    seconds = (time.perf_counter() - begun) / len(duals)
    found = []
    for p, (number, dual) in enumerate(zip(numbers, duals, strict=True)):
        record = _record(dual, reports[p].tolist(), biases[p])
        record = replace(record, problem=number, seconds=budget.elapsed, timings={"solve": seconds})
        found.append(
            Solution(
                point=Point.of(packed.beta_of(p)),
                rows=dual.rows,
                bias=biases[p],
                dual_objective=record.dual_objective,
                status=_status(record.violation <= goal.aim, interrupted),
                trace=Trace([record]),
                pair_steps=record.pair_steps,
                kernel_values=record.kernel_values,
            )
        )
    return found


@dataclass(frozen=True, eq=False)
class _Packed:
    """Concatenated problems, in the form of the core.

    Attributes
    ----------
    native : tuple
        Kernel and all rows.
    rows, end : ndarray
        Rows of the problems, and the end of those of each problem.
    variables : Dual
    beta : ndarray of shape (layers, rows)
        Current point.
    """

    native: tuple[_core.Kernel, _core.Rows]
    rows: Ints
    end: Ints
    variables: Dual
    beta: Floats

    @classmethod
    def of(
        cls, grams: Sequence[Gram], duals: Sequence[Dual], starts: Sequence[Floats | None]
    ) -> _Packed:
        """Concatenate problems, each at its start or at a feasible point."""
        native, one = grams[0].native, len(duals) == 1
        assert native is not None
        index = [
            gram.left_index(np.arange(dual.rows)) for gram, dual in zip(grams, duals, strict=True)
        ]
        end = np.cumsum([dual.rows for dual in duals])
        variables = duals[0] if one else join(duals)
        beta = np.zeros_like(variables.target)
        away = any(dual.total.any() for dual in duals)  # from zero
        for dual, b, start in zip(duals, end.tolist(), starts, strict=True):
            if start is not None or away:
                beta[:, b - dual.rows : b] = dual.feasible_point() if start is None else start
        return cls(native, index[0] if one else np.concatenate(index), end, variables, beta)

    def call(self, steps: Ints, goal: Goal, threads: int) -> tuple[Floats, Floats]:
        """Take at most `steps` pair steps on each problem; return reports and biases.

        Sets: beta.
        """
        return _core.solve_small(
            *self.native,
            self.rows,
            self.variables.native(),
            self.beta,
            np.empty(len(self.rows)),
            end=self.end,
            max_steps=steps,
            tol=goal.aim,
            threads=threads,
        )

    def beta_of(self, problem: int) -> Floats:
        """Return the coefficients of a problem."""
        if len(self.end) == 1:
            return self.beta
        begin = self.end[problem - 1] if problem else 0
        return np.ascontiguousarray(self.beta[:, begin : self.end[problem]])


def _record(dual: Dual, report: Sequence[float], bias: Floats) -> TraceRecord:
    """Return the record of the only round of a problem from the report of the core."""
    violation, steps, support, free, linear, norm, loss, values = report
    return TraceRecord(
        round=1,
        working_set=dual.rows,
        n_sv=int(support),
        n_free=int(free),
        violation=violation,
        dual_objective=linear - 0.5 * norm,
        gap=norm + float((bias * dual.total).sum()) + loss - linear,
        rows_scanned=0,
        rows_skipped=0,
        kernel_values=int(values),
        pair_steps=int(steps),
        seconds=0.0,
    )


def _status(solved: bool, interrupted: bool) -> Status:
    if interrupted:
        return Status.INTERRUPTED
    return Status.OPTIMAL if solved else Status.STALLED
