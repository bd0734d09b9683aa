"""What all classifiers share: classes and pairs in, votes out."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterator
from inspect import Parameter, signature
from itertools import combinations
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight

from widestreet._src.arrays import Floats, Ints
from widestreet._src.estimators import validation
from widestreet._src.estimators.base import KernelMachine, Prepared
from widestreet._src.estimators.callbacks import FRAMES, RoundReporter, with_callbacks
from widestreet._src.interrupts import undisturbed
from widestreet._src.reporting.observers import Observers
from widestreet._src.training.one_vs_one import (
    both_of_pairs,
    most_votes,
    one_vs_rest,
    pairs,
    sums_of_pairs,
)
from widestreet._src.training.training import SUCCESS, Settings, Trained

_BLOCK_VALUES = 1 << 24  # numbers that a block of decision values may take
_BLOCK_ROWS = 32  # rows at least
_NAMED = 5  # pairs named in a warning


class Classifier(ClassifierMixin, KernelMachine):
    """Base of the classifiers. The subclasses train the problems between two classes."""

    class_weight: Any
    decision_function_shape: str

    classes_: Any
    class_weight_: Floats
    _rho: Floats

    def __new__(cls, *given: Any, **options: Any) -> Self:
        """Refuse `probability`, which scikit-learn's classifiers have, with what to do instead."""
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

    @abstractmethod
    def _boxes(self, weight: Floats, totals: Floats, classes: Any) -> tuple[Floats, float]:
        """The box of each row, and what coefficients are proportional to.

        Parameters
        ----------
        weight : ndarray
            Of each row, that of its class included.
        totals : ndarray
            The sum of these for each class.
        classes : ndarray
            What the classes are called.
        """

    @abstractmethod
    def _train(
        self, prepared: Prepared, code: Ints, scale: float, settings: Settings, watch: Observers
    ) -> tuple[Floats, list[Trained], dict[str, Any]]:
        """Train the problems of all pairs of classes.

        Parameters
        ----------
        prepared : Prepared
        code : ndarray
            The class of each row.
        scale : float
            What coefficients are proportional to.
        settings : Settings
        watch : Observers

        Returns
        -------
        lines : ndarray of shape (n_classes - 1, n)
            Lines of `dual_coef_`, before they are divided by the width of the street. Of two
            classes the second is the positive one, of more the first of each pair.
        trained : list of Trained
        more : dict
            Further attributes of the model.
        """

    @abstractmethod
    def _breaks_ties(self) -> bool:
        """Whether equal numbers of votes are decided by decision values."""

    @abstractmethod
    def _read(self, bias: Floats) -> tuple[float, float | None]:
        """The bias, and half the width of the street; None if there is none to be seen."""

    def _measured(self, bias: Floats) -> tuple[float, float]:
        """The bias, and what everything is divided by: nothing, where there is no street."""
        middle, width = self._read(bias)
        return middle, 1.0 if width is None else width

    def _mind_the_gap(self, names: list[str], trained: list[Trained]) -> None:
        """Warn of pairs without a street."""
        closed = [
            name
            for name, one in zip(names, trained, strict=True)
            if one.certificate.status in SUCCESS and self._read(one.bias)[1] is None
        ]
        self._warn_of_closed(closed, 4 + FRAMES)

    def _warn_of_closed(self, closed: list[str], stacklevel: int) -> None:
        """Warn of pairs without a street, if there are any."""
        if closed:
            more = " and more" if len(closed) > _NAMED else ""
            warnings.warn(
                f"no street wider than tol={float(self.tol):g} was found for "
                f"{', '.join(closed[:_NAMED])}{more}: decision values are not divided by its "
                "width; raise nu, lower tol, or multiply sample_weight",
                UserWarning,
                stacklevel=stacklevel,
            )

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on rows X with labels y.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Or the square kernel matrix, for kernel="precomputed".
        y : array-like of shape (n_samples,)
            Labels of two or more classes.
        sample_weight : array-like of shape (n_samples,), default=None
            A weight of two is the same as a repeated row, a weight of zero the same as a missing
            one.

        Returns
        -------
        estimator
            The fitted estimator itself.
        """
        given = X, y, sample_weight
        settings = self._settings()
        validation.require_choice(
            "decision_function_shape", self.decision_function_shape, ("ovr", "ovo")
        )
        validation.check_class_weight(self.class_weight)
        (X, y), seen = self._validated(X, y)
        validation.check_labels(y)
        weight = validation.check_weight(sample_weight, X.shape[0])
        classes, code = _encode(y, weight)
        class_weight = np.ones(len(classes))
        if self.class_weight is not None:
            here = weight > 0
            class_weight = compute_class_weight(
                self.class_weight, classes=classes, y=y[here], sample_weight=weight[here]
            )
        weighted = class_weight[code] * weight
        totals = np.bincount(code, weighted, minlength=len(classes)).astype(np.float64)
        box, scale = self._boxes(weighted, totals, classes)
        prepared = self._prepare(X, seen, code, weight, box, settings.threads)
        k = len(classes)
        names = [f"{one} against {other}" for one, other in combinations(classes.tolist(), 2)]
        report = RoundReporter(self, *given, problems=len(names))
        with Observers(settings.verbose, settings.tol, report, names) as watch:
            lines, trained, more = self._train(prepared, code, scale, settings, watch)
        with undisturbed(swallow=self.on_interrupt == "keep"):  # there is a model: it is not lost
            read = [self._measured(one.bias) for one in trained]
            rho = np.array([width for _, width in read])
            coef = lines / _by_class(rho, k)[:, code]
            support = np.flatnonzero(coef.any(axis=0))
            support = support[np.argsort(code[support], kind="stable")]
            there = np.bincount(code, prepared.box > 0, minlength=k).astype(np.int64).tolist()
            self._adopt(
                prepared,
                coef,
                support,
                trained,
                scale,
                [there[i] + there[j] for i, j in pairs(k)],
                _rho=rho,
                classes_=classes,
                class_weight_=class_weight,
                n_support_=np.bincount(code[support], minlength=k).astype(np.int32),
                intercept_=np.array([bias for bias, _ in read]) / rho,
                n_iter_=np.array([one.solution.pair_steps for one in trained], dtype=np.int64),
                **more,
            )
        self._mind_the_gap(names, trained)
        self._finish(report)
        return self

    def decision_function(self, X: Any) -> Floats:
        """How far each row is on which side.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes) or (n_samples, n_pairs)
            Two classes: positive for the second one; of machines with a soft margin, the signed
            distance to the middle of the street in units of half its width. More, with
            decision_function_shape="ovr": a value per class, the largest for the class with the
            most votes. With "ovo": a value for each pair of classes (0, 1), (0, 2), ..., positive
            for the first.
        """
        X = self._query(X)
        k = len(self.classes_)
        if k == 2:
            return self._decide(X)[:, 0]
        by_class = self.decision_function_shape == "ovr"
        values = np.empty((X.shape[0], k if by_class else len(self.intercept_)))
        for rows in self._blocks(X):
            decision = self._decide(X[rows])
            values[rows] = one_vs_rest(decision, k) if by_class else decision
        return values

    def predict(self, X: Any) -> Any:
        """Return the class of each row: the one with the most votes among all pairs.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        self._check_fitted()
        by_value = self._breaks_ties()
        X = self._query(X)
        k = len(self.classes_)
        winner = np.empty(X.shape[0], dtype=np.int64)
        for rows in self._blocks(X):
            decision = self._decide(X[rows])
            if k == 2:
                winner[rows] = decision[:, 0] >= 0
            elif by_value:
                winner[rows] = one_vs_rest(decision, k).argmax(axis=1)
            else:
                winner[rows] = most_votes(decision, k)
        return self.classes_[winner]

    @property
    def predict_proba(self) -> Any:
        """There is none: an AttributeError that says what to do instead."""
        raise AttributeError(_no_probabilities(type(self).__name__))

    predict_log_proba = predict_proba

    def _blocks(self, X: Any) -> Iterator[slice]:
        """Parts of the rows whose decision values, and the sums they come from, may be held."""
        step = max(_BLOCK_ROWS, _BLOCK_VALUES // (8 * len(self.intercept_)))
        for a in range(0, X.shape[0], step):
            yield slice(a, min(a + step, X.shape[0]))

    def _decide(self, X: Any) -> Floats:
        """Decision values of validated rows for each pair, of shape (n, pairs)."""
        if len(self.classes_) == 2:
            two: Floats = self._scores(X)[0].T + self.intercept_
            return two
        parts = self._scores(X, np.cumsum(self.n_support_[:-1]))
        decision: Floats = sums_of_pairs(np.array(parts)).T + self.intercept_
        return decision

    def _linear_coef(self) -> Any:
        if len(self.classes_) == 2 or self._centre is not None:
            return super()._linear_coef()
        ends = np.cumsum(self.n_support_)
        parts = [slice(end - size, end) for end, size in zip(ends, self.n_support_, strict=True)]
        coef, vectors = self.dual_coef_, self.support_vectors_
        found = [
            coef[[j - 1], parts[i]] @ vectors[parts[i]] + coef[[i], parts[j]] @ vectors[parts[j]]
            for i, j in pairs(len(parts))
        ]
        return sparse.vstack(found).tocsr() if sparse.issparse(coef) else np.concatenate(found)


def _no_probabilities(name: str) -> str:
    """Say what to do instead of asking for probabilities."""
    return (
        f"{name} has no parameter probability and no predict_proba. Leave the parameter out; for "
        "probabilities wrap the classifier:\n"
        "    from sklearn.calibration import CalibratedClassifierCV\n"
        f"    model = CalibratedClassifierCV({name}(), ensemble=False).fit(X, y)"
    )


def _accepts(cls: type, name: str) -> bool:
    """Tell whether the constructor of a class takes a parameter."""
    known = signature(cls).parameters
    return name in known or any(p.kind is Parameter.VAR_KEYWORD for p in known.values())


def _by_class(values: Floats, k: int) -> Floats:
    """A value per pair of classes where `dual_coef_` has that pair: by line and class."""
    i, j = both_of_pairs(k)
    found = np.ones((k - 1, k))
    found[j - 1, i] = found[i, j] = values
    return found


def _encode(y: Any, weight: Floats) -> tuple[Any, Ints]:
    """The classes that have a row of positive weight, and the number of each row's class."""
    classes, code = np.unique(y, return_inverse=True)
    present = np.flatnonzero(np.bincount(code, weight > 0))
    if len(present) < 2:
        raise ValueError(
            "y: Invalid input - all samples with positive weights belong to the same class: got "
            f"1 class, {classes[present][0]}, but a classifier needs rows of at least two"
        )
    number = np.zeros(len(classes), dtype=np.int64)  # rows of absent classes count for nothing
    number[present] = np.arange(len(present))
    return classes[present], number[code]
