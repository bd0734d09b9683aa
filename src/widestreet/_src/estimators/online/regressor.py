"""What online regressions share."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from widestreet._src.arrays import Floats, Ints
from widestreet._src.estimators import columns, validation
from widestreet._src.estimators.online.machine import OnlineMachine
from widestreet._src.estimators.online.single import publish_single, single_left_out
from widestreet._src.estimators.regressor import Regressor


class OnlineRegressor(OnlineMachine, Regressor):
    """Base of the online regressions: one problem."""

    def _y_options(self) -> dict[str, Any]:
        return {"y_numeric": True}

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
        return self._fit(X, y, sample_weight)

    def partial_fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, journal: Any = None
    ) -> Self:
        """Add rows: the model becomes the one that `fit` would find on all rows that are there.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None
        journal : str or path-like, default=None
            A file in which this call is written down before it returns, so that no crash loses
            it; `widestreet.online.load` reads it. A call without it closes the journal.

        Returns
        -------
        estimator
            The estimator itself.
        """
        return self._partial_fit(X, y, sample_weight, journal)

    def _check_parameters(self) -> None:
        self._dual(validation.require_real("C", self.C, above=0.0))

    def _targets(self, X: Any, y: Any, weight: Floats, classes: Any) -> Floats:
        return columns.numbers("y", y)

    def _tolerance(self) -> float:
        return super()._tolerance() * max(1.0, float(np.abs(self._store.target).max(initial=0.0)))

    def _layout(self) -> dict[Any, Ints]:
        return {None: np.arange(self._store.n)} if self._store.weight.any() else {}

    def _left_out(self) -> Floats:
        return single_left_out(self, lambda bias: self._read(bias)["intercept_"][0])

    def _publish(self) -> None:
        publish_single(self, self._read)
