"""Rows of the largest influence."""

from __future__ import annotations

from typing import Any

import numpy as np

from widestreet._src.arrays import Floats, Ints
from widestreet._src.model_report.held_out import HeldOut
from widestreet._src.model_report.markup import (
    Section,
    join,
    number,
    paragraph,
    shortened,
    table,
)
from widestreet._src.model_report.sample import Sample
from widestreet._src.model_report.subject import Subject

_ROWS = 10


def section(
    subject: Subject, train: Sample | None, vectors: Sample | None, found: HeldOut
) -> Section:
    """Return the section about the rows that matter the most."""
    if train is not None and found.values is not None:
        text, head, rows = _by_removal(subject, train, found.values)
        title = "Rows of the largest influence"
    else:
        title = "Rows that the model fits the worst"
        sample = train if train is not None else vectors
        if sample is None or not sample.values.size:
            text = "The training rows are not known: pass them as X= and y=."
            return Section("influence", title, paragraph(text))
        text, head, rows = _by_margin(subject, sample)
    return Section("influence", title, join([paragraph(text), table(title, head, rows)]))


def _by_removal(
    subject: Subject, train: Sample, values: Floats
) -> tuple[str, tuple[str, ...], list[tuple[Any, ...]]]:
    """Return the rows whose own value changes the most if they are left out."""
    with_row, without = _own(subject, train, train.values), _own(subject, train, values)
    change = without - with_row
    text = (
        "The change of the value of a row if the row is left out of the training. "
        "Large changes mean that the model has only this row to learn from: check these rows first."
    )
    names = (_target_name(subject), "Value", "Value without the row", "Change")
    head = (_row_name(subject, train), *names)
    order = _largest(np.abs(change))
    return (
        text,
        head,
        [
            (
                number(f"influence.{rank}.row", int(train.index[i]), _row(train, i)),
                _target(subject, train, i),
                number(f"influence.{rank}.value", with_row[i]),
                number(f"influence.{rank}.without", without[i]),
                number(f"influence.{rank}.change", change[i]),
            )
            for rank, i in enumerate(order)
        ],
    )


def _by_margin(
    subject: Subject, sample: Sample
) -> tuple[str, tuple[str, ...], list[tuple[Any, ...]]]:
    """Return the rows that the model fits the worst."""
    margin = sample.margin(subject)
    text = (
        "Check these rows: their labels or targets may be wrong. With leave-one-out, this table "
        "shows by how much each row changes the model."
    )
    value = "Residual" if subject.task == "targets" else "Value"
    head = (_row_name(subject, sample), _target_name(subject), value)
    return (
        text,
        head,
        [
            (
                number(f"influence.{rank}.row", int(sample.index[i]), _row(sample, i)),
                _target(subject, sample, i),
                number(f"influence.{rank}.value", margin[i]),
            )
            for rank, i in enumerate(_largest(-margin))
        ],
    )


def _largest(size: Floats) -> Ints:
    """Return the rows of the largest values; of equal ones, the first."""
    return np.argsort(-size, kind="stable")[:_ROWS]


def _own(subject: Subject, sample: Sample, values: Floats) -> Floats:
    """Return the prediction, or the decision value of the own class."""
    return values[:, 0] if subject.task == "targets" else sample.margin(subject, values)


def _row_name(subject: Subject, sample: Sample) -> str:
    """Return what the first column holds."""
    if subject.online:
        return "Id of the row"
    return "Index label" if hasattr(sample.X, "iloc") else "Position of the row, from 0"


def _row(sample: Sample, row: int) -> str:
    """Return the label of a row in the index of its pandas frame, or its position or id."""
    at = int(sample.index[row])
    return shortened(sample.X.index[at]) if hasattr(sample.X, "iloc") else str(at)


def _target_name(subject: Subject) -> str:
    return {"classes": "Class", "targets": "Target", "outliers": ""}[subject.task]


def _target(subject: Subject, sample: Sample, row: int) -> Any:
    """Return the label or target of a row as text."""
    if sample.target is None:
        return ""
    if subject.task == "classes":
        return shortened(subject.classes[int(sample.target[row])])
    return f"{float(sample.target[row]):.6g}"
