"""Epsilon-support vector regression that chooses its parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from widestreet._src.estimators import figures
from widestreet._src.estimators.registry import register
from widestreet._src.estimators.svr import SVR
from widestreet._src.tuning.ranges import COARSE_EPSILON, Ranges
from widestreet._src.tuning.self_tuned import SelfTuned, given_values, kernel_ranges
from widestreet._src.tuning.tasks import SearchData


class SVRCV(RegressorMixin, SelfTuned):  # type: ignore[misc]
    """Epsilon-support vector regression that chooses C, gamma and epsilon by cross-validation.

    Coarse values come from the data: C and epsilon in units of the standard deviation of y. These
    ranges are extended while the best point lies on their edge, and refined around it. Candidates
    and folds share work, as in :class:`widestreet.model_selection.GridSearchCV`. The best model is
    trained on all rows, with a certificate.

    Parameters
    ----------
    Cs : sequence of float, default=None
        Values of C, used as they are; None for powers of two times the standard deviation of y.
    gammas : sequence of float, default=None
        Values of gamma, used as they are; None for values around the quantiles of 1 / |x - x'|^2.
    epsilons : sequence of float, default=None
        Values of epsilon, used as they are; None for parts of the standard deviation of y.
    kernel : {"rbf", "laplacian", "linear"}, default="rbf"
        Kernel; "linear" has no gamma.
    cv : int, splitter or iterable, default=5
        Folds, as in scikit-learn.
    scoring : str or callable, default=None
        Score of a fold, as in scikit-learn; None for R^2.
    tol : float, default=1e-3
        Largest violation of the optimality conditions of the model, in units of y. Points of the
        search are solved to 0.01 times the standard deviation of y, if that is larger.
    max_time : float, default=None
        Seconds for the search and the training of the best model. The search ends after three
        quarters of them, and the best model so far is then trained. The training has the seconds
        that are left, and at least a quarter of all.
    max_memory : int, float or str, default=None
        Memory limit in bytes, or a string such as "2GB".
    n_jobs : int, default=None
        Number of threads; None uses all processors available to the process.
    progress : bool, default=False
        Whether a progress bar is shown.
    on_interrupt : {"raise", "keep"}, default="raise"
        Action after Ctrl-C: "keep" trains the best model so far. "raise" raises KeyboardInterrupt;
        the results of the search so far are kept, without a model.
    random_state : int, RandomState or None, default=None
        Seed of the pairs of rows that determine the range of gamma.
    verbose : int or bool, default=False
        As in the SVM, for the training on all rows.
    device : {"cpu", "cuda", "auto"}, default="cpu"
        As in the SVM, for the training on all rows; the search is always on the CPU.

    Attributes
    ----------
    C_, gamma_, epsilon_ : float
        Chosen parameters; there is no `gamma_` for kernel="linear".
    best_estimator_ : SVR
        Model trained on all rows.
    best_score_ : float
        Mean score of the chosen parameters.
    scores_ : ndarray of shape (n_points, n_folds)
        Scores of all points.
    cv_results_ : dict
        Results of all points, as in `GridSearchCV`.
    stopped_ : {"max_time", "interrupt"} or None
        Why the search ended before its last stage, if it did.
    certificate_ : Certificate
    support_, support_vectors_, n_support_, dual_coef_, intercept_, trace_, certificates_, ...
        Those of `best_estimator_`.
    n_features_in_, feature_names_in_
        Number and names of the features.

    Examples
    --------
    >>> from widestreet import SVRCV
    >>> from widestreet.datasets import friedman
    >>> X, y = friedman(300, random_state=0)
    >>> model = SVRCV(cv=3, random_state=0).fit(X, y)
    >>> model.certificate_.status
    'optimal'
    >>> bool(model.best_score_ > 0.8)
    True
    """

    _kind = SVR

    def __init__(
        self,
        *,
        Cs: Any = None,
        gammas: Any = None,
        epsilons: Any = None,
        kernel: str = "rbf",
        cv: Any = 5,
        scoring: Any = None,
        tol: float = 1e-3,
        max_time: float | None = None,
        max_memory: int | float | str | None = None,
        n_jobs: int | None = None,
        progress: bool = False,
        on_interrupt: str = "raise",
        random_state: Any = None,
        verbose: int | bool = False,
        device: str = "cpu",
    ) -> None:
        self.Cs = Cs
        self.gammas = gammas
        self.epsilons = epsilons
        self.kernel = kernel
        self.cv = cv
        self.scoring = scoring
        self.tol = tol
        self.max_time = max_time
        self.max_memory = max_memory
        self.n_jobs = n_jobs
        self.progress = progress
        self.on_interrupt = on_interrupt
        self.random_state = random_state
        self.verbose = verbose
        self.device = device

    def _ranges(self, data: SearchData, rng: np.random.Generator) -> Ranges:
        found = kernel_ranges(self, data, rng)
        epsilons = tuple(part * self._size(data) for part in COARSE_EPSILON)
        if self.epsilons is not None:
            epsilons = given_values(self.epsilons, "epsilons", positive=False)
        given = found.given if self.epsilons is None else found.given | {"epsilon"}
        names = (*found.names, "epsilon")
        return Ranges(names, [*found.values, epsilons], given, found.unit)

    def _size(self, data: SearchData) -> float:
        """Return the weighted standard deviation of y; 1 if y is constant.

        ValueError is raised if float64 cannot represent it or its square.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            found = float(np.sqrt(figures.weighted_variance(data.y[:, None], data.weight)))
        if not np.isfinite(found):
            raise ValueError(
                "y is too large: its standard deviation, the unit of C and epsilon, is not finite: "
                f"divide y by a number such as {np.abs(data.y).max():.0e}"
            )
        there = data.y[data.weight > 0]
        if found == 0 and there.min() < there.max():
            raise ValueError(
                "y is too small: the square of its standard deviation, the unit of C and epsilon, "
                f"is zero: divide y by a number such as {np.abs(there).max():.0e}"
            )
        return found or 1.0


register(SVRCV)
