"""Quality of predictions of rows with known labels or targets: tables and pictures.

The same functions serve training rows, rows that were left out and test rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import r2_score

from widestreet._src.arrays import Floats, Ints
from widestreet._src.model_report.drawing import Plot
from widestreet._src.model_report.markup import (
    Markup,
    beside,
    details,
    join,
    number,
    paragraph,
    percent,
    shortened,
    table,
    tag,
)
from widestreet._src.model_report.sample import Sample
from widestreet._src.model_report.subject import Subject

_BINS = 10  # of probabilities
_COLUMNS = 40  # of a histogram
_TAIL = 0.005  # of the values at each end that a histogram leaves out
_MOST_POINTS = 1000  # of a picture
_MOST_CLASSES = 30  # of a table of confusions
STYLES = ("first", "second", "third", "fourth", "fifth", "sixth")


def confusion(name: str, labels: list[Any], true: Ints, predicted: Ints, weight: Floats) -> Markup:
    """Return the table of confusions, with recall and precision, and the accuracy.

    Parameters
    ----------
    name : str
        Beginning of the names of all numbers.
    labels : list
    true, predicted : ndarray
        Numbers of the classes.
    weight : ndarray
    """
    size = len(labels)
    counts = np.zeros((size, size))
    np.add.at(counts, (true, predicted), weight)
    whole = bool((counts == np.floor(counts)).all())
    cells = counts.astype(np.int64) if whole else counts
    right, total = float(np.trace(counts)), float(counts.sum())
    parts = [
        paragraph(
            percent(f"{name}.accuracy", right / total),
            " of the rows are classified correctly.",
            class_="lead",
        )
    ]
    shown = [shortened(label) for label in labels]
    if size <= _MOST_CLASSES:
        parts.append(
            table(
                "Rows by class (lines) and predicted class (columns)",
                ("", *shown),
                [
                    (label, *(_count(f"{name}.confusion.{i}.{j}", cells[i, j], i == j)
                              for j in range(size)))
                    for i, label in enumerate(shown)
                ],
            )
        )  # fmt: skip
    with np.errstate(invalid="ignore"):
        recall = np.diag(counts) / counts.sum(axis=1)
        precision = np.diag(counts) / counts.sum(axis=0)
    lines = [
        (
            label,
            _part(f"{name}.recall.{i}", recall[i]),
            _part(f"{name}.precision.{i}", precision[i]),
        )
        for i, label in enumerate(shown)
    ]
    parts.append(
        details(
            "Recall and precision of each class",
            table("Recall and precision", ("Class", "Recall", "Precision"), lines),
        )
    )
    return join(parts)


def _count(name: str, count: Any, right: bool) -> Markup:
    found = number(name, count)
    return tag("strong", found) if right else found


def _part(name: str, part: float) -> Any:
    return percent(name, part) if np.isfinite(part) else "no rows"


def reliability(name: str, probability: Floats, true: Ints, weight: Floats, what: str) -> Markup:
    """Return a picture and a table of predicted and observed frequencies.

    Parameters
    ----------
    name : str
        Beginning of the names of all numbers.
    probability : ndarray of shape (n, classes)
    true : ndarray
        Numbers of the classes.
    weight : ndarray
    what : str
        Event whose probability it is, if there are two classes; else it is that the most probable
        class is right.
    """
    if probability.shape[1] == 2:
        p, happened = probability[:, 1], true == 1
    else:
        what = "the most probable class is right"
        p, happened = probability.max(axis=1), probability.argmax(axis=1) == true
    slot = np.minimum((p * _BINS).astype(np.int64), _BINS - 1)
    mass = np.bincount(slot, weight, _BINS)
    with np.errstate(invalid="ignore"):
        said = np.bincount(slot, weight * p, _BINS) / mass
        seen = np.bincount(slot, weight * happened, _BINS) / mass
    error = float(np.nansum(mass * np.abs(said - seen)) / mass.sum())
    own = np.clip(probability[np.arange(len(true)), true], 1e-300, 1.0)
    loss = float(-(weight @ np.log(own)) / weight.sum())
    brier = float(weight @ np.square(p - happened) / weight.sum())
    unit = np.array([0.0, 1.0])
    plot = Plot.of(unit, unit, ("predicted probability", "observed frequency"))
    plot.line("perfect calibration", "target", unit, unit)
    kept = mass > 0
    plot.line("model", "first", said[kept], seen[kept])
    picture = plot.svg("Calibration", f"The mean distance from the diagonal is {error:.2g}.")
    rows = [
        (
            f"{k / _BINS:g} to {(k + 1) / _BINS:g}",
            number(f"{name}.bins.{k}.rows", _whole(mass[k])),
            number(f"{name}.bins.{k}.predicted", said[k]),
            number(f"{name}.bins.{k}.observed", seen[k]),
        )
        for k in np.flatnonzero(kept)
    ]
    figures = table(
        "Quality of the probabilities",
        (),
        [
            ("Log loss", number(f"{name}.log_loss", loss)),
            ("Brier score", number(f"{name}.brier", brier)),
            ("Expected calibration error", number(f"{name}.calibration_error", error)),
        ],
    )
    head = ("Probability", "Rows", "Predicted", "Observed")
    more = details("Numbers of the picture", table("Calibration", head, rows))
    text = f"Probability that {what}: predicted, and the part of the rows for which it is true."
    return join([paragraph(text), beside(picture, figures, more)])


def _whole(value: float) -> Any:
    return int(value) if value == int(value) else float(value)


def regression(name: str, target: Floats, value: Floats, weight: Floats, epsilon: float) -> Markup:
    """Return a picture of predictions and targets, and a table of errors.

    Parameters
    ----------
    name : str
        Beginning of the names of all numbers.
    target, value, weight : ndarray
    epsilon : float
        Half of the width of the tube.
    """
    residual, total = target - value, weight.sum()
    mean_square = float(weight @ np.square(residual) / total)
    rows = [
        ("Root mean squared error", number(f"{name}.rmse", float(np.sqrt(mean_square)))),
        ("Mean absolute error", number(f"{name}.mae", float(weight @ np.abs(residual) / total))),
        ("Largest absolute error", number(f"{name}.largest", float(np.abs(residual).max()))),
        ("Inside the tube", percent(
            f"{name}.inside", float(weight @ (np.abs(residual) <= epsilon) / total))),
    ]  # fmt: skip
    if len(target) > 1:
        score = float(r2_score(target, value, sample_weight=weight))
        rows.insert(0, ("R²", number(f"{name}.r2", score)))
    some = spaced(len(target), _MOST_POINTS)
    both = np.concatenate([target, value])
    plot = Plot.of(both, both, ("target", "prediction"))
    ends = np.array([both.min(), both.max()])
    plot.points("first faint", target[some], value[some])
    plot.line("prediction = target", "target", ends, ends)
    picture = plot.svg("Predictions and targets", f"{len(some)} of {len(target)} rows.")
    return beside(picture, table("Errors", (), rows))


def spaced(n: int, most: int) -> Ints:
    """Return at most `most` evenly spaced indices of ``range(n)``."""
    return np.unique(np.linspace(0, max(n - 1, 0), min(n, most)).astype(np.int64))


def histogram(name: str, subject: Subject, sample: Sample, values: Floats, title: str) -> Markup:
    """Return a histogram of decision values or residuals with the margin or the tube.

    Parameters
    ----------
    name : str
        Beginning of the names of all numbers.
    subject : Subject
    sample : Sample
    values : ndarray
        Decision values or predictions, as in `Sample.values`.
    title : str
    """
    shown, groups, axis, edge = _shown(subject, sample, values)
    low, high = np.quantile(shown, [_TAIL, 1.0 - _TAIL]) if len(shown) > 2 / _TAIL else (
        shown.min(), shown.max())  # fmt: skip
    low, high = min(low, -1.1 * edge), max(high, 1.1 * edge)
    if low == high:
        low, high = low - 1.0, high + 1.0
    width = (high - low) / _COLUMNS  # zero is between two columns
    edges = width * np.arange(np.floor(low / width), np.ceil(high / width) + 1.0)
    low, high = edges[0], edges[-1]
    heights = [
        np.histogram(np.clip(shown[rows], low, high), edges)[0].astype(np.float64)
        for _, rows in groups
    ]
    top = np.sum(heights, axis=0)
    plot = Plot.of(edges, np.append(top, 0.0), (axis, "rows"))
    plot.band(-edge, edge, "margin")
    bottom = np.zeros(len(edges) - 1)
    for (label, _), style, height in zip(groups, STYLES, heights, strict=False):
        plot.columns(label, style, edges, bottom, bottom + height)
        bottom = bottom + height
    for at in {-edge, 0.0, edge}:
        plot.rule("boundary" if at == 0 else "edge", x=at)
    picture = plot.svg(title, f"{len(shown)} rows, from {shown.min():.3g} to {shown.max():.3g}.")
    rows = [
        (label, number(f"{name}.{k}.rows", len(own)),
         *(number(f"{name}.{k}.{key}", float(value)) for key, value in _summary(shown[own])),
         percent(f"{name}.{k}.inside", float(np.mean(np.abs(shown[own]) < edge))) if edge else "")
        for k, (label, own) in enumerate(groups) if len(own)
    ]  # fmt: skip
    within = "Within the tube" if subject.task == "targets" else "Inside the margin"
    head = ("Group", "Rows", "Smallest", "Median", "Largest", within if edge else "")
    return beside(picture, table(title, head, rows))


def _summary(values: Floats) -> list[tuple[str, float]]:
    return [("smallest", values.min()), ("median", np.median(values)), ("largest", values.max())]


def _shown(
    subject: Subject, sample: Sample, values: Floats
) -> tuple[Floats, list[tuple[str, Ints]], str, float]:
    """Return what a histogram shows: values, groups of rows, name of the axis, margin."""
    every = np.arange(len(values))
    if subject.task == "targets":
        residual = sample.target - values[:, 0]
        return residual, [("rows", every)], "target - prediction", tube(subject)
    if subject.task == "outliers":
        return values[:, 0], [("rows", every)], "decision value", 0.0
    margin = 1.0 if has_margin(subject) else 0.0
    if len(subject.classes) == 2:
        groups = [
            (f"class {shortened(label)}", np.flatnonzero(sample.target == k))
            for k, label in enumerate(subject.classes)
        ]
        return values[:, 0], groups, "decision value", margin
    own = sample.margin(subject, values)
    axis = "smallest decision value of the own class"
    return own, [("all classes", every)], axis, margin


def has_margin(subject: Subject) -> bool:
    """Return whether the edges of the margin have the decision values -1 and 1."""
    return hasattr(subject.machine, "_formulation")


def tube(subject: Subject) -> float:
    """Return half of the width of the tube of a regressor."""
    machine = subject.machine
    return float(machine.epsilon_ if hasattr(machine, "epsilon_") else machine.epsilon)
