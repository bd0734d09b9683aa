"""Small problems, whole: one round in one native call, for many problems at a time.

Where the first working set of a strategy is all rows, there is nobody to propose and nothing to
survey: the kernel tile is computed, pair steps and Newton steps are taken to the strategy's last
tolerance, and the round is recorded. What is not solved then (steps that creep, kernel values that
overflow) is for the working-set engine to go on with.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from widestreet import _core
from widestreet._src.arrays import Floats, Ints
from widestreet._src.engines.budget import Budget
from widestreet._src.engines.selection.contract import MARGIN, Strategy
from widestreet._src.engines.solution import Solution, Trace, TraceRecord
from widestreet._src.kernels.gram import Gram
from widestreet._src.problems.dual import Dual, join
from widestreet._src.status import Status

CALL_COST = 1e9  # multiply-adds of a native call per thread: some hundredths of a second
_MOST_ROWS = 2048  # kernel values are float64 throughout
_STEPS_PER_ROW, _LEAST_STEPS = 20, 1000  # after which pair steps are not the way
_STEP_COST = 10.0  # of a pair step per row, in multiply-adds
_NEWTON_STEPS, _FREE = 30, 200  # that a problem may take, and variables they may have


def most_steps(rows: int) -> int:
    """Pair steps that a problem may take here."""
    return max(_LEAST_STEPS, _STEPS_PER_ROW * rows)


def cost(gram: Gram, rows: int) -> float:
    """Multiply-adds that a problem of so many rows takes at the most."""
    return rows * (rows * gram.cost + _STEP_COST * most_steps(rows))


def cost_of_many(gram: Gram, rows: int) -> float:
    """The same, with Newton steps: what one of many problems in a call is counted as."""
    return cost(gram, rows) + _NEWTON_STEPS * min(rows, _FREE) ** 3 / 3


def suits(gram: Gram, rows: int, strategy: Strategy, capacity: int) -> bool:
    """Whether a problem of so many rows may be solved whole; `capacity` is what memory allows."""
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
    tol: float,
    budget: Budget,
    threads: int,
    numbers: Sequence[int] = (0,),
) -> list[Solution]:
    """Take pair steps on problems of the same kind, each from its start or a feasible point.

    The status of a solution is "optimal" or, if there is more to do, "stalled"; "interrupted" if
    Ctrl-C was heard on the way.

    Parameters
    ----------
    grams : sequence of Gram
        Kernel values between the rows of each dual, all of them of one Gram.
    duals : sequence of Dual
    starts : sequence of ndarray or None
        Feasible points.
    tol : float
        Violation to reach over all rows.
    budget : Budget
        Its steps are for each problem.
    threads : int
    numbers : sequence of int
        What the problems are called in their records.
    """
    native = grams[0].native
    assert native is not None
    begun = time.perf_counter()
    sizes = [dual.rows for dual in duals]
    end = np.cumsum(sizes)
    one = len(duals) == 1
    whole = duals[0] if one else join(duals)
    index = [gram.left_index(np.arange(n)) for gram, n in zip(grams, sizes, strict=True)]
    rows = index[0] if one else np.concatenate(index)
    totals = np.array([dual.total for dual in duals])
    left = budget.steps_left
    beta = np.zeros_like(whole.target)
    away = totals.any()  # from zero
    for dual, b, start in zip(duals, end.tolist(), starts, strict=True):
        if start is not None or away:
            beta[:, b - dual.rows : b] = dual.feasible_point() if start is None else start
    score, variables = np.empty(len(rows)), whole.native()

    def call(steps: Ints) -> tuple[Floats, Floats]:
        return _core.solve_small(
            *native,
            rows,
            variables,
            beta,
            score,
            end=end,
            max_steps=steps,
            tol=MARGIN * tol,
            threads=threads,
        )

    interrupted = False
    try:
        reports, biases = call(np.array([min(left, most_steps(n)) for n in sizes]))
    except KeyboardInterrupt:  # heard after the call: beta is where it ended
        interrupted = True
        reports, biases = call(np.zeros(len(sizes), dtype=np.int64))
    timings = {"solve": (time.perf_counter() - begun) / len(duals)}
    prices = (biases * totals).sum(axis=1).tolist()
    seconds = budget.elapsed
    found = []
    for p, (number, size, b, report) in enumerate(
        zip(numbers, sizes, end.tolist(), reports.tolist(), strict=True)
    ):
        violation, steps, support, free, linear, norm, loss, values = report
        objective = linear - 0.5 * norm
        record = TraceRecord(
            round=1,
            working_set=size,
            n_sv=int(support),
            n_free=int(free),
            violation=violation,
            dual_objective=objective,
            gap=norm + prices[p] + loss - linear,
            rows_scanned=0,
            rows_skipped=0,
            kernel_values=int(values),
            pair_steps=int(steps),
            seconds=seconds,
            timings=timings,
            problem=number,
        )
        found.append(
            Solution(
                beta=beta if one else np.ascontiguousarray(beta[:, b - size : b]),
                bias=biases[p],
                dual_objective=objective,
                status=_status(violation <= MARGIN * tol, interrupted),
                trace=Trace([record]),
                pair_steps=int(steps),
                kernel_values=int(values),
            )
        )
    return found


def _status(solved: bool, interrupted: bool) -> Status:
    if interrupted:
        return Status.INTERRUPTED
    return Status.OPTIMAL if solved else Status.STALLED
