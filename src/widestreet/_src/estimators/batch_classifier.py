"""Training of classifiers on all rows at once."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Self

import numpy as np
from sklearn.utils.class_weight import compute_class_weight

from widestreet._src.arrays import Codes, Floats
from widestreet._src.estimators import data_checks, parameter_checks
from widestreet._src.estimators.batch import BatchFit, Prepared, shared_attributes
from widestreet._src.estimators.callbacks import RoundReporter
from widestreet._src.estimators.classifier import Classifier
from widestreet._src.estimators.fitted import classifier_attributes
from widestreet._src.estimators.stored import in_memory, is_stored
from widestreet._src.interrupts import undisturbed
from widestreet._src.problems.class_pairs import PairLayout
from widestreet._src.problems.formulations import Formulation
from widestreet._src.reporting.observers import Observers
from widestreet._src.training.settings import Resources
from widestreet._src.training.trained import Trained

_FIRST_LABELS = 1000  # among which a second class is looked for before all labels are


@dataclass(frozen=True, eq=False)
class ClassTraining:
    """Validated parameters of a classifier, and the function that trains it.

    Attributes
    ----------
    formulation : Formulation
    resources : Resources
    train : callable
        Function of the prepared rows, the class index of each row, and the observers. It returns
        the lines of `dual_coef_` over all rows, before they are divided by the margin; the result
        of each pair of classes; and further fitted attributes.
    fit_stored : callable, optional
        Function of X, y and sample_weight that trains on rows that are not in memory; None if the
        estimator needs all rows.
    """

    formulation: Formulation
    resources: Resources
    train: Callable[[Prepared, Codes, Observers], tuple[Floats, list[Trained], dict[str, Any]]]
    fit_stored: Callable[[tuple[Any, Any, Any]], None] | None = None


class BatchClassifier(BatchFit, Classifier):
    """Base class of the classifiers that train on all rows at once."""

    @abstractmethod
    def _training(self, start: Any) -> ClassTraining:
        """Return the validated parameters and the function that trains from a model `start`."""

    def _check_classification(self, start: Any = None) -> ClassTraining:
        """Check all parameters that do not depend on the rows; return what `_training` does."""
        self._values_per_class()  # refuses other values than "ovr" and "ovo"
        parameter_checks.check_class_weight(self.class_weight)
        return self._training(start)

    def _fit(self, X: Any, y: Any, sample_weight: Any, start: Any = None) -> Self:
        """Train on rows X with labels y. Sets: everything that is fitted."""
        given = X, y, sample_weight
        training = self._check_classification(start)
        formulation, tol = training.formulation, training.resources.final_violation
        if training.fit_stored is not None and is_stored(self, X, training.resources):
            training.fit_stored(given)
            return self
        given, columns = in_memory(*given, training.resources, labels=True)
        X, y, sample_weight = given
        (X, y), seen = self._validated(self._lent(X), y, names=columns)
        two = _two_values(y)
        data_checks.check_labels(y if two is None else two)
        weight = data_checks.check_weight(sample_weight, X.shape[0])
        classes, code = _encode(y, weight, two)
        class_weight = self._class_weights(classes, y, weight)
        weighted = weight if self.class_weight is None else class_weight[code] * weight
        alike = sample_weight is None and self.class_weight is None
        totals = _rows_by_class(code, len(classes), None if alike else weighted)
        formulation.check(totals, classes.tolist())
        prepared = self._prepare(
            X,
            seen,
            code,
            weight,
            formulation.box(weighted),
            centred=formulation.coefficients_sum_to_zero,
            threads=training.resources.threads,
        )
        names = [f"{one} against {other}" for one, other in combinations(classes.tolist(), 2)]
        report = RoundReporter(self, *given, problems=len(names))
        with prepared, Observers(training.resources.verbose, tol, report, names) as observers:
            lines, trained, more = training.train(prepared, code, observers)
        readings = [formulation.read(one.bias, tol) for one in trained]
        with undisturbed(swallow=self.on_interrupt == "keep"):  # the model must not be lost
            layout = PairLayout(len(classes))
            used = prepared.box > 0
            there = _rows_by_class(code if used.all() else code[used], len(classes))
            n_rows = (there[layout.first] + there[layout.second]).astype(np.int64).tolist()
            fitted = classifier_attributes(
                code=code,
                lines=lines,
                readings=readings,
                classes=classes,
                class_weight=class_weight,
                scale=formulation.scale,
                steps=np.array([one.solution.pair_steps for one in trained], dtype=np.int64),
                **shared_attributes(prepared, trained, n_rows),
            )
            self._adopt(prepared.seen, fitted | more)
        self._warn_of_zero_margin(
            [
                name
                for name, one, reading in zip(names, trained, readings, strict=True)
                if one.certificate.status.success and reading.margin is None
            ],
            tol,
        )
        self._finish(report)
        return self

    def _class_weights(self, classes: Any, y: Any, weight: Floats) -> Floats:
        """Return the weight of each class."""
        if self.class_weight is None:
            return np.ones(len(classes))
        here = weight > 0
        found: Floats = compute_class_weight(
            self.class_weight, classes=classes, y=y[here], sample_weight=weight[here]
        )
        return found


def _two_values(y: Any) -> Any:
    """Return the values of labels, ascending, if they are two numbers; None otherwise."""
    if y.dtype.kind not in "biuf":
        return None
    one = y[0]
    other = y[np.argmax(y[:_FIRST_LABELS] != one)]
    if one == other:
        other = y[np.argmax(y != one)]
    if one == other or not ((y == one) | (y == other)).all():
        return None
    return np.sort(np.array([one, other]))


def _rows_by_class(code: Codes, classes: int, weight: Floats | None = None) -> Floats:
    """Return the number of rows of each class, or the sum of their weights."""
    if weight is None and classes == 2:
        second = np.count_nonzero(code)
        return np.array([len(code) - second, second], dtype=np.float64)
    return np.bincount(code, weight, minlength=classes).astype(np.float64)


def _encode(y: Any, weight: Floats, two: Any = None) -> tuple[Any, Codes]:
    """Return the classes that have a row of positive weight, and the class of each row.

    `two` are the values of labels of two classes, if they are known.
    """
    if two is not None and weight.min() > 0:
        return two, (y == two[1]).view(np.int8)
    classes, code = np.unique(y, return_inverse=True)
    present = np.flatnonzero(np.bincount(code, weight > 0))
    data_checks.check_number_of_classes(classes[present])
    number = np.zeros(len(classes), dtype=np.int64)  # rows of absent classes have weight zero
    number[present] = np.arange(len(present))
    return classes[present], number[code]
