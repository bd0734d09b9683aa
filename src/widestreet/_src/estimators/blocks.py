"""Training of estimators on rows in blocks elsewhere, of which only a census is here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from scipy import sparse

from widestreet._src.arrays import Floats
from widestreet._src.engines.budget import Budget
from widestreet._src.estimators.callbacks import RoundReporter
from widestreet._src.estimators.census_checks import class_weights, classes_of
from widestreet._src.estimators.fitted import classifier_attributes, single_attributes
from widestreet._src.interrupts import undisturbed
from widestreet._src.kernels.kernels import Kernel, Linear
from widestreet._src.problems.formulations import DualFormulation
from widestreet._src.reporting.observers import Observers
from widestreet._src.rows import CsrRows, DenseRows, Vectors
from widestreet._src.rows.census import Census
from widestreet._src.rows.labels import Labels
from widestreet._src.training.settings import Settings
from widestreet._src.training.sharded import Supports, Task, train_blocks
from widestreet._src.training.trained import Trained

_SPARSE_DENSITY = 0.25  # as for rows in memory: below, the core skips zeros


def no_rows(census: Census, kernel: Kernel, formulation: DualFormulation) -> Vectors:
    """Return no rows, in the form that all rows of a census have."""
    if census.sparse:
        return CsrRows(sparse.csr_matrix((0, census.columns), dtype=census.dtype))
    centred = kernel.translation_invariant or (
        isinstance(kernel, Linear) and formulation.coefficients_sum_to_zero
    )
    few = census.density < _SPARSE_DENSITY
    centre = census.plain.mean if centred and not few else None
    empty = np.empty((0, census.columns), dtype=census.dtype)
    return DenseRows(empty, centre, skip_zeros=few)


@dataclass(frozen=True, eq=False)
class Classes:
    """The classes of a census, and the weight of each."""

    labels: Labels
    weight: Floats

    @classmethod
    def of(cls, model: Any, census: Census, formulation: DualFormulation) -> Classes:
        """Check the labels and the class weights of a classifier."""
        assert census.labels is not None
        labels = classes_of(census.labels)
        weight = class_weights(model.class_weight, labels)
        formulation.check(weight * labels.weight, labels.classes.tolist())
        return cls(labels, weight)

    @property
    def pairs(self) -> list[str]:
        """Names of the pairs of classes."""
        names = self.labels.classes.tolist()
        return [f"{one} against {other}" for one, other in combinations(names, 2)]


def _as_they_are(supports: Supports) -> Supports:
    return supports


@dataclass(frozen=True, eq=False)
class BlockFit:
    """A fit on blocks.

    Attributes
    ----------
    given : tuple
        X, y and sample_weight as the user passed them.
    census : Census
    seen : dict
        Names and number of the columns, as attributes.
    settings : Settings
    formulation : DualFormulation
    budget : Budget
        Begun before the rows were read.
    classes : Classes or None
        None for estimators without classes.
    observers : callable
        Makes what sees the records of the fit.
    spread : callable
        Divides the coefficients of support vectors among the rows that they stand for.
    """

    given: tuple[Any, Any, Any]
    census: Census
    seen: dict[str, Any]
    settings: Settings
    formulation: DualFormulation
    budget: Budget
    classes: Classes | None = None
    observers: Callable[..., Observers] = Observers
    spread: Callable[[Supports], Supports] = _as_they_are

    def train(self, model: Any, task: Task) -> None:
        """Train and certify. Sets: the fitted attributes of the model."""
        names = [""] if self.classes is None else self.classes.pairs
        report = RoundReporter(model, *self.given, problems=len(names))
        tol = self.settings.final_violation
        with self.observers(self.settings.verbose, tol, report, names) as observers:
            supports, trained = train_blocks(task, self.settings, observers, self.budget)
            supports = self.spread(supports)
        with undisturbed(swallow=model.on_interrupt == "keep"):  # the model must not be lost
            shape = {"shape_fit_": (self.census.rows, self.census.columns)}
            model._adopt(self.seen, self._fitted(task, supports, trained) | shape)
        if self.classes is not None:
            model._warn_of_zero_margin(self._without_margin(trained), tol)
        model._finish(report)

    def _fitted(self, task: Task, supports: Supports, trained: list[Trained]) -> dict[str, Any]:
        """Return the fitted attributes."""
        tol = self.settings.final_violation
        readings = [self.formulation.read(one.bias, tol) for one in trained]
        steps = np.array([one.solution.pair_steps for one in trained], dtype=np.int64)
        shared = {
            "kernel": task.recipe.kernel,
            "X": supports.data,
            "centre": task.none.centre,
            "index": supports.origin,
            "scale": self.formulation.scale,
            "records": (record for one in trained for record in one.solution.trace),
            "kernel_values": sum(one.solution.kernel_values for one in trained),
            "certificates": [
                replace(one.certificate, n_rows=n if one.certificate.n_rows else 0)
                for one, n in zip(trained, self._rows(), strict=True)
            ],
        }
        if self.classes is None:
            [reading] = readings
            return single_attributes(
                coef=supports.lines, reading=reading, steps=int(steps[0]), **shared
            )
        return classifier_attributes(
            code=supports.code,
            lines=supports.lines,
            readings=readings,
            classes=self.classes.labels.classes,
            class_weight=self.classes.weight,
            steps=steps,
            **shared,
        )

    def _rows(self) -> list[int]:
        """Return the number of rows of each problem, equal ones included."""
        if self.classes is None:
            return [self.census.weights.positive]
        return [a + b for a, b in combinations(self.classes.labels.positive.tolist(), 2)]

    def _without_margin(self, trained: list[Trained]) -> list[str]:
        """Return the pairs of classes whose margin is zero."""
        assert self.classes is not None
        tol = self.settings.final_violation
        return [
            name
            for name, one in zip(self.classes.pairs, trained, strict=True)
            if one.certificate.status.success
            and self.formulation.read(one.bias, tol).margin is None
        ]
