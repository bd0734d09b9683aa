"""The certificate in words and in figures."""

from __future__ import annotations

from math import isinf, isnan

from widestreet._src.certificate import Certificate, advice, worst
from widestreet._src.estimators.ensemble import EnsembleSVC
from widestreet._src.model_report.markup import (
    Markup,
    Section,
    beside,
    details,
    in_digits,
    join,
    number,
    paragraph,
    percent,
    table,
    tag,
)
from widestreet._src.model_report.subject import Subject
from widestreet._src.status import Status

_MOST_PAIRS = 60  # pairs of classes in the table, the worst first

_MEANING = {
    Status.OPTIMAL: "The model is the optimum, within the tolerances. This is proved.",
    Status.APPROXIMATE: "Training ended before the optimum, as you asked for.",
    Status.TIME_LIMIT: "max_time ended the training before the optimum was proved.",
    Status.ITERATION_LIMIT: "max_iter ended the training before the optimum was proved.",
    Status.INTERRUPTED: "The training was interrupted before the optimum was proved.",
    Status.STALLED: "Training stopped improving before the tolerances were reached.",
}


def section(subject: Subject, certificates: list[Certificate]) -> Section:
    """Return the section about the certificates of all problems."""
    title = "Certificate"
    if not certificates:
        text = paragraph(
            "The model was not trained by widestreet, and has no certificate. Pass its training "
            "rows as X= and y= to compute one."
        )
        return Section("certificate", title, text)
    found = worst(certificates)
    words = tag(
        "div",
        paragraph(badge(found.status), " ", *_meaning(subject, found), class_="lead"),
        *(paragraph(text) for text in _sentences(subject, found)),
    )
    parts = [beside(words, _figures(found))]
    if len(certificates) > 1:
        parts.append(_pairs(subject, certificates))
    return Section("certificate", title, join(parts))


def badge(status: Status) -> Markup:
    """Return the status as a coloured word."""
    kind = "good" if status == Status.OPTIMAL else "fair" if status.success else "poor"
    return tag("strong", str(status), class_=f"badge {kind}", data_status=str(status))


def _meaning(subject: Subject, found: Certificate) -> list[str]:
    """Return what the status says."""
    if isinstance(subject.machine, EnsembleSVC):
        return [
            "The figures compare the ensemble with the hard-margin SVM. An ensemble is not meant "
            "to reach it."
        ]
    if hasattr(subject.machine, "compaction_"):
        return [
            "The model has been made smaller by compact. The figures are those of the model "
            "before that."
        ]
    several = len(subject.problems) > 1
    return [_MEANING[found.status]] + (
        [" The figures are those of the worst pair of classes."] if several else []
    )


def _sentences(subject: Subject, found: Certificate) -> list[str]:
    """Return what the figures prove."""
    if found.n_rows == 0:
        return [advice([found]) or ""]
    rows = f"These figures were computed over {found.n_rows:,} training rows"
    if 0 < found.n_distinct_rows < found.n_rows:
        rows += f", {found.n_distinct_rows:,} of them distinct"
    return [
        _about_gap(subject, found),
        _about_violation(found),
        f"{rows}, from the coefficients alone and in float64.",
    ]


def _about_gap(subject: Subject, found: Certificate) -> str:
    """Return what the gap proves."""
    if isnan(found.gap):
        return (
            "There is no duality gap: the kernel may be indefinite, so that nothing bounds the "
            "optimum. The optimality conditions can be checked all the same."
        )
    others = "SVM on these rows with these parameters"
    if isinstance(subject.machine, EnsembleSVC):
        others = "hard-margin SVM on these rows"
    return (
        f"No {others} has an objective that is better by more than {in_digits(found.gap)}, which "
        f"is {_share(found.relative_gap)} of the objective. Rounding in float64 can add "
        f"{in_digits(found.gap_rounding)} to the gap at most."
    )


def _about_violation(found: Certificate) -> str:
    """Return what the violation proves, and how far rounding can change it."""
    rounding = f"Rounding in float64 can change this by {in_digits(found.rounding)} at most."
    if isinf(found.rounding):
        rounding = "Two computations of the scores disagree, so that this is not certain."
    return (
        "No row violates the optimality conditions by more than "
        f"{in_digits(found.kkt_violation)}; the tolerance is {in_digits(found.tol)}. {rounding}"
    )


def _share(part: float) -> str:
    """Return a relative gap as a percentage, or as a part of one if it is small."""
    if part >= 0.1:
        return f"{100 * part:.0f} %"
    return f"{100 * part:.2g} %" if part >= 1e-4 or part == 0 else in_digits(part)


def _figures(found: Certificate) -> Markup:
    """Return the table of all figures."""
    rows: list[tuple[str, str]] = [
        ("Duality gap", number("certificate.gap", found.gap)),
        ("Relative gap", number("certificate.relative_gap", found.relative_gap)),
        ("Largest KKT violation", number("certificate.kkt_violation", found.kkt_violation)),
        ("Tolerance of the violation", number("certificate.tol", found.tol)),
        ("Rounding error of the violation", number("certificate.rounding", found.rounding)),
        ("Rounding error of the gap", number("certificate.gap_rounding", found.gap_rounding)),
        ("Primal objective", number("certificate.primal_objective", found.primal_objective)),
        ("Dual objective", number("certificate.dual_objective", found.dual_objective)),
        ("Violation of constraints", number("certificate.infeasibility", found.infeasibility)),
        ("Rows examined", number("certificate.n_rows", found.n_rows)),
    ]
    if found.gap_tol is not None:
        rows.insert(
            4, ("Tolerance of the relative gap", number("certificate.gap_tol", found.gap_tol))
        )
    if found.estimate is not None:
        low, high = found.estimate.interval
        rows += [
            ("Estimated relative gap", percent("certificate.estimated_gap",
                                               found.estimate.relative_gap)),
            ("95 % interval of the estimate", f"{in_digits(low)} to {in_digits(high)}"),
        ]  # fmt: skip
    return table("Figures of the certificate", (), rows)


def _pairs(subject: Subject, certificates: list[Certificate]) -> Markup:
    """Return the table of all pairs of classes."""
    order = sorted(
        range(len(certificates)),
        key=lambda p: (certificates[p].status.success, -certificates[p].kkt_violation),
    )
    rows = [
        (
            subject.problems[p],
            badge(one.status),
            number(f"certificates.{p}.kkt_violation", one.kkt_violation),
            number(f"certificates.{p}.relative_gap", one.relative_gap),
            number(f"certificates.{p}.n_rows", one.n_rows),
        )
        for p, one in ((p, certificates[p]) for p in order[:_MOST_PAIRS])
    ]
    head = ("Pair of classes", "Status", "Violation", "Relative gap", "Rows")
    more = len(certificates) - len(rows)
    text = f"All {len(certificates)} pairs of classes, the worst first"
    note = paragraph(f"{more} further pairs are not listed.") if more > 0 else Markup("")
    return details(text, table("Certificates of the pairs of classes", head, rows), note)
