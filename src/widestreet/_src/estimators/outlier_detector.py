"""Prediction of one-class SVMs."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import OutlierMixin

from widestreet._src.arrays import Floats, Ints
from widestreet._src.estimators.model import KernelModel, in_batches

BOUNDARY_ROUNDING = 1e-12  # of the offset: decision values up to this are rounding errors


class OutlierDetector(OutlierMixin, KernelModel):
    """Base class of the one-class SVMs: a region that contains most rows."""

    nu: float
    offset_: Floats

    @in_batches
    def decision_function(self, X: Any) -> Floats:
        """Return the decision value of each row, positive inside the region and negative outside.

        Values that differ from zero only by rounding are set to zero, so that support vectors on
        the boundary count as inliers.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or from `open_rows`

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._signed(X)

    def _signed(self, X: Any) -> Floats:
        """Return the decision value of each row on the host."""
        decision: Floats = self._scorer(self._query(X))()[0] + self.intercept_
        decision[np.abs(decision) <= BOUNDARY_ROUNDING * abs(float(self.offset_[0]))] = 0.0
        return decision

    @in_batches
    def score_samples(self, X: Any) -> Floats:
        """Return the decision values before `offset_` is subtracted.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or from `open_rows`

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        score: Floats = self._signed(X) + self.offset_
        return score

    @in_batches
    def predict(self, X: Any) -> Ints:
        """Return 1 for rows inside the region and -1 for outliers.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or from `open_rows`

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return np.where(self._signed(X) >= 0, 1, -1)
