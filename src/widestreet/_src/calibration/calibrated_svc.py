"""A classifier with probabilities: an SVM, and maps from its decision values."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from widestreet._src import checks
from widestreet._src.arrays import Floats, Ints
from widestreet._src.calibration.coupling import coupled
from widestreet._src.calibration.held_out import HeldOut, held_out_decisions
from widestreet._src.calibration.maps import MAPS, Isotonic, Map, Sigmoid, Temperature, class_scores
from widestreet._src.calibration.wrapper import SVMWrapper, held_out_bar, out_of_time
from widestreet._src.engines.budget import OutOfBudget
from widestreet._src.estimators.contained import svm_of
from widestreet._src.estimators.nu_svc import NuSVC
from widestreet._src.estimators.registry import register
from widestreet._src.estimators.svc import SVC
from widestreet._src.problems.class_pairs import PairLayout
from widestreet._src.stacklevel import level_of_caller
from widestreet._src.threads import limited_blas
from widestreet._src.tuning.svc_cv import SVCCV


class CalibratedSVC(ClassifierMixin, SVMWrapper):
    """SVM classifier with probabilities.

    The SVM is trained on all rows. Its decision values are mapped to probabilities, and the maps
    are fitted to decision values of models that were not trained on the row: by exact
    leave-one-out, or by a few folds that share their work with the fit.

    Parameters
    ----------
    estimator : SVC, NuSVC or SVCCV, default=None
        The SVM; None means `SVC()`. Its `max_time`, `n_jobs`, `max_memory` and `verbose` hold for
        the whole fit. `SVCCV` chooses its parameters once, from all rows.
    method : {"sigmoid", "isotonic", "temperature"}, default="sigmoid"
        "sigmoid" is Platt scaling. "isotonic" fits any nondecreasing function, which needs about a
        thousand rows or more. "temperature" divides the scores of all classes by one number. For
        several classes, the first two have a map for each pair of classes, and the probabilities
        of the pairs are coupled by the second method of Wu, Lin and Weng (2004).
    cv : {"auto", "loo"}, int, splitter or iterable of (train, test), default="auto"
        Models whose decision values are used. "loo": each row is scored by the exact model of all
        other rows. An integer: stratified folds in the order of the rows, as in scikit-learn.
        "auto": "loo" if its counted cost is some hundredths of a second, else 5. Equal rows with
        equal labels are left out together. For rows that belong to groups pass the folds, for
        example ``list(GroupKFold().split(X, y, groups))``.

    Attributes
    ----------
    classes_ : ndarray
        Labels of the classes.
    estimator_ : SVC, NuSVC or SVCCV
        The SVM, fitted to all rows.
    certificate_ : Certificate
        Certificate of `estimator_`.
    calibrators_ : list
        Maps from decision values to probabilities: one for each pair of classes, or one for
        method="temperature".
    cv_ : "loo" or int
        How decision values were found: by leave-one-out, or the number of folds.
    n_features_in_, feature_names_in_
        Number and names of the features.

    Notes
    -----
    All models have the gamma and the class weights of all rows, also if these are "scale" and
    "balanced". Half of `max_time` of the estimator is for the SVM, the rest for the other models.
    If it is not enough for them, a TimeoutError is raised, and the estimator is unchanged.

    Examples
    --------
    >>> import widestreet as ws
    >>> from widestreet.datasets import twonorm
    >>> X, y = twonorm(200, random_state=0)
    >>> X_test, y_test = twonorm(1000, random_state=1)
    >>> model = ws.CalibratedSVC(ws.SVC(C=1.0), cv="loo").fit(X, y)
    >>> model.certificate_.status
    'optimal'
    >>> from sklearn.metrics import brier_score_loss
    >>> print(f"{brier_score_loss(y_test, model.predict_proba(X_test)[:, 1]):.2f}")
    0.02
    """

    _machines: ClassVar[tuple[type[Any], ...]] = (SVC, NuSVC, SVCCV)
    _adds = "probabilities"

    classes_: Any
    calibrators_: list[Map]

    def __init__(self, estimator: Any = None, *, method: str = "sigmoid", cv: Any = "auto") -> None:
        self.estimator = estimator
        self.method = method
        self.cv = cv

    # -- training ----------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on rows X with labels y.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training rows, or the square kernel matrix for kernel="precomputed".
        y : array-like of shape (n_samples,)
            Labels of two or more classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, for the SVM and for the probabilities.

        Returns
        -------
        CalibratedSVC
            The fitted estimator itself.
        """
        checks.require_choice("method", self.method, tuple(MAPS))
        outer, X, weight, budget = self._fitted_machine(X, y, sample_weight)
        machine = svm_of(outer)
        present = np.where(weight > 0, np.asarray(y).ravel(), machine.classes_[0])
        code = np.searchsorted(machine.classes_, present)
        try:
            with held_out_bar(machine) as tell, limited_blas(1):
                found = held_out_decisions(
                    machine,
                    X,
                    code,
                    weight,
                    self.cv,
                    budget,
                    tell,
                    every_pair=self.method == Temperature.name,
                )
        except OutOfBudget as stop:
            raise out_of_time(outer.max_time, stop) from None
        layout = PairLayout(len(machine.classes_))
        _check_tested(self.method, machine.classes_, code[found.rows])
        with limited_blas(1):
            calibrators = fitted_maps(self.method, layout, found, code[found.rows])
        fitted = {"classes_": machine.classes_, "calibrators_": calibrators, "cv_": found.cv}
        return self._adopt(outer, fitted)

    # -- prediction --------------------------------------------------------------------------------

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        check_is_fitted(self, "estimator_")
        machine = svm_of(self.estimator_)
        rows = machine._query(X)
        layout = PairLayout(len(self.classes_))
        found = np.empty((rows.shape[0], layout.classes))
        for block, decision in machine._decisions(rows):
            found[block] = probabilities(self.calibrators_, layout, decision)
        return found

    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logarithm of the probability of each class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        found: Floats = np.log(self.predict_proba(X))
        return found

    def predict(self, X: Any) -> Any:
        """Return the most probable class of each row.

        It can differ from the prediction of `estimator_`, which is the class with the most votes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        probable = self.predict_proba(X).argmax(axis=1)
        return self.classes_[probable]

    # -- files -------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        if "calibrators_" in state["fitted"]:
            state["fitted"]["calibrators_"] = [
                {"name": one.name} | asdict(one) for one in self.calibrators_
            ]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "calibrators_" in vars(self):
            self.calibrators_ = [_map_from(plain) for plain in state["fitted"]["calibrators_"]]

    @classmethod
    def _check_state(cls, fitted: Mapping[str, Any]) -> None:
        super()._check_state(fitted)
        classes = fitted["estimator_"].classes_
        if not np.array_equal(fitted["classes_"], classes):
            raise ValueError("classes_ that are not those of estimator_")
        maps = [_map_from(plain) for plain in fitted["calibrators_"]]
        alike = all(type(one) is type(maps[0]) for one in maps)
        single = alike and isinstance(maps[0], Temperature)
        if not alike or len(maps) != (1 if single else len(PairLayout(len(classes)).pairs)):
            raise ValueError("calibrators_ of other pairs of classes")


register(CalibratedSVC)


def _map_from(plain: Mapping[str, Any]) -> Map:
    """Return a map from plain values, which are checked."""
    kind = MAPS[plain["name"]]
    given = {name: value for name, value in plain.items() if name != "name"}
    found = kind(**given)
    found.check()
    return found


def _check_tested(method: str, classes: Any, code: Ints) -> None:
    """Raise ValueError if a map has no rows; warn if it has rows of one class only.

    Parameters
    ----------
    method : str
    classes : ndarray
        Labels of the classes.
    code : ndarray
        Class of each row that is in a test set.
    """
    missing = classes[np.bincount(code, minlength=len(classes)) == 0]
    if not len(missing):
        return
    what = f"cv: no test set has a row of positive weight of class {', '.join(map(str, missing))}"
    cure = "pass folds that test rows of all classes"
    if not len(code) or (len(missing) > 1 and method != Temperature.name):
        raise ValueError(f"{what}: {cure}")
    warnings.warn(
        f"{what}, and its probabilities are not reliable: {cure}",
        UserWarning,
        stacklevel=level_of_caller(),
    )


def fitted_maps(method: str, layout: PairLayout, found: HeldOut, code: Ints) -> list[Map]:
    """Return the map of each pair of classes, or the one of all."""
    if method == Temperature.name:
        return [Temperature.fit(class_scores(layout, found.values), code, found.weight)]
    samples = []
    for p, (i, j) in enumerate(layout.pairs):
        mine = ((code == i) | (code == j)) & np.isfinite(found.values[:, p])
        positive = code[mine] == (i if layout.sign_of_first > 0 else j)
        samples.append((found.values[mine, p], positive, found.weight[mine]))
    prior = 1.0 / (layout.classes - 1)  # of each class, divided among its maps
    if method == Sigmoid.name:
        return list(Sigmoid.fit_all(samples, prior))
    return [Isotonic.fit(*sample, prior) for sample in samples]


def probabilities(maps: list[Map], layout: PairLayout, decision: Floats) -> Floats:
    """Return the probability of each class from decision values of shape (n, pairs)."""
    if isinstance(maps[0], Temperature):
        return maps[0](class_scores(layout, decision))
    positive = np.stack([one(decision[:, p]) for p, one in enumerate(maps)], axis=1)
    if layout.classes == 2:
        return np.hstack([1.0 - positive, positive])
    return coupled(layout, positive)
