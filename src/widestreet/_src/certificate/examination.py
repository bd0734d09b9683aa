"""What an examination of a point found, and what that means for an engine and for a certificate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from widestreet._src.arrays import Floats
from widestreet._src.certificate.certificate import Certificate
from widestreet._src.problems.goal import Goal
from widestreet._src.status import Status

# Constraints may be broken by rounding only: this part of the boxes' width or of their sum.
_FEASIBLE = 1e-10
_GAP_SHARE = 0.3  # of the gap allowed: aimed at, since a gap does not fall as the violation does
_LEAST_AIM = 0.1  # of tol: where rounding takes the rest, a smaller violation is not asked for
_SLOWEST, _FASTEST = 0.5, 1e-3  # factors by which the violation aimed at may fall at once


@dataclass(frozen=True, eq=False)
class Examination:
    """Everything an examination of a point found; the certificate is its summary.

    Attributes
    ----------
    rows : int
        Rows that were examined.
    bias : ndarray of shape (groups,)
        Best bias of each group: the middle of the minimisers of the primal.
    primal, dual, violation, infeasibility : float
    rounding : float
        Bound on the error of the violation by rounding.
    mass : float
        Sum of the sizes of the groups' totals.
    convex : bool
        Whether the kernel is known to be positive semidefinite.
    """

    rows: int
    bias: Floats
    primal: float
    dual: float
    violation: float
    infeasibility: float
    rounding: float
    mass: float
    convex: bool

    @property
    def gap(self) -> float:
        """Primal less dual; rounding may leave it just below zero."""
        return max(0.0, self.primal - self.dual)

    @property
    def _scale(self) -> float:
        return max(abs(self.primal), abs(self.dual))

    def _attainable(self, goal: Goal) -> Goal:
        """Return what a point must meet; there is no gap where the kernel may be indefinite."""
        return goal if self.convex else goal.without_gap()

    def meets(self, goal: Goal) -> bool:
        """Tell whether the point is proved to be optimal."""
        return self.infeasibility <= _FEASIBLE and self._attainable(goal).met(
            self.violation + self.rounding,
            gap=abs(self.primal - self.dual),
            scale=self._scale,
            mass=self.mass,
        )

    def next_violation(self, goal: Goal) -> float | None:
        """Return the violation to aim at next; None if the engine has nothing left to gain.

        That is so at a point that is proved to be optimal, and at one that float64 cannot tell
        from it.
        """
        tol = goal.tol
        if not self.violation <= tol:  # then the rounding is bounded for all rows at once only
            return tol
        aim = max(tol - self.rounding, _LEAST_AIM * tol) if self.rounding < tol else tol
        if self.violation > aim:
            return aim
        allowed = self._attainable(goal).allowed_gap(self._scale, self.mass)
        if self.gap <= allowed or self.violation == 0:
            return None
        return self.violation * float(np.clip(_GAP_SHARE * allowed / self.gap, _FASTEST, _SLOWEST))

    def certificate(self, status: Status, goal: Goal) -> Certificate:
        """Summarise, never calling a point optimal that is not.

        Parameters
        ----------
        status : Status
            What the engine says.
        goal : Goal
            What a point must meet to be optimal.
        """
        sound = self.meets(goal)
        if status == Status.OPTIMAL and not sound:
            status = Status.STALLED
        elif status in (Status.STALLED, Status.ITERATION_LIMIT, Status.TIME_LIMIT) and sound:
            status = Status.OPTIMAL
        gap, scale = self.gap, self._scale
        relative = gap / scale if 0 < scale < float("inf") else gap
        if not self.convex:
            gap = relative = float("nan")
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
            gap_tol=goal.gap_tol,
            n_distinct_rows=self.rows,
        )
