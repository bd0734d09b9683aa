"""Gap and violation over time, and where the time went."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from widestreet._src.certificate import Certificate
from widestreet._src.engines.solution import TraceRecord
from widestreet._src.model_report.drawing import Plot, bars
from widestreet._src.model_report.markup import (
    Markup,
    Section,
    beside,
    details,
    join,
    number,
    paragraph,
    percent,
    seconds,
    table,
)
from widestreet._src.model_report.subject import Subject

_MOST_ROUNDS = 200  # in the table, the last ones
_NO_TRACE = (
    "The model has no trace: online estimators, models of other libraries and files saved with "
    "trace=False have none."
)
_PARTS = {
    "exchange": "exchange of rows",
    "solve": "working set",
    "survey": "scan for violators",
    "check": "checks of all rows",
    "interior": "interior points",
    "certificate": "certificate",
    "other": "other",
}


def section(subject: Subject, certificates: list[Certificate]) -> Section:
    """Return the section about the course of the training."""
    trace = list(subject.machine.trace_)
    if not trace:
        return Section("convergence", "Convergence", paragraph(_NO_TRACE))
    slowest = _slowest(trace)
    rounds = [record for record in trace if record.problem == slowest]
    parts = []
    if len(subject.problems) > 1:
        name = subject.problems[slowest]
        parts.append(paragraph(f"This is about the pair that took the longest: {name}."))
    if len(rounds) == 1:
        parts.append(paragraph("The training took one round."))
        return Section("convergence", "Convergence", join([*parts, _rounds(rounds)]))
    parts.append(
        paragraph(
            "The gap during training is an estimate from the rows scanned so far. Only the gap of "
            "the certificate is proved."
        )
    )
    parts.append(_picture(rounds, certificates[slowest] if certificates else None))
    parts.append(_rounds(rounds))
    return Section("convergence", "Convergence", join(parts))


def _slowest(trace: list[TraceRecord]) -> int:
    """Return the problem with the most rounds, and of several the one that took the longest."""
    rounds = Counter(record.problem for record in trace)
    last = {record.problem: record.seconds for record in trace}
    return max(rounds, key=lambda problem: (rounds[problem], last[problem]))


def _picture(rounds: list[TraceRecord], proved: Certificate | None) -> Markup:
    """Return violation and gap over time, and the figures of the certificate as circles."""
    time = np.array([record.seconds for record in rounds])
    violation = np.array([record.violation for record in rounds])
    gap = np.array([record.gap for record in rounds])
    ends = [] if proved is None else [proved.kkt_violation, proved.gap, proved.tol]
    plot = Plot.of(
        np.append(time, 0.0),
        np.concatenate([violation, gap, np.asarray(ends, dtype=np.float64)]),
        ("seconds", "violation, gap"),
        log_y=True,
    )
    plot.line("KKT violation", "first", time, violation)
    plot.line("duality gap, estimated", "second", time, gap)
    if proved is not None:
        plot.rule("target", y=proved.tol)
        plot.legend.append(("tolerance of the violation", "target"))
        for style, value in (("first", proved.kkt_violation), ("second", proved.gap)):
            plot.points(f"{style} hollow", time[-1:], np.array([value]), 5.0)
        plot.legend.append(("certificate", "hollow"))
    last = f"The violation ends at {violation[-1]:.2g} after {len(rounds)} rounds."
    return plot.svg("Violation and gap over time", last)


def _rounds(rounds: list[TraceRecord]) -> Markup:
    """Return the table of the rounds."""
    head = ("Round", "Seconds", "Violation", "Gap, estimated", "Working set", "Support vectors")
    rows = [
        (
            f"{record.round}",
            seconds(f"trace.{record.problem}.{record.round}.seconds", record.seconds),
            number(f"trace.{record.problem}.{record.round}.violation", record.violation),
            number(f"trace.{record.problem}.{record.round}.gap", record.gap),
            number(f"trace.{record.problem}.{record.round}.working_set", record.working_set),
            number(f"trace.{record.problem}.{record.round}.n_sv", record.n_sv),
        )
        for record in rounds[-_MOST_ROUNDS:]
    ]
    found = table("Rounds of the training", head, rows)
    return details(f"All {len(rounds)} rounds", found) if len(rounds) > 1 else found


def time_section(subject: Subject) -> Section:
    """Return the section about where the time went."""
    title = "Where the time went"
    trace = list(subject.machine.trace_)
    if not trace:
        return Section("time", title, paragraph(_NO_TRACE))
    parts = timings(trace)
    total = sum(parts.values())
    names = [_PARTS.get(part, part) for part in parts]
    lengths = np.array(list(parts.values()))
    picture = bars(
        "Seconds of each part of the training",
        f"Of {total:.3g} s, {names[int(np.argmax(lengths))]} took the most.",
        names,
        [("seconds", "first", lengths)],
    )
    rows: list[tuple[Any, ...]] = [
        (
            name,
            seconds(f"time.{part}", spent),
            percent(f"time.{part}.share", spent / (total or 1.0)),
        )
        for name, (part, spent) in zip(names, parts.items(), strict=True)
    ]
    rows.append(("all", seconds("time.total", total), ""))
    return Section(
        "time",
        title,
        join([
            beside(picture, table("Time of each part", ("Part", "Time", "Share"), rows)),
            _kernel_values(subject),
        ]),
    )  # fmt: skip


def timings(trace: list[TraceRecord]) -> dict[str, float]:
    """Return the seconds of each part of a fit, in the order of `_PARTS`.

    "other" is the time between the parts. The certificate comes after the last round.
    """
    parts: dict[str, float] = {}
    for record in trace:
        for part, spent in record.timings.items():
            parts[part] = parts.get(part, 0.0) + spent
    last = {record.problem: record.seconds for record in trace}
    inside = sum(spent for part, spent in parts.items() if part != "certificate")
    parts["other"] = max(0.0, sum(last.values()) - inside)
    order = {part: k for k, part in enumerate(_PARTS)}
    return {part: parts[part] for part in sorted(parts, key=lambda p: order.get(p, len(order)))}


def _kernel_values(subject: Subject) -> Markup:
    """Return how many kernel values were computed."""
    n, computed = subject.machine.shape_fit_[0], subject.machine.n_kernel_values_
    return paragraph(
        number("n_kernel_values", computed, f"{computed:.3g}"),
        " kernel values were computed, which is ",
        percent("n_kernel_values.share", computed / float(n) ** 2),
        f" of the kernel matrix of all {n:,} rows.",
    )
