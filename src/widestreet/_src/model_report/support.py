"""Support vectors: free and bound, for each class or side of the tube."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from widestreet._src.arrays import Bools, Floats, Ints
from widestreet._src.estimators.ensemble import EnsembleSVC
from widestreet._src.model_report.drawing import bars
from widestreet._src.model_report.markup import (
    Section,
    beside,
    join,
    number,
    paragraph,
    percent,
    shortened,
    table,
)
from widestreet._src.model_report.sample import Sample
from widestreet._src.model_report.subject import Subject

_AT_BOUND = 1e-9  # of the box: coefficients are sums and quotients
_ABOVE_BOUND = 1e-6  # of the box: no rounding


@dataclass(frozen=True, eq=False)
class Support:
    """The support vectors of a model.

    Attributes
    ----------
    groups : list of str
        Classes, or sides of the tube.
    group : ndarray
        Group of each support vector.
    bound : ndarray of bool
        Whether its coefficient is as large as the parameters allow, in one problem at least.
    bounded : bool
        Whether coefficients have an upper bound.
    """

    groups: list[str]
    group: Ints
    bound: Bools
    bounded: bool

    @classmethod
    def of(cls, subject: Subject, train: Sample | None) -> Support:
        """Divide the support vectors of a model.

        ValueError is raised if coefficients exceed the bound that the weights of the training rows
        allow. The scale of coefficients of other libraries is not known.
        """
        coef = subject.coefficients
        names, group = ["all"], np.zeros(coef.shape[1], dtype=np.int64)
        if subject.task == "classes":
            names = [shortened(label) for label in subject.classes]
            group = np.repeat(np.arange(len(names)), subject.machine.n_support_)
        elif subject.task == "targets":
            names, group = ["above the tube", "below the tube"], (coef[0] < 0).astype(np.int64)
        box = _boxes(subject, group, train)
        if box is None:
            return cls(names, group, np.zeros(len(group), dtype=bool), False)
        own = hasattr(subject.machine, "certificates_")
        if train is not None and own and (np.abs(coef) > (1.0 + _ABOVE_BOUND) * box).any():
            raise ValueError(
                "coefficients of the model exceed their bound: pass the weights of the fit as "
                "sample_weight="
            )
        bound: Bools = np.any(np.abs(coef) >= (1.0 - _AT_BOUND) * box, axis=0)
        return cls(names, group, bound, True)

    def counts(self) -> tuple[Ints, Ints]:
        """Return the numbers of free and of bound support vectors of each group."""
        size = len(self.groups)
        free = np.bincount(self.group[~self.bound], minlength=size)
        return free, np.bincount(self.group[self.bound], minlength=size)


def _boxes(subject: Subject, group: Ints, train: Sample | None) -> Floats | None:
    """Return the bound of the coefficients of each support vector, or None if there is none.

    The shape is (problems, n_SV). Weights of rows are one unless the training rows are known.
    """
    machine = subject.machine
    if isinstance(machine, EnsembleSVC) or hasattr(machine, "compaction_"):
        return None
    formulation = machine._formulation()
    if getattr(formulation, "loss", "linear") != "linear":
        return None
    every = np.ones(machine.shape_fit_[0])
    if train is not None:
        every = np.zeros(machine.shape_fit_[0])
        every[_positions(subject, train)] = train.weight
    own = every[machine.support_]
    if subject.task == "classes":
        own = own * machine.class_weight_[group]
    box = formulation.box(own, float(every.sum()))
    margin = np.abs(getattr(machine, "_rho", np.ones(1)))  # coefficients are divided by it
    return np.asarray(box / margin[:, None])


def _positions(subject: Subject, train: Sample) -> Ints:
    """Return the positions of rows among those of the fit, to which `support_` refers."""
    if subject.online:
        return np.searchsorted(subject.machine.ids_, train.index)
    return train.index


def section(subject: Subject, support: Support, train: Sample | None) -> Section:
    """Return the section about the support vectors."""
    free, bound = support.counts()
    rows = int(subject.machine.shape_fit_[0])
    total = len(support.group)
    one_by_one = support.bounded and subject.task != "outliers"
    alone = one_by_one and subject.optimal and subject.machine._formulation().groups == 1
    unused = ". The other rows could be left out without a change of the model, at the same gamma."
    parts = [
        paragraph(
            number("support.total", total),
            " of ",
            number("support.rows", rows),
            " training rows are support vectors, ",
            percent("support.share", total / max(1, rows)),
            unused if alone else ".",
        )
    ]
    if support.bounded:
        parts.append(paragraph(_meaning(subject)))
        if train is None:
            parts.append(
                paragraph(
                    "The training rows are not known here, so that all sample weights are taken to "
                    "be one.",
                    class_="note",
                )
            )
    if train is not None and not subject.online and (train.weight == 1.0).all():
        text = "All sample weights are taken to be one. Pass others as sample_weight=."
        parts.append(paragraph(text, class_="note"))
    pieces = [("free", "first", free.astype(np.float64))]
    if support.bounded:
        pieces.append(("bound", "second", bound.astype(np.float64)))
    picture = bars(
        "Support vectors",
        f"{int(free.sum())} free and {int(bound.sum())} bound support vectors.",
        support.groups,
        pieces,
    )
    head = ("Group", "Free", "Bound", "All") if support.bounded else ("Group", "All")
    lines: list[tuple[str, ...]] = [
        (
            name,
            number(f"support.{k}.free", int(free[k])),
            number(f"support.{k}.bound", int(bound[k])),
            number(f"support.{k}.all", int(free[k] + bound[k])),
        )
        for k, name in enumerate(support.groups)
    ]
    if not support.bounded:
        lines = [(line[0], line[3]) for line in lines]
    parts.append(beside(picture, table("Support vectors", head, lines)))
    return Section("support", "Support vectors", join(parts))


def _meaning(subject: Subject) -> str:
    """Return what free and bound mean."""
    several = ", in at least one pair of classes" if len(subject.classes) > 2 else ""
    if not subject.optimal:
        return (
            "Bound support vectors have the largest coefficient that the parameters allow"
            f"{several}, free ones a smaller one. The model is not proved to be optimal, so that "
            "this does not say where they lie."
        )
    if subject.task == "classes":
        return (
            "Free support vectors lie on the margin. Bound ones have the largest coefficient that "
            f"the parameters allow{several}: they lie inside the margin or on the wrong side."
        )
    if subject.task == "targets":
        return (
            "Free support vectors lie on the edge of the tube. Bound ones have the largest "
            "coefficient that the parameters allow: they lie outside the tube."
        )
    return "Free support vectors lie on the boundary of the region, bound ones are outside."
