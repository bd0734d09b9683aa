"""Solutions with their certificates, and solutions that were cut short or continued."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from widestreet._src.arrays import Floats
from widestreet._src.certificate import Certificate, GapEstimate
from widestreet._src.engines.budget import OutOfBudget
from widestreet._src.engines.solution import Solution, Trace, TraceRecord
from widestreet._src.problems.goal import Goal
from widestreet._src.shards.point import Point
from widestreet._src.status import Status
from widestreet._src.training.problem import Problem


@dataclass(frozen=True, eq=False)
class Trained:
    """A solution with its biases and its certificate."""

    solution: Solution
    bias: Floats
    certificate: Certificate

    def at_least_as_good_as(self, other: Trained) -> bool:
        """Return whether this replaces an earlier result: it is certified, and not worse."""
        mine, theirs = self.certificate, other.certificate
        if mine.n_rows == 0 or theirs.n_rows == 0:
            return theirs.n_rows == 0
        return mine.status.success or mine.dual_objective >= theirs.dual_objective


def stopped_by(stop: OutOfBudget | KeyboardInterrupt) -> Status:
    """Return the status of a solution that this exception cut short."""
    return stop.status if isinstance(stop, OutOfBudget) else Status.INTERRUPTED


def untouched(problem: Problem, status: Status) -> Solution:
    """Return the starting point of a problem as its solution, if no time is left."""
    dual = problem.dual
    beta = dual.feasible_point() if problem.start is None else problem.start
    return Solution(
        point=Point.of(beta),
        rows=dual.rows,
        bias=np.zeros(dual.groups),
        dual_objective=-np.inf if beta.any() else 0.0,  # a lower bound
        status=status,
        trace=Trace(),
        pair_steps=0,
        kernel_values=0,
    )


def after(solution: Solution, record: TraceRecord) -> TraceRecord:
    """Return a record of the continuation of a solution, with the counts of both."""
    return replace(
        record,
        round=record.round + len(solution.trace),
        pair_steps=record.pair_steps + solution.pair_steps,
        kernel_values=record.kernel_values + solution.kernel_values,
    )


def at_point_of(solution: Solution, more: Solution) -> Solution:
    """Return a continuation with the point of the solution that it continues."""
    return replace(
        more, point=solution.point, bias=solution.bias, dual_objective=solution.dual_objective
    )


def continued(solution: Solution, more: Solution) -> Solution:
    """Return a solution that continues another one, with the counts of both."""
    return replace(
        more,
        trace=Trace([*solution.trace, *(after(solution, record) for record in more.trace)]),
        pair_steps=solution.pair_steps + more.pair_steps,
        kernel_values=solution.kernel_values + more.kernel_values,
    )


def uncertified(solution: Solution, goal: Goal, estimate: GapEstimate | None = None) -> Trained:
    """Return a solution that was not examined, for lack of time; it is never optimal."""
    status = Status.TIME_LIMIT if solution.status == Status.OPTIMAL else solution.status
    certificate = Certificate.unexamined(
        status, solution.dual_objective, goal.tol, goal.gap_tol, estimate
    )
    return Trained(solution, solution.bias, certificate)


def labelled(solution: Solution, problem: int) -> Solution:
    """Return a solution whose records have the number of its problem."""
    if all(record.problem == problem for record in solution.trace):
        return solution
    trace = Trace(replace(record, problem=problem) for record in solution.trace)
    return replace(solution, trace=trace)
