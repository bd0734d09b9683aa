"""C-support vector classification that chooses its parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from widestreet._src.arrays import Floats
from widestreet._src.estimators.optimal import OptimalFit
from widestreet._src.estimators.registry import register
from widestreet._src.estimators.svc import SVC
from widestreet._src.tuning.ranges import Ranges
from widestreet._src.tuning.self_tuned import SelfTuned, kernel_ranges
from widestreet._src.tuning.tasks import SearchData


class SVCCV(ClassifierMixin, SelfTuned):  # type: ignore[misc]
    """C-support vector classification that chooses C and gamma by cross-validation.

    Coarse values of C and gamma come from the data. These ranges are extended while the best
    point lies on their edge, and refined around it. Candidates and folds share work, as in
    :class:`widestreet.model_selection.GridSearchCV`. The best model is trained on all rows, with a
    certificate.

    Parameters
    ----------
    Cs : sequence of float, default=None
        Values of C, used as they are; None for powers of two from 2^-5, extended where necessary.
    gammas : sequence of float, default=None
        Values of gamma, used as they are; None for values around the quantiles of 1 / |x - x'|^2.
    kernel : {"rbf", "laplacian", "linear"}, default="rbf"
        Kernel; "linear" has no gamma.
    class_weight : dict or "balanced", default=None
        Factors of C for the classes.
    cv : int, splitter or iterable, default=5
        Folds, as in scikit-learn.
    scoring : str or callable, default=None
        Score of a fold, as in scikit-learn; None for the accuracy.
    tol : float, default=1e-3
        Largest violation of the optimality conditions of the model. Points of the search are solved
        to 0.01.
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
    C_, gamma_ : float
        Chosen parameters; there is no `gamma_` for kernel="linear".
    best_estimator_ : SVC
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
    classes_ : ndarray
    support_, support_vectors_, n_support_, dual_coef_, intercept_, trace_, certificates_, ...
        Those of `best_estimator_`.
    n_features_in_, feature_names_in_
        Number and names of the features.

    Examples
    --------
    >>> from widestreet import SVCCV
    >>> from widestreet.datasets import checkerboard
    >>> X, y = checkerboard(500, random_state=0)
    >>> X_test, y_test = checkerboard(5000, random_state=1)
    >>> model = SVCCV(random_state=0).fit(X, y)
    >>> model.certificate_.status
    'optimal'
    >>> bool(model.score(X_test, y_test) > 0.93)
    True
    """

    _kind = SVC

    def __init__(
        self,
        *,
        Cs: Any = None,
        gammas: Any = None,
        kernel: str = "rbf",
        class_weight: Any = None,
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
        self.kernel = kernel
        self.class_weight = class_weight
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

    def _estimator(self) -> OptimalFit:
        found = super()._estimator()
        found.set_params(class_weight=self.class_weight)
        return found

    def _ranges(self, data: SearchData, rng: np.random.Generator) -> Ranges:
        return kernel_ranges(self, data, rng)

    def decision_function(self, X: Any) -> Floats:
        """Return the decision value of each row, as `SVC.decision_function` does.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        values: Floats = self._svm().decision_function(X)
        return values


register(SVCCV)
