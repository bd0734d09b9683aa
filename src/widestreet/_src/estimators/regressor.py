"""Prediction of regressors."""

from __future__ import annotations

from typing import Any

from sklearn.base import RegressorMixin

from widestreet._src.arrays import Floats
from widestreet._src.estimators.model import KernelModel, in_batches


class Regressor(RegressorMixin, KernelModel):
    """Base class of the regressors."""

    C: float

    @in_batches
    def predict(self, X: Any) -> Floats:
        """Return the predicted target of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or from `open_rows`

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        value: Floats = self._scorer(self._query(X))()[0] + self.intercept_
        return value

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the coefficient of determination of the predictions.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or from `open_rows`
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        float
        """
        return float(super().score(*self._query_and_truth(X, y, sample_weight)))
