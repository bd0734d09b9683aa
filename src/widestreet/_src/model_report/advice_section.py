"""Warnings, each with what to do."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from math import isnan

import numpy as np

from widestreet._src.certificate import Certificate, advice, worst
from widestreet._src.estimators.columns import spread_of, warn_of_scales
from widestreet._src.estimators.ensemble import EnsembleSVC
from widestreet._src.kernels.kernels import RBF, Laplacian, Precomputed
from widestreet._src.model_report.held_out import HeldOut
from widestreet._src.model_report.markup import Section, join, paragraph, tag
from widestreet._src.model_report.sample import Sample
from widestreet._src.model_report.subject import Subject
from widestreet._src.model_report.support import Support
from widestreet._src.status import Status

_ALL = 0.9  # part of the rows that are support vectors, from which on the kernel is too narrow
_BOUND = 0.9  # part of the support vectors that are bound, from which on C is small
_OVERFIT = 0.1  # accuracy that leave-one-out loses
_FEW_ROWS = 30  # of a class


def section(
    subject: Subject,
    certificates: list[Certificate],
    support: Support,
    train: Sample | None,
    held_out: HeldOut,
) -> Section:
    """Return the section of warnings."""
    found = [
        *_about_training(subject, certificates),
        *_about_scales(subject, train),
        *_about_model(subject, support),
        *_about_rows(subject, train, held_out),
    ]
    if not found:
        text = paragraph("Nothing was found that calls for a warning.")
        return Section("warnings", "Warnings", text)
    items = [tag("li", tag("strong", what), " ", do) for what, do in found]
    return Section("warnings", "Warnings", join([tag("ul", *items, class_="warnings")]))


def _about_training(subject: Subject, certificates: list[Certificate]) -> Iterator[tuple[str, str]]:
    """Yield warnings about the certificate, and what to do."""
    if not certificates:
        return
    message, found = advice(certificates), worst(certificates)
    if message is not None:
        yield "The model is not proved to be optimal.", f"{message[0].upper()}{message[1:]}"
    elif found.status == Status.APPROXIMATE and hasattr(subject.machine, "compaction_"):
        change = subject.machine.compaction_
        yield "The model is an approximation.", f"compact has made it smaller: {change}"
    if isnan(found.gap) and found.n_rows:
        yield (
            "There is no duality gap.",
            "The kernel is not known to be positive semidefinite. Use rbf, laplacian, linear or "
            "poly with coef0 >= 0 for a proved gap.",
        )


def _about_scales(subject: Subject, train: Sample | None) -> Iterator[tuple[str, str]]:
    """Yield the warning about columns of different scales, which `fit` has given before."""
    machine = subject.machine
    rows = machine.support_vectors_ if train is None else train.rows
    if isinstance(machine._kernel, Precomputed) or callable(machine.kernel) or rows.shape[0] < 2:
        return
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        warn_of_scales(spread_of(rows), getattr(machine, "feature_names_in_", None), stacklevel=1)
    for one in given:
        text = str(one.message)
        yield "Columns have different scales.", f"{text[0].upper()}{text[1:]}."


def _about_model(subject: Subject, support: Support) -> Iterator[tuple[str, str]]:
    """Yield warnings about the number of support vectors."""
    rows, total = subject.machine.shape_fit_[0], len(support.group)
    bound = int(support.bound.sum())
    if isinstance(subject.machine, EnsembleSVC) or subject.task == "outliers" or not total:
        return
    if not support.bounded:
        return
    local = isinstance(subject.machine._kernel, RBF | Laplacian)
    if total > _ALL * rows and bound < _BOUND * total and local:
        yield (
            "Nearly all rows are support vectors.",
            "The kernel may be too narrow, so that each row counts for itself: lower gamma, or let "
            "SVCCV or SVRCV choose it.",
        )
    if bound > _BOUND * total and total > _ALL * rows:
        yield (
            "Nearly all rows are bound support vectors.",
            "The model hardly fits the rows: raise C, or raise gamma.",
        )


def _about_rows(
    subject: Subject, train: Sample | None, held_out: HeldOut
) -> Iterator[tuple[str, str]]:
    """Yield warnings about training rows and leave-one-out."""
    if train is None or subject.task != "classes":
        return
    counts = np.bincount(train.target, minlength=len(subject.classes))
    few = [str(label) for label, n in zip(subject.classes, counts, strict=True) if n < _FEW_ROWS]
    if few:
        yield (
            f"Few training rows of {'class' if len(few) == 1 else 'classes'} {', '.join(few[:5])}.",
            f"There are fewer than {_FEW_ROWS}, so that figures of these classes are uncertain.",
        )
    if held_out.values is None:
        return
    seen = float(np.mean(train.predicted(subject) == train.target))
    unseen = float(np.mean(train.predicted(subject, held_out.values) == train.target))
    if seen - unseen > _OVERFIT:
        yield (
            "The model fits its training rows much better than rows that are left out.",
            f"The accuracy is {seen:.1%} and {unseen:.1%}. Lower C or gamma, or let SVCCV choose "
            "them.",
        )
