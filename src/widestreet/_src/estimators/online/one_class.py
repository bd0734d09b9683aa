"""Online one-class support vector machine."""

from __future__ import annotations

from typing import Any, Self

from widestreet._src import checks
from widestreet._src.estimators.online.machine import OnlineMachine
from widestreet._src.estimators.online.tasks import SingleTask
from widestreet._src.estimators.outlier_detector import OutlierDetector
from widestreet._src.problems.formulations import OneClass


class OnlineOneClassSVM(OnlineMachine, OutlierDetector):
    """One-class SVM for outlier detection, exact after every added or removed row.

    Parameters
    ----------
    kernel : {"rbf", "linear", "poly", "laplacian"} or callable, default="rbf"
        Kernel function, which must be positive semidefinite.
    degree : int, default=3
        Degree of the polynomial kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of the kernel. "scale" and "auto" are computed from the rows of the first call
        and then kept.
    coef0 : float, default=0.0
        Constant in the polynomial kernel; not negative.
    tol : float, default=1e-8
        Largest violation of the optimality conditions at which `verify` reports "optimal".
    nu : float, default=0.5
        Upper bound on the fraction of outliers and lower bound on the fraction of support vectors,
        by weight.
    max_rows : int, default=None
        Largest number of rows stored. When more are added, the oldest are removed.
    random_state : int, RandomState or None, default=None
        Seed of the batch engine, which computes the first optimum.
    max_memory : int, float or str, default=None
        Memory limit of the batch engine, in bytes or a string such as "2GB".
    n_jobs : int, default=None
        Number of threads; None uses all processors available to the process.

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
        return OneClass(nu=checks.require_real("nu", self.nu, above=0.0, most=1.0))

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Train on rows X, and remove all rows stored before.

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
        return self._add(X, "no_validation", sample_weight, fresh=True)

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
            File of the journal. The change is recorded in this SQLite database before the call
            returns, so that it survives a crash; `widestreet.online.load` reads it. A call without
            `journal` closes the journal.

        Returns
        -------
        estimator
            The estimator itself.
        """
        return self._add(X, "no_validation", sample_weight, journal)
