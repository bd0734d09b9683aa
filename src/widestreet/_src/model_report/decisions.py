"""Decision values with the margin: of training rows, or of support vectors if these are unknown."""

from __future__ import annotations

import numpy as np

from widestreet._src.kernels.kernels import Precomputed
from widestreet._src.model_report.markup import Section, join, paragraph, shortened
from widestreet._src.model_report.outcome import has_margin, histogram
from widestreet._src.model_report.sample import Sample
from widestreet._src.model_report.subject import Subject

_TITLE = {
    "classes": "Decision values and margin",
    "targets": "Residuals and tube",
    "outliers": "Decision values",
}


def support_vectors(subject: Subject) -> Sample | None:
    """Return the support vectors as rows; None if they or their targets are not known."""
    machine = subject.machine
    unknown = isinstance(machine._kernel, Precomputed) or (np.asarray(machine.support_) < 0).any()
    if unknown or subject.task == "targets" or not len(machine.support_):
        return None
    target = None
    if subject.task == "classes":
        target = np.repeat(np.arange(len(subject.classes)), machine.n_support_)
    rows = machine.support_vectors_
    index = machine.ids_[machine.support_] if subject.online else machine.support_.astype(np.int64)
    values = subject.decisions(rows)
    return Sample(rows, rows, index, target, np.ones(len(index)), values)


def section(subject: Subject, train: Sample | None, vectors: Sample | None) -> Section:
    """Return the section about decision values."""
    title, sample = _TITLE[subject.task], vectors if train is None else train
    if sample is None or not len(sample.values) or not sample.values.size:
        text = "The training rows are not known: pass them as X= and y= to see this picture."
        return Section("decisions", title, paragraph(text))
    which = "training rows" if train is not None else "support vectors"
    parts = [paragraph(_meaning(subject))]
    if train is None:
        parts.append(
            paragraph(
                "The training rows are not known here, so that the picture shows the support "
                "vectors. Pass the training rows as X= and y= to see all of them.",
                class_="note",
            )
        )
    parts.append(histogram("decisions", subject, sample, sample.values, f"{title}: {which}"))
    return Section("decisions", title, join(parts))


def _meaning(subject: Subject) -> str:
    """Return what the values say."""
    if subject.task == "targets":
        return "Rows in the shaded tube cost nothing."
    if subject.task == "outliers":
        return "Rows with a negative decision value are outside the region."
    margin = "The shaded region is the margin." if has_margin(subject) else ""
    if len(subject.classes) == 2:
        first, second = map(shortened, subject.classes)
        return (
            f"Negative values are decided for class {first}, positive ones for class {second}. "
            f"{margin}"
        )
    return (
        "For each row, the smallest decision value of its own class against the other classes. It "
        f"is negative if another class wins against the own one. {margin}"
    )
