"""C-support vector classification."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from widestreet.arrays import Floats
from widestreet.duals import c_svc
from widestreet.estimators import checks
from widestreet.estimators.base import KernelMachine


class SVC(ClassifierMixin, KernelMachine):
    """C-support vector classification of two classes, exact and certified.

    Minimises 1/2 |w|^2 + C sum_i weight_i max(0, 1 - y_i (w.phi(x_i) + b)) through its dual, until
    the violation of the optimality conditions, recomputed over all rows in float64, is at most
    `tol`. The names are those of :class:`sklearn.svm.SVC`.

    Parameters
    ----------
    C : float, default=1.0
        Price of a violated margin; larger values fit the training rows more closely.
    kernel : {"linear", "poly", "rbf", "sigmoid", "laplacian", "precomputed"} or callable, \
default="rbf"
        A callable takes two blocks of rows and returns the matrix of their kernel values.
    degree : int, default=3
        Of the polynomial kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        "scale" is 1 / (columns * variance of X), with the variance weighted by `sample_weight`;
        "auto" is 1 / columns.
    coef0 : float, default=0.0
        Constant in the polynomial and the sigmoid kernel.
    shrinking : bool, default=True
        Whether rows may be skipped that provably cannot have become violators.
    tol : float, default=1e-3
        Violation of the optimality conditions to reach over all rows.
    cache_size : float, default=None
        Megabytes; used as `max_memory` where that is not given.
    class_weight : dict or "balanced", default=None
        Multiplies C for each class.
    verbose : int or bool, default=False
        1 shows a progress bar, 2 also a line per round.
    max_iter : int, default=-1
        Limit on pair steps; -1 is no limit.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        The same for two classes.
    break_ties : bool, default=False
        There are none between two classes.
    random_state : int, RandomState or None, default=None
        Which rows are looked at first. The result is deterministic for a given value and number
        of threads.
    strategy : str or Strategy, default="auto"
        How rows are picked: "auto", "smo", or an object from `widestreet.strategies`.
    max_time : float, default=None
        Seconds after which training stops with the best model so far.
    max_memory : int, float or str, default=None
        Bytes, or a string such as "2GB", for everything beside the data; a quarter of the
        machine's memory by default.
    n_jobs : int, default=None
        Threads; None uses every processor available to the process.
    device : {"cpu"}, default="cpu"
        Where kernel values are computed.
    on_interrupt : {"raise", "keep"}, default="raise"
        After Ctrl-C the model is complete and usable in both cases; "keep" also swallows the
        KeyboardInterrupt.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    support_ : ndarray of shape (n_SV,)
        Indices of the support vectors, those of the first class first.
    support_vectors_ : ndarray or sparse matrix of shape (n_SV, n_features)
    n_support_ : ndarray of shape (2,)
    dual_coef_ : ndarray of shape (1, n_SV)
    intercept_ : ndarray of shape (1,)
    coef_ : ndarray of shape (1, n_features)
        For the linear kernel only.
    class_weight_ : ndarray of shape (2,)
    certificate_ : Certificate
        What was proved: objectives, gap, violation, status.
    trace_ : Trace
        One record per round; `to_frame()` makes a data frame of it.
    n_iter_ : ndarray of shape (1,)
        Pair steps.
    n_kernel_values_ : int
        Kernel values computed, the certificate's included.
    fit_status_ : int
        0 if the certificate says "optimal", 1 otherwise.
    shape_fit_ : tuple of int
        Shape of the training data.

    Examples
    --------
    >>> from widestreet import SVC
    >>> from widestreet.datasets import checkerboard
    >>> X, y = checkerboard(1000, random_state=0)
    >>> model = SVC(C=100, gamma=2.0).fit(X, y)
    >>> model.certificate_.status
    'optimal'
    >>> bool(model.certificate_.kkt_violation <= 1e-3)
    True
    >>> model.predict([[0.5, 0.5], [0.5, 1.5]])
    array([ 1, -1])
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        tol: float = 1e-3,
        cache_size: float | None = None,
        class_weight: Any = None,
        verbose: int | bool = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        strategy: Any = "auto",
        max_time: float | None = None,
        max_memory: int | float | str | None = None,
        n_jobs: int | None = None,
        device: str = "cpu",
        on_interrupt: str = "raise",
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.strategy = strategy
        self.max_time = max_time
        self.max_memory = max_memory
        self.n_jobs = n_jobs
        self.device = device
        self.on_interrupt = on_interrupt

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SVC:
        """Train on rows X with labels y.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Or the square kernel matrix, for kernel="precomputed".
        y : array-like of shape (n_samples,)
            Labels of two classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Multiplies C row by row: a weight of two is the same as a repeated row, a weight of
            zero the same as a missing one.

        Returns
        -------
        SVC
            The fitted estimator itself.
        """
        settings = self._settings()
        checks.require_choice(
            "decision_function_shape", self.decision_function_shape, ("ovr", "ovo")
        )
        checks.require_flag("break_ties", self.break_ties)
        checks.check_class_weight(self.class_weight)
        C = checks.require_real("C", self.C, above=0.0)
        X, y = self._validated(X, y)
        check_classification_targets(y)
        weight = checks.check_weight(sample_weight, X.shape[0])
        classes, sign = _encode(y, weight)
        class_weight = compute_class_weight(
            self.class_weight, classes=classes, y=y, sample_weight=weight
        )
        box = C * class_weight[(sign > 0).astype(int)] * weight
        prepared = self._prepare(X, sign, weight, box, settings.threads)
        dual = c_svc(sign[prepared.merged.kept], prepared.merged.box)
        trained = self._fit_dual(X, prepared, dual, settings, side=sign)
        second = sign[self.support_] > 0
        self.classes_ = classes
        self.class_weight_ = class_weight
        self.n_support_ = np.array([(~second).sum(), second.sum()], dtype=np.int32)
        self.intercept_ = trained.bias.copy()
        self.n_iter_ = np.array([trained.solution.pair_steps], dtype=np.int64)
        self._finish()
        return self

    def decision_function(self, X: Any) -> Floats:
        """Signed distance to the middle of the street, in units of half its width.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
            Positive for the second class.
        """
        return self._scores(X) + float(self.intercept_[0])

    def predict(self, X: Any) -> Any:
        """Return the class of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        side = self.decision_function(X) > 0
        return self.classes_[side.astype(int)]


def _encode(y: Any, weight: Floats) -> tuple[Any, Floats]:
    """The two classes, and labels as -1 and +1."""
    classes, code = np.unique(y, return_inverse=True)
    if len(classes) > 2:
        raise ValueError(
            f"y: Only binary classification is supported, but there are {len(classes)} "
            "classes; wrap the estimator in sklearn.multiclass.OneVsOneClassifier"
        )
    present = np.unique(code[weight > 0])
    if len(present) < 2:
        only = f"{len(present)} class: {classes[present][0]}"
        raise ValueError(
            f"y must contain two classes with a positive weight, got {only}; a classifier "
            "needs rows of both"
        )
    return classes, np.where(code == 1, 1.0, -1.0)
