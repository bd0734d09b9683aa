"""One-class support vector machine whose rows come and go."""

from __future__ import annotations

from typing import Any, Self

from widestreet._src.estimators import validation
from widestreet._src.estimators.online.machine import OnlineMachine
from widestreet._src.estimators.online.tasks import SingleTask
from widestreet._src.estimators.outlier_detector import OutlierDetector
from widestreet._src.problems.formulations import OneClass


class OnlineOneClassSVM(OnlineMachine, OutlierDetector):
    """The region where rows are dense, exact after every row that comes or goes.

    Parameters
    ----------
    kernel : {"rbf", "linear", "poly", "laplacian"} or callable, default="rbf"
        It must be positive semidefinite.
    degree : int, default=3
        Of the polynomial kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        "scale" and "auto" are computed from the first rows and kept.
    coef0 : float, default=0.0
        Constant in the polynomial kernel; not negative.
    tol : float, default=1e-8
        What `verify` calls optimal.
    nu : float, default=0.5
        Bounds the part of the outliers from above, that of the support vectors from below.
    max_rows : int, default=None
        Rows to keep: the oldest are forgotten as new ones come.
    random_state : int, RandomState or None, default=None
        For the batch engine, which finds the first optimum.
    max_memory : int, float or str, default=None
        For the batch engine.
    n_jobs : int, default=None
        Threads; None uses every processor available to the process.

    Examples
    --------
    >>> import numpy as np
    >>> from widestreet.online import OnlineOneClassSVM
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> model = OnlineOneClassSVM(nu=0.1).fit(X[:200])
    >>> model.partial_fit(X[200:]).predict([[0.0, 0.0], [9.0, 9.0]])
    array([ 1, -1])
    """

    _task = SingleTask(has_targets=False)

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        tol: float = 1e-8,
        nu: float = 0.5,
        max_rows: int | None = None,
        random_state: Any = None,
        max_memory: int | float | str | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.nu = nu
        self.max_rows = max_rows
        self.random_state = random_state
        self.max_memory = max_memory
        self.n_jobs = n_jobs

    def _formulation(self) -> OneClass:
        return OneClass(nu=validation.require_real("nu", self.nu, above=0.0, most=1.0))

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the region of rows X, and forget all others.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : object, default=None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        estimator
            The estimator itself.
        """
        return self._fit(X, "no_validation", sample_weight)

    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, journal: Any = None
    ) -> Self:
        """Add rows: the model becomes the one that `fit` would find on all stored rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : object, default=None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
        journal : str or path-like, default=None
            A file in which this call is recorded before it returns, so that no crash loses it;
            `widestreet.online.load` reads it. A call without it closes the journal.

        Returns
        -------
        estimator
            The estimator itself.
        """
        return self._partial_fit(X, "no_validation", sample_weight, journal)
