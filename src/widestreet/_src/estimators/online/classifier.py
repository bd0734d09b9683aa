"""What online classifiers share: one problem for each pair of classes."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from widestreet._src.arrays import Floats, Ints
from widestreet._src.estimators import validation
from widestreet._src.estimators.dual_classifier import DualClassifier
from widestreet._src.estimators.online.machine import OnlineMachine
from widestreet._src.training.one_vs_one import one_vs_rest, pairs


class OnlineClassifier(OnlineMachine, DualClassifier):
    """Base of the online classifiers: one problem for each pair of classes that have rows."""

    _code: dict[Any, int]

    def _check_parameters(self) -> None:
        validation.require_choice(
            "decision_function_shape", self.decision_function_shape, ("ovr", "ovo")
        )
        validation.require_flag("break_ties", self.break_ties)
        if isinstance(self.class_weight, str) and self.class_weight == "balanced":
            raise ValueError(
                "class_weight='balanced' would change with every row; pass a dict of weights"
            )
        validation.check_class_weight(self.class_weight)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on rows X with labels y, and forget all others.

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

    def _check_fit(self) -> None:
        if len(self._problems) == 0:
            raise ValueError(
                "y: Invalid input - all samples with positive weights belong to the same class: "
                "got 1 class, but fit needs rows of at least two; partial_fit can begin with one"
            )

    def partial_fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        classes: Any = None,
        journal: Any = None,
    ) -> Self:
        """Add rows: the model becomes the one that `fit` would find on all rows that are there.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None
        classes : array-like, default=None
            All classes that may come, if they are known; others may come nevertheless.
        journal : str or path-like, default=None
            A file in which this call is written down before it returns, so that no crash loses
            it; `widestreet.online.load` reads it. A call without it closes the journal.

        Returns
        -------
        estimator
            The estimator itself.
        """
        return self._partial_fit(X, y, sample_weight, journal, classes)

    def _targets(self, X: Any, y: Any, weight: Floats, classes: Any) -> Floats:
        validation.check_labels(y)
        labels = [np.unique(y)] if classes is None else [np.unique(y), np.unique(classes)]
        before = getattr(self, "classes_", None)
        if before is not None:
            labels.append(before)
        if len({label.dtype.kind in "OUS" for label in labels}) > 1:
            new, old = labels[0].tolist()[0], labels[-1].tolist()[0]
            raise ValueError(
                f"y: labels such as {new!r} do not go with those that came before, such as "
                f"{old!r}; use one kind"
            )
        self.classes_ = np.unique(np.concatenate(labels))
        if hasattr(self, "_store") and before is not None and len(before) < len(self.classes_):
            self._rename(before)
        code: Floats = np.searchsorted(self.classes_, y).astype(np.float64)
        return code

    def _rename(self, before: Any) -> None:
        """Classes have new numbers. Sets: the targets in the store, the names of problems."""
        new = np.searchsorted(self.classes_, before)
        self._store.target[:] = new[self._store.target.astype(np.int64)]
        self._problems = {
            (int(new[i]), int(new[j])): exact for (i, j), exact in self._problems.items()
        }

    def _class_factor(self) -> Floats:
        """The weight of each class."""
        given = self.class_weight or {}
        return np.array([float(given.get(label, 1.0)) for label in self.classes_.tolist()])

    def _factors(self, key: Any) -> tuple[float, float]:
        """The weights of the two classes of a problem."""
        factor = self._class_factor()
        return float(factor[key[0]]), float(factor[key[1]])

    def decision_function(self, X: Any) -> Floats:
        """As that of `SVC`; zero while rows of one class only have come.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes) or (n_samples, n_pairs)
        """
        if len(getattr(self, "classes_", "ab")) == 1:
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
        if len(getattr(self, "classes_", "ab")) == 1:
            return np.repeat(self.classes_, self._query(X).shape[0])
        return super().predict(X)

    def _layout(self) -> dict[Any, Ints]:
        code = self._store.target.astype(np.int64)
        total = np.bincount(code, self._store.weight, len(self.classes_))
        present = np.flatnonzero(total > 0)
        return {
            (int(i), int(j)): np.flatnonzero((code == i) | (code == j))
            for a, i in enumerate(present)
            for j in present[a + 1 :]
        }

    def _left_out(self) -> Floats:
        store, k = self._store, len(self.classes_)
        number = {pair: p for p, pair in enumerate(pairs(k))}
        sign = 1.0 if k == 2 else -1.0
        code = store.target.astype(np.int64)
        values = self._decide(store.X)
        for (i, j), exact in self._problems.items():
            for row, found in exact.each_without():
                if found is None:  # it was the last of its class
                    value = 1.0 if code[row] == i else -1.0
                else:
                    middle, width = self._measured(found[1])
                    value = (found[0] + middle) / width
                values[row, number[i, j]] = sign * value
        if k == 2:
            return values[:, 0]
        return one_vs_rest(values, k) if self.decision_function_shape == "ovr" else values

    def _publish(self) -> None:
        store, k = self._store, len(self.classes_)
        code = store.target.astype(np.int64)
        total = np.bincount(code, store.weight, k)
        number = {pair: p for p, pair in enumerate(pairs(k))}
        coef, intercept, rho = np.zeros((max(1, k - 1), store.n)), np.zeros(len(number)), []
        sign = 1.0 if k == 2 else -1.0  # with more classes the first of a pair is positive
        for (i, j), p in number.items():
            exact = self._problems.get((i, j))
            if exact is None:  # whoever is there wins
                here = float(total[j] > 0) - float(total[i] > 0)
                intercept[p] = sign * here
                rho.append(1.0)
                continue
            middle, width = self._measured(exact.bias)
            rows, value = exact.members, sign * exact.coef / width
            line = np.zeros(len(rows), dtype=np.int64)
            if k > 2:
                line = np.where(code[rows] == i, j - 1, i)
            coef[line, rows] = value
            intercept[p] = sign * middle / width
            rho.append(width)
        support = np.flatnonzero(coef.any(axis=0))
        support = support[np.lexsort((store.ids[support], code[support]))]
        self._adopt_rows(
            coef,
            support,
            intercept,
            _rho=np.array(rho),
            class_weight_=self._class_factor(),
            n_support_=np.bincount(code[support], minlength=k).astype(np.int32),
        )
