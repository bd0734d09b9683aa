"""Training of regressors on all rows at once."""

from __future__ import annotations

from typing import Any, Self

from widestreet._src.estimators import columns
from widestreet._src.estimators.callbacks import with_callbacks
from widestreet._src.estimators.optimal import OptimalFit
from widestreet._src.estimators.regressor import Regressor
from widestreet._src.estimators.starting import check_start
from widestreet._src.estimators.stored import fit_stored, in_memory, is_stored


class BatchRegressor(OptimalFit, Regressor):
    """Base class of the regressors that train on all rows at once."""

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None, start: Any = None) -> Self:
        """Train on rows X with targets y.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or from `open_rows`
            Training rows, or the square kernel matrix for kernel="precomputed".
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of C for the rows. A weight of two has the effect of a repeated row, a weight of
            zero that of a missing row.
        start : estimator, default=None
            Fitted model of the same kind, of this package or of scikit-learn, from whose solution
            training starts. Its support vectors must be among the rows; its parameters may differ.
            The result does not depend on it.

        Returns
        -------
        estimator
            The fitted estimator itself.
        """
        given = X, y, sample_weight
        settings, formulation = self._settings(), self._formulation()
        check_start(self, start)
        if is_stored(self, X, settings, layers=2):
            check_start(self, start, stored=True)
            fit_stored(self, given, settings, formulation, layers=2)
            return self
        given, names = in_memory(*given, settings)
        X, y, _ = given
        (X, y), seen = self._validated(self._lent(X), y, names=names, y_numeric=True)
        target = columns.numbers("y", y)
        self._fit_one_problem(given, X, seen, target, settings, formulation, start)
        return self
