"""What online regressions share."""

from __future__ import annotations

from typing import Any, Self

from widestreet._src.estimators.online.machine import OnlineMachine
from widestreet._src.estimators.online.tasks import SingleTask
from widestreet._src.estimators.regressor import Regressor


class OnlineRegressor(OnlineMachine, Regressor):
    """Base of the online regressions: one problem."""

    _task = SingleTask(has_targets=True)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on rows X with targets y, and forget all others.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        estimator
            The estimator itself.
        """
        return self._fit(X, y, sample_weight, y_numeric=True)

    def partial_fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, journal: Any = None
    ) -> Self:
        """Add rows: the model becomes the one that `fit` would find on all stored rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None
        journal : str or path-like, default=None
            A file in which this call is recorded before it returns, so that no crash loses it;
            `widestreet.online.load` reads it. A call without it closes the journal.

        Returns
        -------
        estimator
            The estimator itself.
        """
        return self._partial_fit(X, y, sample_weight, journal, y_numeric=True)
