"""Data, folds and candidates of a search, and the problem of each candidate in each fold.

Rows, labels and equal rows are validated and found once for all candidates. The rows of the
training set of a fold have boxes, all other rows have a box of width zero.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from widestreet._src.arrays import Floats, Ints
from widestreet._src.estimators import columns, data_checks, figures, parameter_checks
from widestreet._src.estimators.classifier import Classifier
from widestreet._src.estimators.optimal import OptimalFit
from widestreet._src.estimators.regressor import Regressor
from widestreet._src.kernels.kernels import Kernel, Linear, Precomputed
from widestreet._src.problems.class_pairs import PairLayout
from widestreet._src.problems.formulations import DualFormulation
from widestreet._src.problems.goal import Goal
from widestreet._src.rows import KernelRows, Merged, Rows, Vectors, as_rows, merge_duplicates


@dataclass(frozen=True, eq=False)
class SearchData:
    """Validated rows of a search.

    Attributes
    ----------
    X : ndarray or CSR
    y : ndarray
        Labels, targets, or zeros for a one-class SVM.
    weight : ndarray
        Sample weights.
    code : ndarray
        Class index of each row; targets as numbers if there are no classes.
    classes : ndarray or None
        Labels of all classes.
    seen : dict
        Names and number of the columns.
    precomputed : bool
        Whether X is a kernel matrix.
    threads : int
    """

    X: Any
    y: Any
    weight: Floats
    code: Any
    classes: Any
    seen: dict[str, Any]
    precomputed: bool
    threads: int

    @classmethod
    def of(cls, estimator: OptimalFit, X: Any, y: Any, sample_weight: Any) -> SearchData:
        """Validate the rows for an estimator."""
        classes: Any = None
        code: Any
        if isinstance(estimator, Classifier):
            (X, y), seen = estimator._validated(X, y)
            data_checks.check_labels(y)
            classes, code = np.unique(y, return_inverse=True)
        elif isinstance(estimator, Regressor):
            (X, y), seen = estimator._validated(X, y, y_numeric=True)
            y = code = columns.numbers("y", y)
        else:
            X, seen = estimator._validated(X)
            y = code = np.zeros(X.shape[0])
        weight = data_checks.check_weight(sample_weight, X.shape[0])
        precomputed = estimator.kernel == "precomputed"
        if precomputed:
            data_checks.check_kernel_matrix(X)
        elif not callable(estimator.kernel):
            data_checks.check_magnitude(figures.largest_value(X))
        threads = estimator._settings().threads
        return cls(X, y, weight, code, classes, seen, precomputed, threads)

    @property
    def rows(self) -> int:
        return int(self.X.shape[0])

    def part(self, rows: Ints, factor: float = 1.0) -> SearchData:
        """Return some of the rows, with their weights multiplied by a factor."""
        columns = rows if self.precomputed else slice(None)
        return replace(
            self,
            X=self.X[rows][:, columns],
            y=self.y[rows],
            weight=factor * self.weight[rows],
            code=self.code[rows],
        )

    @cached_property
    def merged(self) -> Merged:
        """Distinct rows; every row belongs to one of them."""
        one = np.ones(self.rows)
        if self.precomputed:
            return Merged(None, None, one)
        label = np.asarray(self.code, dtype=np.float64)
        return merge_duplicates(self._uncentred, label, one, self.threads)

    @cached_property
    def member(self) -> Ints:
        """Position of each row among the distinct rows."""
        merged = self.merged
        return np.arange(self.rows) if merged.member_of is None else merged.member_of

    @cached_property
    def label(self) -> Any:
        """Class index or target of each distinct row."""
        return self.code[self.merged.kept]

    @cached_property
    def _uncentred(self) -> Vectors:
        return as_rows(self.X)

    @cached_property
    def _centred(self) -> Vectors:
        return as_rows(self.X, centred=True)

    def rows_for(self, kernel: Kernel, *, sum_to_zero: bool) -> Rows:
        """Return the rows for a kernel, centred where that changes no decision value."""
        if isinstance(kernel, Precomputed):
            return KernelRows(self.X, np.arange(self.rows))
        centred = kernel.translation_invariant or (isinstance(kernel, Linear) and sum_to_zero)
        return self._centred if centred else self._uncentred

    def summed(self, values: Floats) -> Floats:
        """Return the sums of values of the rows over equal rows."""
        if self.merged.member_of is None:
            return values
        return np.bincount(self.member, values, len(self.merged.kept)).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Fold:
    """Training and test rows.

    Attributes
    ----------
    data : SearchData
    train, test : ndarray
        Row numbers.
    """

    data: SearchData
    train: Ints
    test: Ints

    @cached_property
    def weight(self) -> Floats:
        """Weights of all rows, zero outside the training set; repeated rows count repeatedly."""
        data = self.data
        data_checks.check_weight(data.weight[self.train], len(self.train))
        times = np.bincount(self.train, minlength=data.rows)
        weight: Floats = data.weight * times
        return weight

    def weighted(self, class_weight: Floats) -> Floats:
        """Return weights of rows times those of their classes, once for all candidates."""
        if len(self.present) == len(self.data.classes) and (class_weight == 1.0).all():
            return self.weight
        key = class_weight.tobytes()
        if key not in self._known:
            absent = ~np.isin(self.data.code, self.present)
            self._known[key] = np.where(absent, 0.0, class_weight[self.code] * self.weight)
        return self._known[key]

    @cached_property
    def _known(self) -> dict[bytes, Floats]:
        return {}

    @cached_property
    def present(self) -> Ints:
        """Indices of the classes that have a training row of positive weight."""
        count = np.bincount(self.data.code, self.weight > 0, len(self.data.classes))
        present = np.flatnonzero(count)
        data_checks.check_number_of_classes(self.data.classes[present])
        return present

    @cached_property
    def code(self) -> Ints:
        """Class index of each row among the classes present; that of absent classes is 0."""
        code: Ints = self.data.code
        if len(self.present) == len(self.data.classes):
            return code
        number: Ints = np.zeros(len(self.data.classes), dtype=np.int64)
        number[self.present] = np.arange(len(self.present))
        return number[code]

    @cached_property
    def variance(self) -> float:
        """Variance of all values of the training rows, for gamma="scale"."""
        return figures.weighted_variance(self.data.X, self.weight)


@dataclass(frozen=True, eq=False)
class Task:
    """Problems of one candidate in one fold.

    Attributes
    ----------
    estimator : OptimalFit
        Candidate with its parameters.
    fold : Fold
    formulation : DualFormulation
    kernel : Kernel
    weighted : ndarray
        Weight of each row, times that of its class.
    class_weight : ndarray or None
        Weight of each class that is present.
    """

    estimator: OptimalFit
    fold: Fold
    formulation: DualFormulation
    kernel: Kernel
    weighted: Floats
    class_weight: Floats | None

    @classmethod
    def of(cls, estimator: OptimalFit, fold: Fold) -> Task:
        """Resolve the parameters of a candidate in a fold; raise what a fit would raise."""
        data, weight, class_weight = fold.data, fold.weight, None
        estimator._goal()
        formulation = estimator._formulation()
        weighted = weight
        if isinstance(estimator, Classifier):
            parameter_checks.check_class_weight(estimator.class_weight)
            classes = data.classes[fold.present]
            there = fold.train
            class_weight = estimator._class_weights(classes, data.y[there], data.weight[there])
            weighted = fold.weighted(class_weight)
            totals = np.bincount(fold.code, weighted, len(classes)).astype(np.float64)
            formulation.check(totals, classes.tolist())
        return cls(estimator, fold, formulation, _kernel(estimator, fold), weighted, class_weight)

    @property
    def own_box(self) -> Floats:
        """Width of the box of each row."""
        return self.formulation.box(self.weighted)

    @property
    def box(self) -> Floats:
        """Width of the box of each distinct row."""
        return self.fold.data.summed(self.own_box)

    @property
    def place(self) -> tuple[str, float, float, float]:
        """Place in a chain of tasks: by ascending C, other parameters apart."""
        formulation = self.formulation
        other = repr(getattr(self.estimator, "class_weight", None))
        nu, epsilon = getattr(formulation, "nu", 0.0), getattr(formulation, "epsilon", 0.0)
        return other, float(nu), float(epsilon), formulation.scale

    @cached_property
    def goal(self) -> Goal:
        """Tolerances of the candidate."""
        return self.estimator._goal()

    @cached_property
    def layout(self) -> PairLayout:
        """Layout of the pairs of classes; of one class for models without classes."""
        return PairLayout(1 if self.class_weight is None else len(self.class_weight))

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """Pairs of classes, by their indices among all classes; (0, 0) if there are none."""
        if self.class_weight is None:
            return [(0, 0)]
        return [
            (int(self.fold.present[i]), int(self.fold.present[j])) for i, j in self.layout.pairs
        ]


def _kernel(estimator: OptimalFit, fold: Fold) -> Kernel:
    """Return the kernel of a candidate; gamma="scale" is that of the training rows."""
    gamma, X = 0.0, fold.data.X
    if parameter_checks.uses_gamma(estimator.kernel):
        gamma = parameter_checks.resolve_gamma(
            estimator.gamma, int(X.shape[1]), lambda: fold.variance
        )
    kernel = parameter_checks.resolve_kernel(
        estimator.kernel, gamma=gamma, coef0=estimator.coef0, degree=estimator.degree
    )
    data_checks.check_powers(kernel, X)
    return kernel
