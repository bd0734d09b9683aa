"""What SVR and NuSVR share: targets in, values out."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Self

from sklearn.base import RegressorMixin

from widestreet._src.arrays import Floats
from widestreet._src.estimators import columns, validation
from widestreet._src.estimators.base import KernelMachine
from widestreet._src.estimators.callbacks import RoundReporter, with_callbacks
from widestreet._src.problems.dual import Dual


class Regressor(RegressorMixin, KernelMachine):
    """Base of the regressions. The subclasses say what their dual is and read its biases."""

    C: float

    @abstractmethod
    def _dual(self, C: float) -> Callable[[Floats, Floats], Dual]:
        """Check the parameters of this kind; return what makes the dual of targets and boxes."""

    @abstractmethod
    def _read(self, bias: Floats) -> dict[str, Any]:
        """Attributes that come of the biases."""

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on rows X with targets y.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Or the square kernel matrix, for kernel="precomputed".
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None
            Multiplies C row by row: a weight of two is the same as a repeated row, a weight of
            zero the same as a missing one.

        Returns
        -------
        estimator
            The fitted estimator itself.
        """
        given = X, y, sample_weight
        settings = self._settings()
        C = validation.require_real("C", self.C, above=0.0)
        make = self._dual(C)
        (X, y), seen = self._validated(X, y, y_numeric=True)
        y = columns.numbers("y", y)
        weight = validation.check_weight(sample_weight, X.shape[0])
        prepared = self._prepare(X, seen, y, weight, C * weight, settings.threads)
        dual = make(y[prepared.merged.kept], prepared.merged.box)
        report = RoundReporter(self, *given)
        self._fit_single(prepared, dual, settings, C, report, self._read)
        self._finish(report)
        return self

    def predict(self, X: Any) -> Floats:
        """Return the value of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        value: Floats = self._scores(self._query(X))[0][0] + self.intercept_
        return value
