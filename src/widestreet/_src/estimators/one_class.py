"""One-class support vector machine."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np

from widestreet._src import checks
from widestreet._src.estimators.callbacks import with_callbacks
from widestreet._src.estimators.optimal import OptimalFit
from widestreet._src.estimators.outlier_detector import OutlierDetector
from widestreet._src.estimators.starting import check_start
from widestreet._src.estimators.stored import fit_stored, in_memory, is_stored
from widestreet._src.problems.formulations import OneClass


class OneClassSVM(OptimalFit, OutlierDetector):
    """One-class SVM for outlier detection, exact and certified.

    Training finds a region that contains most rows; rows outside the region are outliers. At most a
    fraction `nu` of the training rows (by weight) are outliers, and at least a fraction `nu` are
    support vectors. Parameters and attributes have the names of :class:`sklearn.svm.OneClassSVM`.

    Parameters
    ----------
    kernel : {"linear", "poly", "rbf", "sigmoid", "laplacian", "precomputed"} or callable, \
default="rbf"
        Kernel function. A callable takes two blocks of rows and returns the matrix of their kernel
        values.
    degree : int, default=3
        Degree of the polynomial kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of the kernel. "scale" is 1 / (columns * variance of X), with the variance
        weighted by `sample_weight`; "auto" is 1 / columns.
    coef0 : float, default=0.0
        Constant in the polynomial and the sigmoid kernel.
    tol : float, default=1e-3
        Largest violation of the optimality conditions allowed, over all rows.
    gap_tol : float or None, default=0.01
        Largest duality gap allowed, relative to the objective. None ends a fit by `tol` alone.
    nu : float, default=0.5
        Upper bound on the fraction of rows outside and lower bound on the fraction of support
        vectors, by weight; above 0 and at most 1.
    shrinking : bool, default=True
        If True, rows that are far from violating the optimality conditions are not scanned in every
        round. The certificate examines them in any case.
    cache_size : float, default=None
        Memory limit in megabytes, used if `max_memory` is None.
    verbose : int or bool, default=False
        1 shows a progress bar, 2 prints a line per round as well.
    max_iter : int, default=-1
        Limit on SMO pair steps; -1 means no limit.
    random_state : int, RandomState or None, default=None
        Seed of the order in which rows are scanned. The result is deterministic for a given value
        and number of threads.
    strategy : str or Strategy, default="auto"
        Selection of rows for the working set, or another method: "auto", "interior", "smo", "isvm",
        "randsvm", "rsvm", "prsvm", or an object from `widestreet.strategies`.
    max_time : float, default=None
        Time limit in seconds, after which training stops with the best model so far.
    max_memory : int, float or str, default=None
        Memory limit in bytes, or a string such as "2GB", for everything beside the data; for rows
        from `open_rows` the data count, too. The default is a quarter of the memory of the
        machine, or of the container in which the process runs.
    scratch : str or path, default=None
        Directory of the temporary file for rows that do not fit into `max_memory`; None is that of
        `tempfile.gettempdir()`.
    n_jobs : int, default=None
        Number of threads; None uses all processors available to the process.
    device : {"cpu", "cuda", "auto"}, default="cpu"
        Device that scans rows and certifies the model: "cuda" is an NVIDIA GPU, which needs the
        extra `gpu`; "auto" is the GPU if there is one and the fit is large, otherwise the CPU.
    on_interrupt : {"raise", "keep"}, default="raise"
        Action after Ctrl-C: "raise" raises KeyboardInterrupt, "keep" does not. The estimator holds
        the best model so far in both cases.
    warm_start : bool, default=False
        If True, a refit on the same number of rows starts from the last solution, scaled to the new
        nu. This makes parameter grids faster and does not change the result.

    Attributes
    ----------
    support_ : ndarray of shape (n_SV,)
    support_vectors_ : ndarray or sparse matrix of shape (n_SV, n_features)
    n_support_ : ndarray of shape (1,)
    dual_coef_ : ndarray or sparse matrix of shape (1, n_SV)
    intercept_ : ndarray of shape (1,)
    coef_ : ndarray or sparse matrix of shape (1, n_features)
        Weights of the features, for the linear kernel only.
    offset_ : ndarray of shape (1,)
        Value of `score_samples` on the boundary of the region: decision_function = score_samples -
        offset_.
    certificate_ : Certificate
        Proved bounds on the objective, the gap and the violation, and the status.
    certificates_ : list of Certificate
        List that contains `certificate_`.
    trace_ : Trace
        One record per round; `to_frame()` returns it as a pandas DataFrame.
    n_iter_ : int
        Number of SMO pair steps.
    n_kernel_values_ : int
        Number of kernel values computed, including those of the certificate.
    fit_status_ : int
        0 if the status is "optimal" or "approximate", 1 otherwise.
    shape_fit_ : tuple of int
        Shape of the training data.

    Examples
    --------
    >>> import numpy as np
    >>> from widestreet import OneClassSVM
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> model = OneClassSVM(nu=0.1).fit(X)
    >>> model.predict([[0.0, 0.0], [9.0, 9.0]])
    array([ 1, -1])
    """

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        gap_tol: float | None = 0.01,
        nu: float = 0.5,
        shrinking: bool = True,
        cache_size: float | None = None,
        verbose: int | bool = False,
        max_iter: int = -1,
        random_state: Any = None,
        strategy: Any = "auto",
        max_time: float | None = None,
        max_memory: int | float | str | None = None,
        scratch: str | PathLike[str] | None = None,
        n_jobs: int | None = None,
        device: str = "cpu",
        on_interrupt: str = "raise",
        warm_start: bool = False,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.gap_tol = gap_tol
        self.nu = nu
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.random_state = random_state
        self.strategy = strategy
        self.max_time = max_time
        self.max_memory = max_memory
        self.scratch = scratch
        self.n_jobs = n_jobs
        self.device = device
        self.on_interrupt = on_interrupt
        self.warm_start = warm_start

    def _formulation(self) -> OneClass:
        return OneClass(nu=checks.require_real("nu", self.nu, above=0.0, most=1.0))

    @with_callbacks
    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, start: Any = None
    ) -> OneClassSVM:
        """Train on rows X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or from `open_rows`
            Training rows, or the square kernel matrix for kernel="precomputed".
        y : object, default=None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. A weight of two has the effect of a repeated row, a weight of zero
            that of a missing row.
        start : estimator, default=None
            Fitted model of the same kind, of this package or of scikit-learn, from whose solution
            training starts. Its support vectors must be among the rows; its parameters may differ.
            The result does not depend on it.

        Returns
        -------
        OneClassSVM
            The fitted estimator itself.
        """
        settings, formulation = self._settings(), self._formulation()
        check_start(self, start)
        if is_stored(self, X, settings):
            check_start(self, start, stored=True)
            fit_stored(self, (X, None, sample_weight), settings, formulation)
            return self
        given, names = in_memory(X, None, sample_weight, settings)
        X, seen = self._validated(self._lent(given[0]), names=names)
        target = np.zeros(X.shape[0])
        self._fit_one_problem(given, X, seen, target, settings, formulation, start)
        return self
