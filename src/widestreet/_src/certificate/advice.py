"""Advice to the user about a fit that is not optimal."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan

from widestreet._src.certificate.certificate import Certificate
from widestreet._src.certificate.gap_estimate import GapEstimate
from widestreet._src.status import Status

_CLOSE_GAP, _USABLE_GAP = 0.01, 0.1  # relative gaps up to which a model is close, and usable
_LIMITS = {
    Status.TIME_LIMIT: "raise max_time",
    Status.ITERATION_LIMIT: "raise max_iter or set it to -1",
    Status.INTERRUPTED: "let the fit run to the end",
}


def worst(certificates: Sequence[Certificate]) -> Certificate:
    """Return the worst certificate: one that is not optimal if any, else the largest violation."""
    return max(certificates, key=lambda c: (not c.status.success, c.kkt_violation))


def advice(certificates: Sequence[Certificate]) -> str | None:
    """Return the warning about a fit with these certificates; None if all are successful."""
    certificate = worst(certificates)
    if certificate.status.success:
        return None
    failed = sum(not c.status.success for c in certificates)
    where = f" in {failed} of {len(certificates)} pairs of classes" if len(certificates) > 1 else ""
    stopped = f"training stopped with status {certificate.status!r}{where}"
    if certificate.n_rows == 0:
        interrupted = certificate.status == Status.INTERRUPTED
        late = ", and max_time left no time to certify it"
        when = " before the model was certified" if interrupted else late
        cure = "let the fit run to the end" if interrupted else "raise max_time"
        known = "nothing is known about the quality of the model"
        if certificate.estimate is not None:
            known = _estimated(certificate.estimate)
            seconds = f"{certificate.estimate.pass_seconds:.2g} s"
            cure += f": an examination of all rows takes about {seconds}"
        return (
            f"{stopped}{when}: {known} (dual objective {certificate.dual_objective:.6g}). To get a "
            f"certificate, {cure}."
        )
    gap = f"duality gap {certificate.gap:.3g} (relative {certificate.relative_gap:.3g})"
    if isnan(certificate.gap):
        gap = "no duality gap: the kernel may be indefinite, or the objective overflows"
    return (
        f"{stopped}: {_reason(certificate)}, {gap}. {_grade(certificate)} To get closer to the "
        f"optimum, {_cure(certificate)}."
    )


def _estimated(estimate: GapEstimate) -> str:
    """Return what a sample says about the gap."""
    low, high = estimate.interval
    return (
        f"a random sample of {estimate.n_rows:,} rows estimates a relative gap of "
        f"{estimate.relative_gap:.2g}, between {low:.2g} and {high:.2g} with 95 % confidence"
    )


def _reason(certificate: Certificate) -> str:
    """Return the condition of an optimal point that does not hold."""
    violation = f"violation {certificate.kkt_violation:.3g}"
    rounding = f"float64 rounding may change it by {certificate.rounding:.2g}"
    if certificate.inconsistent:
        return f"{violation}, but kernel values of the native core differ from those of NumPy"
    if not certificate.kkt_violation <= certificate.tol:
        return f"{violation} exceeds tol={certificate.tol:g}"
    met = f"{violation} is within tol={certificate.tol:g}"
    if certificate.limited_by_rounding:
        return f"{met}, but {rounding}"
    if certificate.gap_limited_by_rounding:
        return f"{met}, but float64 rounding may change the gap by {certificate.gap_rounding:.2g}"
    if _gap_too_large(certificate):
        return f"{met}, but the relative gap exceeds gap_tol={certificate.gap_tol:g}"
    return f"{met}, but the constraints of the dual hold only approximately"


def _gap_too_large(certificate: Certificate) -> bool:
    """Return whether a point has too large a gap."""
    return certificate.gap_tol is not None and certificate.relative_gap > certificate.gap_tol


def _cure(certificate: Certificate) -> str:
    """Return the action that can make a fit optimal."""
    if certificate.inconsistent:
        return "set the environment variable WIDESTREET_ISA=portable, and please report this"
    first = _LIMITS.get(certificate.status)
    if certificate.limited_by_rounding or certificate.lost_in_rounding:
        cure = (
            f"scale or centre the features, lower C or accept a larger tol: the rounding error of "
            f"the violation in float64 is up to {certificate.rounding:.2g}"
        )
        return cure if first is None or certificate.limited_by_rounding else f"{first}, and {cure}"
    if certificate.kkt_violation <= certificate.tol and certificate.gap_limited_by_rounding:
        return (
            "lower C: the loss of a row changes by C times the rounding error of its score; or "
            "scale the features, or accept a larger gap_tol"
        )
    if first is not None and certificate.dual_objective == 0.0 < certificate.primal_objective:
        return (
            f"{first}; if that does not help, scale the features or lower C: no point with a "
            "larger objective than that of zero coefficients was found"
        )
    if first is not None:
        return first
    if certificate.kkt_violation <= certificate.tol and _gap_too_large(certificate):
        return "lower tol, scale the features, lower C, or accept a larger gap_tol"
    return "scale the features, lower C, or accept a larger tol"


def _grade(certificate: Certificate) -> str:
    """Return a sentence about the quality of a model, based on its gap."""
    gap = certificate.relative_gap
    if isnan(gap):
        return "The distance from the optimum is not known."
    rounding = certificate.limited_by_rounding or certificate.gap_limited_by_rounding
    if rounding and gap <= _CLOSE_GAP:
        return "The model is as exact as float64 allows."
    if gap <= _CLOSE_GAP:
        percent = f"{100.0 * gap:.1g} %"
        return f"The model is close to the optimum: its objective is within {percent} of it."
    if gap <= _USABLE_GAP:
        return f"The model is usable: its objective is within {gap:.1%} of the optimum."
    return "The model is far from the optimum: do not rely on it."
