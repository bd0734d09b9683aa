"""Stopping criterion of a solve: the tolerances of violation and duality gap."""

from __future__ import annotations

from dataclasses import dataclass, replace

MARGIN = 0.4  # of tol: target on either side of the bias, which leaves room for rounding


@dataclass(frozen=True)
class Goal:
    """Tolerances that a solution must meet.

    Attributes
    ----------
    tol : float
        Largest violation of the optimality conditions.
    gap_tol : float or None
        Largest duality gap, relative to the objective; None for no limit.
    """

    tol: float
    gap_tol: float | None = None

    @property
    def aim(self) -> float:
        """Violation to which engines solve and search, on either side of the bias."""
        return MARGIN * self.tol

    @property
    def within(self) -> float:
        """Largest violation between two rows of which neither violates by more than `aim`."""
        return 2.0 * self.aim

    def met(
        self, violation: float, *, gap: float = 0.0, scale: float = 0.0, mass: float = 0.0
    ) -> bool:
        """Return whether a point with these figures is a solution.

        Parameters
        ----------
        violation, gap : float
        scale, mass : float
            As for `allowed_gap`.
        """
        return violation <= self.tol and gap <= self.allowed_gap(scale, mass)

    def allowed_gap(self, scale: float, mass: float) -> float:
        """Return the largest gap of an optimal point.

        Where totals are fixed (nu), the optimum may be zero, so that no gap is small relative to
        it. A gap of tol per unit of the totals is then allowed; it corresponds to a violation of
        tol.

        Parameters
        ----------
        scale : float
            Absolute value of the objective.
        mass : float
            Sum of the absolute totals of the groups.
        """
        if self.gap_tol is None:
            return float("inf")
        return max(self.gap_tol * scale, self.tol * mass)

    def without_gap(self) -> Goal:
        """Return the goal with a tolerance of the violation only."""
        return Goal(self.tol)

    def tightened(self, tol: float) -> Goal:
        """Return a goal with a violation no larger than `tol`."""
        return replace(self, tol=min(self.tol, tol))
