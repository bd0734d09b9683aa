"""Methods of all online regressors."""

from __future__ import annotations

from typing import Any, Self

from widestreet._src.estimators.online.machine import OnlineMachine
from widestreet._src.estimators.online.tasks import SingleTask
from widestreet._src.estimators.regressor import Regressor


class OnlineRegressor(OnlineMachine, Regressor):
    """Base class of the online regressors, which solve one problem."""

    _task = SingleTask(has_targets=True)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on rows X with targets y, and remove all rows stored before.

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
        return self._add(X, y, sample_weight, fresh=True, y_numeric=True)

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
            File of the journal. The change is recorded in this SQLite database before the call
            returns, so that it survives a crash; `widestreet.online.load` reads it. A call without
            `journal` closes the journal.

        Returns
        -------
        estimator
            The estimator itself.
        """
        return self._add(X, y, sample_weight, journal, y_numeric=True)
