"""Prediction of classifiers: decision values of pairs of classes, and their votes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from inspect import Parameter, signature
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin

from widestreet._src import checks
from widestreet._src.arrays import Floats, Ints
from widestreet._src.estimators.model import KernelModel, in_batches
from widestreet._src.stacklevel import level_of_caller

_BLOCK_VALUES = 1 << 24  # numbers in the decision values of a block of rows, and in its scores
_SMALLEST_BLOCK = 32  # rows of the smallest block
_CALIBRATED = ("SVC", "NuSVC")  # classes that CalibratedSVC takes
_NAMED_PAIRS = 5  # pairs of classes that a warning names


class Classifier(ClassifierMixin, KernelModel):
    """Base class of the classifiers: decision values of pairs of classes, and their votes."""

    class_weight: Any
    decision_function_shape: str

    classes_: Any
    class_weight_: Floats
    _rho: Floats

    def __new__(cls, *given: Any, **options: Any) -> Self:
        """Refuse the parameter `probability` of scikit-learn, and name the replacement."""
        if "probability" in options and not _accepts(cls, "probability"):
            raise TypeError(_no_probabilities(cls.__name__))
        return super().__new__(cls, *given, **options)

    def set_params(self, **params: Any) -> Self:
        """Set parameters of this estimator.

        Parameters
        ----------
        **params : dict
            Parameters by name.

        Returns
        -------
        estimator
            The estimator itself.
        """
        if "probability" in params and "probability" not in self._get_param_names():
            raise ValueError(_no_probabilities(type(self).__name__))
        found: Self = super().set_params(**params)
        return found

    def _values_per_class(self) -> bool:
        """Return whether decision values of several classes are per class, not per pair."""
        shape = checks.require_choice(
            "decision_function_shape", self.decision_function_shape, ("ovr", "ovo")
        )
        return shape == "ovr"

    def _breaks_ties(self) -> bool:
        """Return whether equal numbers of votes are decided by decision values."""
        return False

    def _warn_of_zero_margin(self, pairs: list[str], tol: float) -> None:
        """Warn of pairs of classes whose margin is at most `tol`, if there are any."""
        if pairs:
            more = " and more" if len(pairs) > _NAMED_PAIRS else ""
            warnings.warn(
                f"the margin is zero to within tol={tol:g} for "
                f"{', '.join(pairs[:_NAMED_PAIRS])}{more}: decision values are not divided by it; "
                "raise nu, lower tol, or multiply sample_weight",
                UserWarning,
                stacklevel=level_of_caller(),
            )

    @in_batches
    def decision_function(self, X: Any) -> Floats:
        """Return the decision value of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or from `open_rows`

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes) or (n_samples, n_pairs)
            Two classes: one value, positive for the second class. For soft-margin SVMs it is the
            signed distance to the decision boundary in units of the margin. More classes and
            decision_function_shape="ovr": a value per class, the largest for the class with the
            most votes. With "ovo": a value for each pair of classes (0, 1), (0, 2), ..., positive
            for the first class.
        """
        X = self._query(X)
        layout = self._layout
        by_class = self._values_per_class() and layout.classes > 2
        values = np.empty((X.shape[0], layout.classes if by_class else len(layout.pairs)))
        for rows, decision in self._decisions(X):
            values[rows] = layout.one_vs_rest(decision) if by_class else decision
        return values[:, 0] if layout.classes == 2 else values

    @in_batches
    def predict(self, X: Any) -> Any:
        """Return the class of each row: the one with the most votes among all pairs.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or from `open_rows`

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        self._check_fitted()
        self._breaks_ties()  # refuses other values than those it knows
        X = self._query(X)
        winner = np.empty(X.shape[0], dtype=np.int64)
        for rows, decision in self._decisions(X):
            winner[rows] = self._winners(decision)
        return self.classes_[winner]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the part of the rows, or of their weights, whose class is predicted.

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

    def _winners(self, decision: Floats) -> Ints:
        """Return the number of the predicted class from decision values of shape (n, pairs)."""
        layout = self._layout
        if layout.classes == 2:
            second: Ints = (decision[:, 0] >= 0).astype(np.int64)
            return second
        if self._breaks_ties():
            largest: Ints = layout.one_vs_rest(decision).argmax(axis=1)
            return largest
        return layout.most_votes(decision)

    @property
    def predict_proba(self) -> Any:
        """Raise AttributeError with a message that names the replacement."""
        raise AttributeError(_no_probabilities(type(self).__name__))

    predict_log_proba = predict_proba

    def _decisions(self, X: Any) -> Iterator[tuple[slice, Floats]]:
        """Yield blocks of validated rows with their decision values, of shape (rows, pairs)."""
        score, n = self._scorer(X), X.shape[0]
        step = max(_SMALLEST_BLOCK, _BLOCK_VALUES // (8 * len(self.intercept_)))
        for a in range(0, n, step):
            b = min(a + step, n)
            rows = None if b - a == n else np.arange(a, b)
            yield slice(a, b), score(rows).T + self.intercept_


def _no_probabilities(name: str) -> str:
    """Return a message that names the replacement for `probability` and `predict_proba`."""
    wrapped = f"CalibratedClassifierCV({name}(), ensemble=False)"
    origin = "sklearn.calibration"
    if name in _CALIBRATED:
        origin, wrapped = "widestreet", f"CalibratedSVC({name}())"
    return (
        f"{name} has no parameter probability and no predict_proba. Leave the parameter out; for "
        "probabilities wrap the classifier:\n"
        f"    from {origin} import {wrapped.partition('(')[0]}\n"
        f"    model = {wrapped}.fit(X, y)"
    )


def _accepts(cls: type, name: str) -> bool:
    """Return whether the constructor of a class accepts a parameter."""
    known = signature(cls).parameters
    return name in known or any(p.kind is Parameter.VAR_KEYWORD for p in known.values())
