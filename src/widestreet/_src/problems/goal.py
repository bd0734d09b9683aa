"""When a solve is done."""

from __future__ import annotations

from dataclasses import dataclass, replace

MARGIN = 0.4  # of tol: aimed at on either side of the bias, so that rounding does not matter


@dataclass(frozen=True)
class Goal:
    """How exact a solution is to be.

    Attributes
    ----------
    tol : float
        The largest violation of the optimality conditions.
    gap_tol : float or None
        The largest duality gap, relative to the objective; None if it does not matter.
    """

    tol: float
    gap_tol: float | None = None

    @property
    def aim(self) -> float:
        """The violation to solve and to look for, on either side of the bias."""
        return MARGIN * self.tol

    def met(
        self, violation: float, *, gap: float = 0.0, scale: float = 0.0, mass: float = 0.0
    ) -> bool:
        """Tell whether a point with these figures is a solution.

        Parameters
        ----------
        violation, gap : float
        scale, mass : float
            As for `allowed_gap`.
        """
        return violation <= self.tol and gap <= self.allowed_gap(scale, mass)

    def allowed_gap(self, scale: float, mass: float) -> float:
        """Return the gap up to which a point is optimal.

        Where totals are fixed (nu), the optimum may be zero, and nothing is small relative to it.
        Then a gap of tol per unit of the totals is as small as the violation.

        Parameters
        ----------
        scale : float
            The size of the objective.
        mass : float
            Sum of the sizes of the groups' totals.
        """
        if self.gap_tol is None:
            return float("inf")
        return max(self.gap_tol * scale, self.tol * mass)

    def without_gap(self) -> Goal:
        """Return the goal of a problem whose gap says nothing."""
        return Goal(self.tol)

    def tightened(self, tol: float) -> Goal:
        """Return a goal with a violation no larger than `tol`."""
        return replace(self, tol=min(self.tol, tol))
