"""Rows with their labels or targets, and what the model says about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_consistent_length, column_or_1d

from widestreet._src.arrays import Floats, Ints
from widestreet._src.estimators import columns, data_checks
from widestreet._src.model_report import training_rows
from widestreet._src.model_report.subject import Subject
from widestreet._src.problems.class_pairs import PairLayout


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows of positive weight, evaluated.

    Attributes
    ----------
    X : object
        The rows as the user passed them, all of them.
    rows : ndarray or CSR
        The rows as the SVM takes them.
    index : ndarray
        Number of each row; its id in an online estimator.
    target : ndarray or None
        Number of the class, or target; None if it is not known.
    weight : ndarray
    values : ndarray of shape (n, pairs) or (n, 1)
        Decision values; predictions of regressors.
    """

    X: Any
    rows: Any
    index: Ints
    target: Any
    weight: Floats
    values: Floats

    @classmethod
    def of(cls, subject: Subject, what: str, X: Any, y: Any, weight: Any = None) -> Sample:
        """Validate rows and evaluate the model on them.

        `what` is what the names of the parameters end with; it is empty for the rows of the fit.
        """
        rows = subject.rows(X)
        weight = data_checks.check_weight(weight, rows.shape[0])
        target = None
        if y is not None:
            y = column_or_1d(y)
            check_consistent_length(rows, y)
            target = _targets(subject, what, y)
        elif subject.task != "outliers":
            raise ValueError(f"y{what} is missing: pass the labels or targets of the rows")
        if not what:
            training_rows.require(subject, rows, target, weight)
        used = np.flatnonzero(weight > 0)
        kept = rows if len(used) == rows.shape[0] else rows[used]
        values = subject.decisions(kept)
        return cls(X, kept, used, None if target is None else target[used], weight[used], values)

    @classmethod
    def stored(cls, subject: Subject) -> Sample:
        """Return the rows that an online estimator holds, in order of arrival."""
        store = subject.machine._state.store
        order = np.argsort(store.ids, kind="stable")
        order = order[store.weight[order] > 0]
        target = store.target[order]
        target = target.astype(np.int64) if subject.task == "classes" else target
        rows = store.X[order]
        return cls(
            rows,
            rows,
            store.ids[order],
            None if subject.task == "outliers" else target,
            store.weight[order],
            subject.decisions(rows),
        )

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.index)

    def margin(self, subject: Subject, values: Floats | None = None) -> Floats:
        """Return the smallest decision value of each row for its own class.

        It is negative if another class wins against it. For other tasks, it is minus the absolute
        residual, or the decision value.
        """
        values = self.values if values is None else values
        if subject.task == "classes" and not subject.layout.pairs:
            return np.zeros(len(values))  # one class, so far
        if subject.task == "classes":
            return margins(subject.layout, values, self.target)
        found: Floats = values[:, 0]
        return -np.abs(self.target - found) if subject.task == "targets" else found

    def predicted(self, subject: Subject, values: Floats | None = None) -> Ints:
        """Return the number of the predicted class of each row."""
        values = self.values if values is None else values
        found: Ints = subject.machine._winners(values)
        return found


def _targets(subject: Subject, what: str, y: Any) -> Any:
    """Return the numbers of the classes, or the targets."""
    if subject.task != "classes":
        return columns.numbers(f"y{what}", y)
    classes = subject.machine.classes_
    try:
        code = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
        known = np.asarray(classes[code] == y)
    except TypeError:
        known = np.zeros(len(y), dtype=bool)
    if not known.all():
        raise ValueError(
            f"y{what} has the label {y[~known][0]!s}, but the classes are {classes.tolist()}"
        )
    return code


def margins(layout: PairLayout, decision: Floats, code: Ints) -> Floats:
    """Return the smallest decision value of each row for its class, in the pairs that it is in."""
    sign = np.zeros((layout.classes, len(layout.pairs)))
    pairs = np.arange(len(layout.pairs))
    sign[layout.first, pairs], sign[layout.second, pairs] = 1.0, -1.0
    sign *= layout.sign_of_first
    found: Floats = np.where(sign[code] != 0, sign[code] * decision, np.inf).min(axis=1)
    return found
