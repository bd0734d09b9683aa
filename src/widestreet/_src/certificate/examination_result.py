"""The result of the examination of a point, and its use by engines and certificates."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from widestreet._src.arrays import Floats
from widestreet._src.certificate.certificate import FEASIBILITY_TOL, Certificate
from widestreet._src.problems.goal import Goal
from widestreet._src.status import Status

_GAP_MARGIN = 0.3  # fraction of the allowed gap to aim at: a gap falls slower than the violation
_SMALLEST_AIM = 0.1  # of tol: smallest violation to aim at when rounding takes the rest
_SLOWEST_REDUCTION, _FASTEST_REDUCTION = 0.5, 1e-3  # bounds on the factor of the next violation


@dataclass(frozen=True, eq=False)
class Examination:
    """Result of the examination of a point; the certificate summarises it.

    Attributes
    ----------
    rows : int
        Number of examined rows.
    bias : ndarray of shape (groups,)
        Best bias of each group: the middle of the interval of minimisers of the primal.
    primal, dual, violation, infeasibility : float
    rounding : float
        Bound on the rounding error of the violation.
    largest_gap : float
        Bound on the gap of the exact scores, with the errors of the objectives.
    mass : float
        Sum of the absolute totals of the groups.
    convex : bool
        True if the kernel is known to be positive semidefinite.
    """

    rows: int
    bias: Floats
    primal: float
    dual: float
    violation: float
    infeasibility: float
    rounding: float
    largest_gap: float
    mass: float
    convex: bool

    @property
    def gap(self) -> float:
        """Duality gap; negative values, caused by rounding, count as zero."""
        gap = self.primal - self.dual
        return gap if gap != gap else max(0.0, gap)  # nan where the objectives overflow

    @property
    def _difference(self) -> float:
        return abs(self.primal - self.dual)

    @property
    def _scale(self) -> float:
        return max(abs(self.primal), abs(self.dual))

    def _attainable(self, goal: Goal) -> Goal:
        """Return the goal, without a gap if the kernel may be indefinite."""
        return goal if self.convex else goal.without_gap()

    def meets(self, goal: Goal) -> bool:
        """Return whether the point is proved to be optimal."""
        return self.infeasibility <= FEASIBILITY_TOL and self._attainable(goal).met(
            self.violation + self.rounding,
            gap=max(self._difference, self.largest_gap),
            scale=self._scale,
            mass=self.mass,
        )

    def limited_by_rounding(self, goal: Goal) -> bool:
        """Return whether a figure is within its tolerance, but not by more than its rounding."""
        allowed = self._attainable(goal).allowed_gap(self._scale, self.mass)
        return (
            self.violation <= goal.tol < self.violation + self.rounding
            or self._difference <= allowed < self.largest_gap
        )

    def inconsistent(self) -> Examination:
        """Return the examination of scores that disagree with a second computation."""
        return replace(self, rounding=float("inf"), largest_gap=float("inf"))

    def next_violation(self, goal: Goal) -> float | None:
        """Return the violation to aim at next; None if the engine cannot improve the point.

        This holds for a point that is proved to be optimal, and for a point that float64 cannot
        distinguish from the optimum.
        """
        tol = goal.tol
        if not self.violation <= tol:  # or nan; the bound on the rounding is still coarse
            return tol
        aim = max(tol - self.rounding, _SMALLEST_AIM * tol) if self.rounding < tol else tol
        if self.violation > aim:
            return aim
        allowed = self._attainable(goal).allowed_gap(self._scale, self.mass)
        if self.gap <= allowed or self.violation == 0:
            return None
        factor = _GAP_MARGIN * allowed / self.gap
        return self.violation * float(np.clip(factor, _FASTEST_REDUCTION, _SLOWEST_REDUCTION))

    def certificate(self, status: Status, goal: Goal) -> Certificate:
        """Return the certificate; its status is "optimal" only if this is proved.

        Parameters
        ----------
        status : Status
            Status of the engine.
        goal : Goal
            Tolerances that an optimal point must meet.
        """
        sound = self.meets(goal)
        if status == Status.OPTIMAL and not sound:
            status = Status.STALLED
        elif status in (Status.STALLED, Status.ITERATION_LIMIT, Status.TIME_LIMIT) and sound:
            status = Status.OPTIMAL
        gap, scale = self.gap, self._scale
        relative = gap / scale if 0 < scale < float("inf") else gap
        if not self.convex or self.infeasibility > FEASIBILITY_TOL:
            gap = relative = float("nan")
        rounding = max(0.0, self.largest_gap - gap) if gap == gap else gap
        return Certificate(
            primal_objective=float(self.primal),
            dual_objective=self.dual,
            gap=gap,
            relative_gap=relative,
            kkt_violation=self.violation,
            status=status,
            n_rows=self.rows,
            tol=goal.tol,
            rounding=self.rounding,
            gap_rounding=rounding,
            gap_tol=goal.gap_tol,
            n_distinct_rows=self.rows,
            infeasibility=self.infeasibility,
        )
