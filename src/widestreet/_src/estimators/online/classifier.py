"""Online classifiers: one problem for each pair of classes."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from widestreet._src import checks
from widestreet._src.arrays import Floats
from widestreet._src.estimators import parameter_checks
from widestreet._src.estimators.classifier import Classifier
from widestreet._src.estimators.online.machine import OnlineMachine
from widestreet._src.estimators.online.tasks import ClassTask


class OnlineClassifier(OnlineMachine, Classifier):
    """Base class of the online classifiers."""

    break_ties: bool

    @property
    def _task(self) -> ClassTask:
        return ClassTask(self.class_weight)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._values_per_class()  # refuses other values than "ovr" and "ovo"
        checks.require_flag("break_ties", self.break_ties)
        if isinstance(self.class_weight, str) and self.class_weight == "balanced":
            raise ValueError(
                "class_weight='balanced' would change with every row; pass a dict of weights"
            )
        parameter_checks.check_class_weight(self.class_weight)

    def _breaks_ties(self) -> bool:
        return parameter_checks.breaks_ties(self.break_ties, self.decision_function_shape)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on rows X with labels y, and remove all rows stored before.

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
        return self._add(X, y, sample_weight, fresh=True)

    def partial_fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        classes: Any = None,
        journal: Any = None,
    ) -> Self:
        """Add rows: the model becomes the one that `fit` would find on all stored rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None
        classes : array-like, default=None
            Classes that later rows may have, if known. Other classes may still appear.
        journal : str or path-like, default=None
            File of the journal. The change is recorded in this SQLite database before the call
            returns, so that it survives a crash; `widestreet.online.load` reads it. A call without
            `journal` closes the journal.

        Returns
        -------
        estimator
            The estimator itself.
        """
        return self._add(X, y, sample_weight, journal, classes)

    def decision_function(self, X: Any) -> Floats:
        """Return decision values like `SVC`; zeros while only one class has rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes) or (n_samples, n_pairs)
        """
        self._check_fitted()
        if len(self.classes_) == 1:
            return np.zeros(self._query(X).shape[0])
        return super().decision_function(X)

    def predict(self, X: Any) -> Any:
        """Return the class of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        self._check_fitted()
        if len(self.classes_) == 1:
            return np.repeat(self.classes_, self._query(X).shape[0])
        return super().predict(X)

    def _shaped(self, values: Floats) -> Floats:
        by_class = self._values_per_class()
        if self._layout.classes == 1:
            return np.zeros(len(values))
        if self._layout.classes == 2:
            return values[:, 0]
        return self._layout.one_vs_rest(values) if by_class else values
