"""The model on test rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from widestreet._src.calibration.calibrated_svc import CalibratedSVC, probabilities
from widestreet._src.calibration.interval_svr import IntervalSVR
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
from widestreet._src.model_report.outcome import (
    confusion,
    histogram,
    regression,
    reliability,
    tube,
)
from widestreet._src.model_report.sample import Sample
from widestreet._src.model_report.subject import Subject


def section(subject: Subject, test: Sample) -> Section:
    """Return the section about test rows."""
    parts: list[Any] = [paragraph(number("test.rows", test.n), " test rows.")]
    if subject.task == "classes":
        parts += _classes(subject, test)
    elif subject.task == "targets":
        value = test.values[:, 0]
        parts.append(regression("test", test.target, value, test.weight, tube(subject)))
        if isinstance(subject.wrapper, IntervalSVR):
            parts.append(_intervals(subject, test))
    else:
        parts.append(_outliers(test))
    parts.append(histogram("test.decisions", subject, test, test.values, "Test rows"))
    return Section("test", "Test rows", join(parts))


def _classes(subject: Subject, test: Sample) -> list[Any]:
    """Return confusions and, if the model has probabilities, their calibration."""
    if not isinstance(subject.wrapper, CalibratedSVC):
        found = test.predicted(subject)
        return [confusion("test", subject.classes, test.target, found, test.weight)]
    probability = probabilities(subject.wrapper.calibrators_, subject.layout, test.values)
    found = probability.argmax(axis=1)
    label = shortened(subject.classes[-1])
    return [
        confusion("test", subject.classes, test.target, found, test.weight),
        tag("h3", "Calibration"),
        reliability(
            "test.calibration", probability, test.target, test.weight, f"the class is {label}"
        ),
    ]


def _intervals(subject: Subject, test: Sample) -> Markup:
    """Return the coverage and the width of intervals."""
    low, high = subject.wrapper._intervals(test.rows).T
    inside = float(test.weight @ ((low <= test.target) & (test.target <= high)) / test.weight.sum())
    width = float(test.weight @ (high - low) / test.weight.sum())
    level = subject.wrapper.confidence_level
    return table(
        "Intervals",
        (),
        [
            ("Confidence level", percent("test.intervals.level", level)),
            ("Targets inside their interval", percent("test.intervals.inside", inside)),
            ("Mean width", number("test.intervals.width", width)),
        ],
    )


def _outliers(test: Sample) -> Markup:
    """Return the part of the rows outside the region, and whether that is right."""
    outside = test.values[:, 0] < 0
    share = float(test.weight @ outside / test.weight.sum())
    parts: list[Any] = [
        paragraph(percent("test.outside", share), " of the rows are outside the region.",
                  class_="lead")
    ]  # fmt: skip
    if test.target is not None:
        true = (test.target > 0).astype(np.int64)
        found = (~outside).astype(np.int64)
        parts.append(confusion("test", ["outlier", "inlier"], true, found, test.weight))
    return join(parts)
