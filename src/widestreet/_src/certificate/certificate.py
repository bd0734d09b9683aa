"""The certificate of a solution."""

from __future__ import annotations

from dataclasses import dataclass
from math import isinf, isnan

from widestreet._src.certificate.gap_estimate import GapEstimate
from widestreet._src.status import Status

FEASIBILITY_TOL = 1e-10  # violation of constraints by rounding, relative to the boxes

_SHOWN_ROUNDING = 0.01  # of tol: smaller bounds are not printed

_QUESTION = " (are C, nu and the weights those of the fit?)"


@dataclass(frozen=True)
class Certificate:
    """Proved bounds on the distance of a solution from the optimum.

    If an interrupt or `max_time` left no time to examine every row, `n_rows` is zero and the bounds
    are infinite. If `max_time` did, `estimated_gap` may say what a random sample of the rows shows.

    Attributes
    ----------
    primal_objective, dual_objective : float
        Objectives of the primal problem, 1/2 |w|^2 + sum of losses, and of its dual. The optimum
        lies between the two.
    gap, relative_gap : float
        primal - dual, and this divided by max(|primal|, |dual|). No model has an objective better
        by more than the gap. The relative gap is at most 2; it exceeds 1 if the two objectives have
        different signs. Both are nan if the kernel is not known to be positive semidefinite: then
        nothing bounds the optimum, and "optimal" means that the optimality conditions hold.
    kkt_violation : float
        Largest violation of the optimality conditions over all rows.
    status : Status
        "optimal" only if kkt_violation + rounding <= tol, the gap is at most gap_tol relative to
        the objective even if `gap_rounding` is added to it, and all constraints hold. For `NuSVC`,
        `NuSVR` and `OneClassSVM`, whose optimal objective may be zero, a gap of at most tol times
        the sum of the absolute coefficients suffices.
    n_rows : int
        Number of examined rows: all rows passed to `fit` with a nonzero weight.
    tol : float
        Bound on kkt_violation + rounding for "optimal".
    rounding : float
        Bound on the float64 rounding error of kkt_violation. Values of a precomputed kernel or of a
        Python function count as exact. Infinite if scores disagree with a second computation.
    gap_rounding : float
        Bound on how much larger than `gap` the gap of exact scores can be. A score error e of a row
        within its margin changes the primal objective by C e, so this bound is large if C is huge.
    gap_tol : float or None
        Bound on relative_gap for "optimal"; None if there is none.
    n_distinct_rows : int
        Number of distinct rows: rows equal in all features and in the target count once. Zero if
        they were not counted.
    infeasibility : float
        Largest violation of a constraint of the dual, relative to the boxes; rounding in a model of
        this package. A large value means that the model has other coefficients than its parameters
        allow, such as a larger C. The dual objective bounds nothing then, and the gap is nan.
    estimate : GapEstimate or None
        Estimate of the relative gap from a random sample of the rows, if the rows were not
        examined; its attributes are `relative_gap`, `interval`, `n_rows` and `pass_seconds`.
    estimated_gap : float or None
        Estimated relative gap. Each row contributes a term to the gap that is not negative; the
        sum is estimated from a sample of the support vectors and a sample of the other rows. It is
        no proof.
    estimated_gap_interval : tuple of float, or None
        Confidence interval of 95 % of the estimated gap, by the normal approximation.

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
    infeasibility: float = 0.0
    gap_rounding: float = 0.0
    estimate: GapEstimate | None = None

    @classmethod
    def unexamined(
        cls,
        status: Status,
        dual_objective: float,
        tol: float,
        gap_tol: float | None = None,
        estimate: GapEstimate | None = None,
    ) -> Certificate:
        """Return the certificate of a point that was not examined, with infinite bounds."""
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
            gap_rounding=inf,
            gap_tol=gap_tol,
            estimate=estimate,
        )

    @classmethod
    def trivial(cls, n_rows: int, tol: float) -> Certificate:
        """Return the certificate of a model with rows of one class, which has no dual."""
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
            text = f"{self.status}: no row examined, dual objective {self.dual_objective:.6g}"
            if self.estimate is None:
                return text
            low, high = self.estimate.interval
            return (
                f"{text}, relative duality gap estimated from {self.estimate.n_rows:,} rows: "
                f"{self.estimate.relative_gap:.2g} (95 % interval {low:.2g} to {high:.2g})"
            )
        rows = f"{self.n_rows:,} rows examined"
        if 0 < self.n_distinct_rows < self.n_rows:
            rows += f" ({self.n_distinct_rows:,} distinct)"
        violation = f"KKT violation {self.kkt_violation:.2g}"
        if self.rounding > _SHOWN_ROUNDING * self.tol:
            violation += f" +- {self.rounding:.1g} by rounding"
        gap = f"relative duality gap {self.relative_gap:.2g}"
        if self.gap_limited_by_rounding:
            gap += f" +- {self.gap_rounding / self._scale:.1g} by rounding"
        optimal = self.status == Status.OPTIMAL
        if optimal and self.gap_tol is not None and self.relative_gap > self.gap_tol:
            gap = f"duality gap {self.gap:.2g} (no relative one: the optimum is zero up to tol)"
        if self.infeasibility > FEASIBILITY_TOL:
            gap = f"constraints of the dual violated by {self.infeasibility:.2g} of the box" + (
                "" if self.status == Status.APPROXIMATE else _QUESTION
            )
        elif isnan(self.gap):
            gap = "no duality gap (the kernel may be indefinite)"
        return (
            f"{self.status}: {rows}, {violation} (tol {self.tol:g}), {gap}; "
            f"primal objective {self.primal_objective:.6g}, dual {self.dual_objective:.6g}"
        )

    @property
    def _scale(self) -> float:
        """Objective that the gap is relative to."""
        return max(abs(self.primal_objective), abs(self.dual_objective))

    @property
    def estimated_gap(self) -> float | None:
        return None if self.estimate is None else self.estimate.relative_gap

    @property
    def estimated_gap_interval(self) -> tuple[float, float] | None:
        return None if self.estimate is None else self.estimate.interval

    @property
    def lost_in_rounding(self) -> bool:
        """True if the rounding alone exceeds tol, so that no point could be certified."""
        return self.n_rows > 0 and self.rounding > self.tol

    @property
    def limited_by_rounding(self) -> bool:
        """True if the violation is at most tol, but not by more than the rounding."""
        return self.kkt_violation <= self.tol < self.kkt_violation + self.rounding

    @property
    def gap_limited_by_rounding(self) -> bool:
        """True if the relative gap is at most gap_tol, but not by more than its rounding."""
        if self.gap_tol is None or self.n_rows == 0:
            return False
        return self.gap <= self.gap_tol * self._scale < self.gap + self.gap_rounding

    @property
    def inconsistent(self) -> bool:
        """True if scores of the core disagreed with those of a second computation."""
        return self.n_rows > 0 and isinf(self.rounding)
