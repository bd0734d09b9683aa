"""Solved tasks: coefficients and biases of all pairs, and the models that they make."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from widestreet._src.arrays import Floats, Ints
from widestreet._src.estimators.fitted import classifier_attributes, single_attributes
from widestreet._src.kernels.kernels import Linear
from widestreet._src.problems.formulations import Reading
from widestreet._src.rows import Merged
from widestreet._src.tuning.tasks import Task


@dataclass(frozen=True, eq=False)
class Outcome:
    """Solution of a task.

    Attributes
    ----------
    task : Task
    coefs : list of ndarray
        Coefficients of the distinct rows for each pair, before they are divided by the margin.
    biases : list of ndarray
        Biases of the groups for each pair.
    steps : list of int
        Pair steps for each pair.
    violation : float
        Largest violation that the engine found.
    seconds : float
        Time of the solution.
    """

    task: Task
    coefs: list[Floats]
    biases: list[Floats]
    steps: list[int]
    violation: float
    seconds: float

    @property
    def readings(self) -> list[Reading]:
        """Intercept and margin of each pair."""
        task = self.task
        return [task.formulation.read(bias, task.goal.tol) for bias in self.biases]

    def coefficients(self) -> tuple[Floats, Floats]:
        """Return the coefficients of all rows for each pair, and the intercepts."""
        readings, rows = self.readings, self._rows
        rho = np.array([reading.divisor for reading in readings])
        coef = self._spread(np.array(self.coefs)) / rho[:, None]
        intercept = np.array([reading.intercept for reading in readings]) / rho
        centre = getattr(rows, "centre", None)
        if isinstance(self.task.kernel, Linear) and centre is not None:  # as in fitted_attributes
            intercept -= coef @ (rows.data - centre) @ centre
        return coef, intercept

    @property
    def _rows(self) -> Any:
        """Rows as the kernel takes them."""
        task = self.task
        return task.fold.data.rows_for(
            task.kernel, sum_to_zero=task.formulation.coefficients_sum_to_zero
        )

    def model(self) -> Any:
        """Return the fitted estimator, without a certificate."""
        task, data, rows = self.task, self.task.fold.data, self._rows
        shared = {
            "kernel": task.kernel,
            "X": rows.data,
            "centre": getattr(rows, "centre", None),
            "index": None,
            "records": (),
            "kernel_values": 0,
            "certificates": None,
            "scale": task.formulation.scale,
        }
        if task.class_weight is None:
            fitted = single_attributes(
                coef=self._spread(self.coefs[0][None]),
                reading=self.readings[0],
                steps=self.steps[0],
                **shared,
            )
        else:
            fitted = classifier_attributes(
                code=task.fold.code,
                lines=self._spread(self._lines()),
                readings=self.readings,
                classes=data.classes[task.fold.present],
                class_weight=task.class_weight,
                steps=np.array(self.steps, dtype=np.int64),
                **shared,
            )
        found: Any = type(task.estimator)(**task.estimator.get_params(deep=False))
        found._adopt(data.seen, fitted)
        return found

    def _lines(self) -> Floats:
        """Return the lines of `dual_coef_` over the distinct rows."""
        label, present = self.task.fold.data.label, self.task.fold.present
        members = [np.flatnonzero(label == c) for c in present]
        layout = self.task.layout
        parts = [
            np.concatenate([coef[members[i]], coef[members[j]]])
            for coef, (i, j) in zip(self.coefs, layout.pairs, strict=True)
        ]
        return layout.scatter(parts, members, len(label))

    def _spread(self, lines: Floats) -> Floats:
        """Divide coefficients of distinct rows among equal rows."""
        task = self.task
        merged = task.fold.data.merged
        if merged.member_of is None:
            return lines
        member = np.where(task.own_box > 0, merged.member_of, -1)
        return Merged(merged.kept, member, task.box).spread(lines, task.own_box)

    def held_out(self, rows: Ints, scores: Floats) -> Any:
        """Return a model that predicts some rows, given by their numbers, from known scores.

        Parameters
        ----------
        rows : ndarray
            Row numbers, ascending.
        scores : ndarray of shape (pairs, len(rows))
            Scores, before they are divided by the margin.
        """
        task, readings = self.task, self.readings
        rho = np.array([reading.divisor for reading in readings])
        kind: Any = type(task.estimator)
        model: Any = object.__new__(_class_of(kind))
        model.__dict__ = vars(task.estimator) | dict(readings[0].attributes) | task.fold.data.seen
        model.n_support_ = np.zeros(task.layout.classes, dtype=np.int32)
        model.intercept_ = np.array([reading.intercept for reading in readings]) / rho
        if task.class_weight is not None:
            model.classes_ = task.fold.data.classes[task.fold.present]
        model._rows, model._scores = rows, scores / rho[:, None]
        return model


class HeldOutModel:
    """Mixin of estimators that predict rows, given by their numbers, from stored scores."""

    _rows: Ints
    _scores: Floats

    def _query(self, X: Any) -> Ints:
        """Return the row numbers."""
        return np.asarray(X).reshape(-1)

    def _scorer(self, X: Ints) -> Callable[..., Floats]:
        """Return a function that looks up the scores of rows."""
        scores: Floats = self._scores[:, np.searchsorted(self._rows, X)]
        return lambda rows=None: scores if rows is None else scores[:, rows]


@cache
def _class_of(kind: Any) -> Any:
    """Return the class of held-out models of an estimator."""
    return type(kind.__name__, (HeldOutModel, kind), {})
