"""Labels of classes, counted in parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum
from typing import Any

import numpy as np

from widestreet._src.arrays import Floats, Ints

_MIXED = "y: labels must be all text or all numbers, in every part of the data"


@dataclass(frozen=True, eq=False)
class Labels:
    """Classes with the number and the weight of their rows.

    Attributes
    ----------
    classes : ndarray
        Distinct labels, ascending. Of labels that are not whole numbers it has only one: no
        classifier accepts them, and there may be as many as rows.
    count, positive : ndarray
        Rows of each class; those of positive weight.
    weight : ndarray
        Sum of the weights of each class.
    """

    classes: Any
    count: Ints
    positive: Ints
    weight: Floats

    @classmethod
    def of(cls, y: Any, weight: Floats) -> Labels:
        """Count the labels of one part, none of which is missing."""
        y = np.asarray(y)
        if y.dtype.kind == "f":
            fractions = np.flatnonzero(y != np.floor(y))[:1]
            if len(fractions):
                y, weight = y[fractions], weight[fractions]
        classes, code = encoded(y)
        order = np.argsort(code, kind="stable")
        count = np.bincount(code, minlength=len(classes))
        parts = np.split(weight[order], np.cumsum(count)[:-1])
        positive = np.bincount(code, weight > 0, len(classes)).astype(np.int64)
        return cls(classes, count, positive, np.array([part.sum() for part in parts]))

    @classmethod
    def merged(cls, parts: Sequence[Labels]) -> Labels:
        """Return the labels of several parts; classes need not be in each of them."""
        used = [part for part in parts if len(part.classes)]
        if len(used) < 2:
            return used[0] if used else parts[0]
        if len({_is_text(part.classes) for part in used}) > 1:
            raise ValueError(_MIXED)
        every = np.concatenate([part.classes for part in used])
        classes, code = np.unique(every, return_inverse=True)
        count, positive = np.zeros((2, len(classes)), dtype=np.int64)
        np.add.at(count, code, np.concatenate([part.count for part in used]))
        np.add.at(positive, code, np.concatenate([part.positive for part in used]))
        weights: list[list[float]] = [[] for _ in classes]
        for k, weight in zip(code, np.concatenate([part.weight for part in used]), strict=True):
            weights[k].append(weight)
        return cls(classes, count, positive, np.array([fsum(w) for w in weights]))


def encoded(y: Any) -> tuple[Any, Ints]:
    """Return the distinct labels, ascending, and the position of each label among them."""
    y = np.asarray(y)
    try:
        if y.dtype.kind != "O":
            classes, code = np.unique(y, return_inverse=True)
            return classes, code.astype(np.int64, copy=False)
        labels = y.tolist()
        distinct = sorted(set(labels))
    except TypeError:
        raise ValueError(_MIXED) from None
    position = {label: k for k, label in enumerate(distinct)}
    classes = np.empty(len(distinct), dtype=object)
    classes[:] = distinct
    return classes, np.fromiter((position[label] for label in labels), np.int64, len(labels))


def first_missing(y: Any) -> int | None:
    """Return the first row whose label is NaN or None; None if there is no such row."""
    y = np.asarray(y)
    if y.dtype.kind == "f":
        absent = np.isnan(y)
    elif y.dtype.kind == "O":
        absent = np.array([_is_missing(label) for label in y.tolist()], dtype=bool)
    else:
        return None
    return int(np.argmax(absent)) if absent.any() else None


def _is_missing(label: Any) -> bool:
    return label is None or type(label).__name__ == "NAType" or label != label


def _is_text(classes: Any) -> bool:
    return isinstance(classes[0], str | bytes)
