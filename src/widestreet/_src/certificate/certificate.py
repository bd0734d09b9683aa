"""The certificate: what was proved about a solution."""

from __future__ import annotations

from dataclasses import dataclass
from math import isinf, isnan

from widestreet._src.status import Status


@dataclass(frozen=True)
class Certificate:
    """The figures that were proved about a solution.

    If an interrupt or `max_time` left no time to examine every row, n_rows is zero and the bounds
    are infinite.

    Attributes
    ----------
    primal_objective, dual_objective : float
        In the scale of the textbook C-SVM: 1/2 |w|^2 + sum of losses, and its dual.
    gap, relative_gap : float
        primal - dual, and the same divided by max(|primal|, |dual|): no model can be better by
        more than this. The relative gap is at most 2; it exceeds 1 where the two objectives have
        different signs. Not a number where the kernel is not known to be positive semidefinite,
        since then nothing bounds the optimum and "optimal" means that the conditions hold.
    kkt_violation : float
        Largest violation of the optimality conditions over all rows.
    status : Status
        "optimal" only if kkt_violation + rounding <= tol, relative_gap <= gap_tol and all
        constraints hold. For nu machines, whose optimal objective may be zero, a gap of at most
        tol times the sum of the coefficients' sizes suffices.
    n_rows : int
        Rows that were examined: those passed to fit whose weight is not zero.
    tol : float
        What bounds kkt_violation + rounding.
    rounding : float
        Bound on the error of kkt_violation by the rounding of float64. Values of a precomputed
        kernel or of a Python function count as exact. Infinite if scores disagreed with a second
        computation.
    gap_tol : float or None
        What bounds relative_gap; None if nothing does.
    n_distinct_rows : int
        The same rows, those equal in all features and in the target counted once.

    Examples
    --------
    >>> from widestreet import SVC
    >>> print(SVC().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]).certificate_)
    optimal: 4 rows examined, KKT violation ... (tol 0.001), relative duality gap ...
    """

    primal_objective: float
    dual_objective: float
    gap: float
    relative_gap: float
    kkt_violation: float
    status: Status
    n_rows: int
    tol: float
    rounding: float = 0.0
    gap_tol: float | None = None
    n_distinct_rows: int = 0

    @classmethod
    def unexamined(
        cls, status: Status, dual_objective: float, tol: float, gap_tol: float | None = None
    ) -> Certificate:
        """Return the certificate of a point that was not examined: no bound but the trivial one."""
        inf = float("inf")
        return cls(
            primal_objective=inf,
            dual_objective=dual_objective,
            gap=inf,
            relative_gap=inf,
            kkt_violation=inf,
            status=status,
            n_rows=0,
            tol=tol,
            rounding=inf,
            gap_tol=gap_tol,
        )

    @classmethod
    def trivial(cls, n_rows: int, tol: float) -> Certificate:
        """Return the certificate of a model of rows of one class, for which there is no dual."""
        return cls(
            primal_objective=0.0,
            dual_objective=0.0,
            gap=0.0,
            relative_gap=0.0,
            kkt_violation=0.0,
            status=Status.OPTIMAL,
            n_rows=n_rows,
            tol=tol,
        )

    def __str__(self) -> str:
        if self.n_rows == 0:
            return f"{self.status}: no row examined, dual objective {self.dual_objective:.6g}"
        rows = f"{self.n_rows:,} rows examined"
        if 0 < self.n_distinct_rows < self.n_rows:
            rows += f" ({self.n_distinct_rows:,} distinct)"
        violation = f"KKT violation {self.kkt_violation:.2g}"
        if self.rounding > 0.01 * self.tol:
            violation += f" +- {self.rounding:.1g} by rounding"
        gap = f"relative duality gap {self.relative_gap:.2g}"
        if isnan(self.gap):
            gap = "no duality gap (the kernel may be indefinite)"
        return (
            f"{self.status}: {rows}, {violation} (tol {self.tol:g}), {gap}; "
            f"primal objective {self.primal_objective:.6g}, dual {self.dual_objective:.6g}"
        )

    @property
    def lost_in_rounding(self) -> bool:
        """True if the rounding alone exceeds tol, so that no point could be certified."""
        return self.n_rows > 0 and self.rounding > self.tol

    @property
    def limited_by_rounding(self) -> bool:
        """True if the violation is at most tol, but not by more than the rounding."""
        return self.kkt_violation <= self.tol < self.kkt_violation + self.rounding

    @property
    def inconsistent(self) -> bool:
        """True if scores of the core disagreed with those of a second computation."""
        return self.n_rows > 0 and isinf(self.rounding)
