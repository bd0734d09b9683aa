"""Regressors that were not trained on some rows, as changes of one regressor.

Model m predicts f(x) + sum_j D_mj K(x, v_j) + d_m, where f is the regressor of all rows, v_j are
training rows, D_mj changes of their coefficients and d_m a change of the intercept. A row that is
left out changes the coefficients of the free variables and few others, so D is sparse. Model 0 has
no changes: it stands for all rows whose removal changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from widestreet._src.arrays import Floats, Ints
from widestreet._src.calibration.held_out import models_of_folds, with_numbers_of
from widestreet._src.calibration.removals import Folds, Tell, counting, removals_of
from widestreet._src.engines.budget import Budget, parse_memory
from widestreet._src.estimators.leave_one_out import frozen_twin, regressors_without
from widestreet._src.estimators.scoring import dense_coef
from widestreet._src.threads import limited_blas
from widestreet._src.tuning.folds import coefficients_of

_NEGLIGIBLE = 1e-13  # of the largest coefficient: a smaller change is rounding
_MEMORY_SHARE = 0.25  # of max_memory, for a block of predictions
_ARRAYS = 3  # of the size of a block of predictions that exist at the same time


@dataclass(frozen=True, eq=False)
class HeldOutModels:
    """Regressors without some rows, and the residuals of these rows.

    Attributes
    ----------
    vectors : ndarray or CSR of shape (m, features)
        Training rows whose coefficients change; of no rows and columns for a kernel matrix.
    column : ndarray of shape (m,)
        Their indices among the training rows.
    change : CSR of shape (models, m)
        Changes of their coefficients.
    intercept : ndarray of shape (models,)
        Changes of the intercept.
    model_of : ndarray of shape (n,)
        Model without each row.
    residual : ndarray of shape (n,)
        Absolute value of the residual of each row by that model.
    """

    vectors: Any
    column: Ints
    change: Any
    intercept: Floats
    model_of: Ints
    residual: Floats

    def check(self, machine: Any) -> None:
        """Raise ValueError if these are not changes of a fitted regressor."""
        models, vectors = self.change.shape
        wide = (0, 0) if machine.kernel == "precomputed" else (vectors, machine.n_features_in_)
        sound = sparse.issparse(self.change) and self.vectors.shape == wide
        sound = sound and self.column.shape == (vectors,) and self.column.dtype.kind == "i"
        sound = sound and self.vectors.dtype in (np.float32, np.float64)
        sound = sound and bool(((self.column >= 0) & (self.column < machine.shape_fit_[0])).all())
        sound = sound and self.intercept.shape == (models,)
        sound = sound and self.model_of.shape == self.residual.shape == (len(self.residual),)
        sound = sound and self.model_of.dtype.kind == "i" and len(self.residual) > 0
        sound = sound and bool(((self.model_of >= 0) & (self.model_of < models)).all())
        for array in (self.change.data, self.intercept, self.residual):
            sound = sound and array.dtype == np.float64 and bool(np.isfinite(array).all())
        if not sound or (self.residual < 0).any():
            raise ValueError("held-out models with wrong numbers")

    def predictions(self, machine: Any, X: Any) -> Iterator[tuple[slice, Floats]]:
        """Yield blocks of validated rows, and the prediction of each model, of shape (r, models).

        Parameters
        ----------
        machine : SVR or NuSVR
            The regressor of all rows.
        X : ndarray or CSR
        """
        n, width = X.shape[0], len(self.column) + _ARRAYS * len(self.residual)
        room = _MEMORY_SHARE * parse_memory(machine.max_memory)
        step = int(np.clip(room / (8 * max(1, width)), 1, max(1, n)))
        for a in range(0, n, step):
            some = slice(a, min(a + step, n))
            values = machine.predict(X[some])[:, None] + self.intercept
            if len(self.column):
                K = kernel_values(machine, X[some], self.vectors, self.column)
                values += np.asarray((self.change @ K.T).T)
            yield some, values


def kernel_values(machine: Any, X: Any, vectors: Any, column: Ints) -> Floats:
    """Return the kernel values between rows and training rows in float64."""
    if machine.kernel == "precomputed":
        return np.asarray(X[:, column], dtype=np.float64)
    return np.asarray(machine._gram(X, vectors, column).block(), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Training rows of positive weight.

    Attributes
    ----------
    machine : SVR or NuSVR
        Fitted to all rows.
    X : ndarray or CSR
        These rows; for a kernel matrix, their kernel values.
    y, weight : ndarray
    column : ndarray
        Indices among all rows.
    """

    machine: Any
    X: Any
    y: Floats
    weight: Floats
    column: Ints

    @classmethod
    def of(cls, machine: Any, X: Any, y: Floats, weight: Floats) -> TrainingRows:
        """Select the rows of positive weight."""
        column = np.flatnonzero(weight > 0)
        if len(column) < len(y):
            X = X[np.ix_(column, column)] if machine.kernel == "precomputed" else X[column]
        return cls(machine, X, y[column], weight[column], column)

    def within(self, folds: Folds) -> Folds:
        """Return folds of all rows as folds of these rows, each of which must be tested once."""
        position = np.full(self.machine.shape_fit_[0], -1)
        position[self.column] = np.arange(len(self.column))
        found = [(position[train], position[test]) for train, test in folds]
        found = [(train[train >= 0], test[test >= 0]) for train, test in found]
        found = [(train, test) for train, test in found if len(test)]
        tested = np.concatenate([np.empty(0, dtype=np.int64), *(test for _, test in found)])
        times = np.bincount(tested, minlength=len(self.y))
        if not (times == 1).all():
            raise ValueError(
                f"cv: each row must be in exactly one test set, but one is in {times.max()} and "
                f"one in {times.min()}: pass folds that divide the rows, such as those of KFold or "
                "GroupKFold"
            )
        return found

    @property
    def predictions(self) -> Floats:
        """Predictions of the regressor of all rows."""
        return np.asarray(self.machine.predict(self._queries(slice(None))), dtype=np.float64)

    @property
    def coef(self) -> Floats:
        """Coefficients of the regressor of all rows."""
        found = np.zeros(self.machine.shape_fit_[0])
        found[self.machine.support_] = dense_coef(self.machine.dual_coef_)[0]
        return found[self.column]

    def _queries(self, rows: Any) -> Any:
        """Return some rows as the regressor of all rows takes them."""
        if self.machine.kernel != "precomputed":
            return self.X[rows]
        wide = np.zeros((len(self.y), self.machine.shape_fit_[0]))
        wide[:, self.column] = self.X
        return wide[rows]

    def assembled(
        self, changes: Iterable[Any], model_of: Ints, prediction: Floats, references: Ints
    ) -> HeldOutModels:
        """Return models from changes of coefficients.

        Parameters
        ----------
        changes : iterable of CSR of shape (1, n)
            Changes of coefficients of each model but the first.
        model_of : ndarray
            Model without each row.
        prediction : ndarray
            Prediction of each row by that model.
        references : ndarray
            A row of each model but the first, from which its intercept follows.
        """
        n = len(self.y)
        change = sparse.vstack([sparse.csr_matrix((1, n)), *changes]).tocsr()
        used = np.unique(change.indices)
        change = change[:, used]
        precomputed = self.machine.kernel == "precomputed"
        found = HeldOutModels(
            np.empty((0, 0)) if precomputed else self.X[used],
            self.column[used],
            change,
            np.zeros(change.shape[0]),
            model_of,
            np.abs(self.y - prediction),
        )
        queries = self._queries(references)
        for some, values in found.predictions(self.machine, queries):
            model = 1 + np.arange(some.start, some.stop)
            rows = references[some]
            found.intercept[model] = prediction[rows] - values[np.arange(len(rows)), model]
        return found


def without_each(
    rows: TrainingRows, budget: Budget, tell: Tell = lambda part: None
) -> HeldOutModels:
    """Return the exact regressor without each row; OutOfBudget is raised if time is over."""
    budget.look_at_end()
    twin = frozen_twin(rows.machine, budget).fit(rows.X, rows.y, sample_weight=rows.weight)
    look = counting(budget.look_at_end, tell, int(removals_of(rows.machine, rows.weight).sum()))
    prediction = rows.predictions
    model_of, changes, left = np.zeros(len(rows.y), dtype=np.int64), [], []
    with limited_blas(1):
        for row, value, change in regressors_without(twin, look):
            prediction[row] = value
            left.append(row)
            model_of[row] = len(left)
            changes.append(_sparse_row(change))
    return rows.assembled(changes, model_of, prediction, np.array(left, dtype=np.int64))


def without_folds(
    rows: TrainingRows, folds: Folds, budget: Budget, tell: Tell = lambda part: None
) -> HeldOutModels:
    """Return the regressor without each fold; OutOfBudget is raised if time is over."""
    machine, n, every = rows.machine, len(rows.y), rows.coef
    alike = with_numbers_of(machine)
    start = coefficients_of(machine, n) if n == machine.shape_fit_[0] else None
    prediction, model_of, changes, left = np.empty(n), np.zeros(n, dtype=np.int64), [], []
    models = models_of_folds(alike, start, rows.X, rows.y, rows.weight, folds, budget, tell)
    for k, (model, (_, test)) in enumerate(zip(models, folds, strict=True)):
        prediction[test], model_of[test] = model.predict(rows.X[test]), k + 1
        coef = -every
        coef[model.support_] += dense_coef(model.dual_coef_)[0]
        changes.append(_sparse_row(coef))
        left.append(test[0])
    return rows.assembled(changes, model_of, prediction, np.array(left, dtype=np.int64))


def _sparse_row(change: Floats) -> Any:
    """Return changes of coefficients as a sparse row, without rounding."""
    size = float(np.abs(change).max(initial=0.0))
    return sparse.csr_matrix(np.where(np.abs(change) > _NEGLIGIBLE * size, change, 0.0))
