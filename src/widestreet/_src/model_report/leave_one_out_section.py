"""Leave-one-out: how good the model is on rows that it has not seen, without a test set."""

from __future__ import annotations

import numpy as np

from widestreet._src.arrays import Floats
from widestreet._src.calibration.calibrated_svc import CalibratedSVC, fitted_maps, probabilities
from widestreet._src.calibration.held_out import HeldOut as Decisions
from widestreet._src.calibration.interval_svr import IntervalSVR
from widestreet._src.model_report.held_out import HeldOut
from widestreet._src.model_report.markup import (
    Markup,
    Section,
    join,
    number,
    paragraph,
    percent,
    shortened,
    table,
    tag,
)
from widestreet._src.model_report.outcome import confusion, regression, reliability, tube
from widestreet._src.model_report.sample import Sample
from widestreet._src.model_report.subject import Subject

_LEVELS = (0.5, 0.8, 0.9, 0.95)  # of the quantiles of residuals


def section(subject: Subject, train: Sample | None, found: HeldOut) -> Section:
    """Return the section about rows that were left out."""
    title = "Leave-one-out"
    if train is None or found.values is None:
        parts = [paragraph(f"Leave-one-out was not computed: {found.reason}.", class_="note")]
        bound = _bound(subject)
        return Section("leave-one-out", title, join([*parts, bound]))
    kept = "the gamma and the class weights" if subject.task == "classes" else "the gamma"
    parts = [
        paragraph(
            "Each training row is predicted by the model trained on all others. The results are "
            f"exact: rows are removed without a refit. All models have {kept} of the model."
        )
    ]
    values = found.values
    if subject.task == "classes":
        predicted = train.predicted(subject, values)
        parts.append(
            confusion("leave_one_out", subject.classes, train.target, predicted, train.weight)
        )
        parts.append(tag("h3", "Calibration"))
        parts.append(_calibration(subject, train, values))
    elif subject.task == "targets":
        parts.append(
            regression("leave_one_out", train.target, values[:, 0], train.weight, tube(subject))
        )
        parts.append(_quantiles(np.abs(train.target - values[:, 0])))
    else:
        outside = float(train.weight @ (values[:, 0] < 0) / train.weight.sum())
        parts.append(
            paragraph(
                percent("leave_one_out.outside", outside),
                " of the rows are outside the region of the model without them.",
                class_="lead",
            )
        )
    return Section("leave-one-out", title, join(parts))


def _bound(subject: Subject) -> Markup:
    """Return what is known without leave-one-out: rows that are no support vectors do not count."""
    machine = subject.machine
    formulation = getattr(machine, "_formulation", None)
    exact = subject.task == "classes" and subject.optimal
    if not exact or formulation is None or formulation().groups > 1:
        return Markup("")
    if not machine._kernel.positive:  # there may be several stationary points
        return Markup("")
    pairs_of_a_class = max(1, len(subject.classes) - 1)
    rows = sum(one.n_rows for one in subject.certificates) / pairs_of_a_class  # of positive weight
    share = len(machine.support_) / rows
    return paragraph(
        "What is known without it: a row that is no support vector is classified in the same way "
        "with and without it, and is on the right side of the margin. So at most ",
        percent("leave_one_out.bound", share),
        " of the rows, the support vectors, can be misclassified.",
    )


def _calibration(subject: Subject, train: Sample, values: Floats) -> Markup:
    """Return the calibration of probabilities from values of rows that were left out."""
    layout = subject.layout
    if isinstance(subject.wrapper, CalibratedSVC):
        maps, said = subject.wrapper.calibrators_, "The probabilities are those of the model."
    else:
        every = np.arange(train.n)
        decisions = Decisions(values, every, train.weight, "loo")
        maps = fitted_maps("sigmoid", layout, decisions, train.target)
        said = (
            "The model has no probabilities. Those of the picture come from a sigmoid of the "
            "decision values that was fitted to the same values, as CalibratedSVC does."
        )
    label = shortened(subject.classes[-1])
    return join(
        [
            paragraph(said),
            reliability(
                "leave_one_out.calibration",
                probabilities(maps, layout, values),
                train.target,
                train.weight,
                f"the class is {label}",
            ),
        ]
    )


def _quantiles(residual: Floats) -> Markup:
    """Return how large errors of rows that were left out are."""
    rows = [
        (f"{100 * level:g} %", number(f"leave_one_out.quantile.{level:g}",
                                      float(np.quantile(residual, level))))
        for level in _LEVELS
    ]  # fmt: skip
    return join(
        [
            paragraph(
                "So many rows have an absolute error of at most this. "
                f"{IntervalSVR.__name__} makes intervals for new rows from the same models."
            ),
            table("Quantiles of the absolute error", ("Rows", "Error"), rows),
        ]
    )
