"""A regressor with prediction intervals: jackknife+ and CV+.

Barber, Candes, Ramdas and Tibshirani, "Predictive inference with the jackknife+", Annals of
Statistics 49 (2021), 486-507. With mu_i the model without row i (jackknife+) or without its fold
(CV+), and R_i = |y_i - mu_i(x_i)|, the interval at x goes from

    the floor(alpha (n + 1))-th smallest of mu_i(x) - R_i
    to the ceil((1 - alpha) (n + 1))-th smallest of mu_i(x) + R_i,    alpha = 1 - confidence_level.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.model_selection import KFold
from sklearn.utils.validation import check_is_fitted

from widestreet._src import checks
from widestreet._src.arrays import Floats
from widestreet._src.calibration.held_out_models import (
    HeldOutModels,
    TrainingRows,
    without_each,
    without_folds,
)
from widestreet._src.calibration.removals import Folds, folds_of, is_number, number_of_folds
from widestreet._src.calibration.wrapper import SVMWrapper, held_out_bar, out_of_time
from widestreet._src.engines.budget import OutOfBudget
from widestreet._src.estimators import columns
from widestreet._src.estimators.contained import svm_of
from widestreet._src.estimators.nu_svr import NuSVR
from widestreet._src.estimators.registry import register
from widestreet._src.estimators.svr import SVR
from widestreet._src.tuning.svr_cv import SVRCV

_RANK_ROUNDING = 1e-9  # of confidence_level (n + 1): the product of two decimal numbers


class IntervalSVR(RegressorMixin, SVMWrapper):
    """SVM regressor with prediction intervals.

    The SVM is trained on all rows. Intervals come from models without one row (jackknife+) or
    without one fold (CV+), and from the residuals of the rows that these models did not see. They
    need no assumption on the noise, only rows that are exchangeable.

    Parameters
    ----------
    estimator : SVR, NuSVR or SVRCV, default=None
        The SVM; None means `SVR()`. Its `max_time`, `n_jobs`, `max_memory` and `verbose` hold for
        the whole fit. `SVRCV` chooses its parameters once, from all rows, which the proof of the
        coverage does not include.
    confidence_level : float, default=0.9
        Wanted probability that a new target lies in its interval. It can be changed after the fit.
    cv : {"auto", "loo"}, int, splitter or iterable of (train, test), default="auto"
        "loo": jackknife+, from the exact model without each row. An integer: CV+ with so many
        folds, drawn with a fixed seed. "auto": "loo" if its counted cost is about two seconds or
        less, else 5. For rows that belong to groups pass the folds, for example
        ``list(GroupKFold().split(X, y, groups))``; each row must be in exactly one test set.

    Attributes
    ----------
    estimator_ : SVR, NuSVR or SVRCV
        The SVM, fitted to all rows.
    certificate_ : Certificate
        Certificate of `estimator_`.
    models_ : HeldOutModels
        Models without a row or a fold, and the absolute residuals of the rows.
    cv_ : "loo" or int
        Leave-one-out, or the number of folds.
    n_features_in_, feature_names_in_
        Number and names of the features.

    Notes
    -----
    With alpha = 1 - confidence_level, the coverage is proved to be at least 1 - 2 alpha for
    jackknife+, and at least 1 - 2 alpha - sqrt(2 / n) for CV+ with n rows in folds of equal size
    (Barber et al., 2021).
    This is the probability over training rows and new row. Usually it is close to 1 - alpha.
    All models have the gamma of all rows, also if it is "scale". Sample weights are those of the
    training only: all residuals of rows of positive weight count alike.

    Half of `max_time` of the estimator is for the SVM, the rest for the other models. If it is not
    enough for them, a TimeoutError is raised, and the estimator is unchanged.

    Examples
    --------
    >>> import numpy as np
    >>> import widestreet as ws
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 6, (600, 1))
    >>> y = np.sin(X[:, 0]) + 0.3 * rng.standard_normal(600)
    >>> model = ws.IntervalSVR(ws.SVR(C=10.0, gamma=1.0)).fit(X[:150], y[:150])
    >>> low, high = model.predict_interval(X[150:]).T
    >>> inside = (low <= y[150:]) & (y[150:] <= high)
    >>> print(model.cv_, f"{inside.mean():.1f}")
    loo 0.9
    """

    _machines: ClassVar[tuple[type[Any], ...]] = (SVR, NuSVR, SVRCV)
    _adds = "intervals"

    models_: HeldOutModels

    def __init__(
        self, estimator: Any = None, *, confidence_level: float = 0.9, cv: Any = "auto"
    ) -> None:
        self.estimator = estimator
        self.confidence_level = confidence_level
        self.cv = cv

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on rows X with targets y.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training rows, or the square kernel matrix for kernel="precomputed".
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        IntervalSVR
            The fitted estimator itself.
        """
        self._level()
        outer, X, weight, budget = self._fitted_machine(X, y, sample_weight)
        machine = svm_of(outer)
        target = np.asarray(columns.numbers("y", np.asarray(y).ravel()), dtype=np.float64)
        given = None if is_number(self.cv) else folds_of(self.cv, X, target)
        rows = TrainingRows.of(machine._without_names(None), X, target, weight)
        self._rank(len(rows.y))
        folds = self._drawn_folds(rows) if given is None else rows.within(given)
        try:
            with held_out_bar(machine) as tell:
                if folds is None:
                    models = without_each(rows, budget, tell)
                else:
                    models = without_folds(rows, folds, budget, tell)
        except OutOfBudget as stop:
            raise out_of_time(outer.max_time, stop) from None
        return self._adopt(
            outer, {"models_": models, "cv_": "loo" if folds is None else len(folds)}
        )

    def _drawn_folds(self, rows: TrainingRows) -> Folds | None:
        """Return folds of the rows; None for leave-one-out."""
        n = len(rows.y)
        number = number_of_folds("intervals", rows.machine, rows.weight, self.cv, n, "all")
        if number is None:
            return None
        return folds_of(KFold(number, shuffle=True, random_state=0), rows.X, rows.y)

    def _level(self) -> float:
        """Return the confidence level, which is checked."""
        return checks.require_real("confidence_level", self.confidence_level, above=0.0, below=1.0)

    def _rank(self, n: int) -> int:
        """Return the rank of the upper end among n values."""
        level = self._level()
        rank = ceil(level * (n + 1) - _RANK_ROUNDING)
        if rank > n:
            raise ValueError(
                f"confidence_level={self.confidence_level!r} needs at least "
                f"{ceil(level / (1.0 - level) - _RANK_ROUNDING)} rows, got n_samples = {n}: lower "
                "it, or pass more rows"
            )
        return max(rank, 1)

    # -- prediction --------------------------------------------------------------------------------

    def predict(self, X: Any) -> Floats:
        """Return the prediction of the SVM for each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self, "estimator_")
        found: Floats = self.estimator_.predict(X)
        return found

    def predict_interval(self, X: Any) -> Floats:
        """Return the ends of the interval of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Lower and upper end.
        """
        check_is_fitted(self, "estimator_")
        return self._intervals(svm_of(self.estimator_)._query(X))

    def _intervals(self, rows: Any) -> Floats:
        """Return the intervals of validated rows."""
        machine, models = svm_of(self.estimator_), self.models_
        n = len(models.residual)
        rank = self._rank(n)
        found = np.empty((rows.shape[0], 2))
        for some, values in models.predictions(machine._without_names(None), rows):
            centre = values[:, models.model_of]
            found[some, 0] = np.partition(centre - models.residual, n - rank, axis=1)[:, n - rank]
            found[some, 1] = np.partition(centre + models.residual, rank - 1, axis=1)[:, rank - 1]
        return np.sort(found, axis=1)  # they cross at most for levels below one half

    # -- files -------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        if "models_" in state["fitted"]:
            state["fitted"]["models_"] = dict(vars(self.models_))
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "models_" in vars(self):
            self.models_ = HeldOutModels(**state["fitted"]["models_"])

    @classmethod
    def _check_state(cls, fitted: Mapping[str, Any]) -> None:
        super()._check_state(fitted)
        HeldOutModels(**fitted["models_"]).check(svm_of(fitted["estimator_"]))


register(IntervalSVR)
