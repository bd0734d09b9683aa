"""Nu-support vector regression."""

from __future__ import annotations

from os import PathLike
from typing import Any

from widestreet._src import checks
from widestreet._src.estimators.batch_regressor import BatchRegressor
from widestreet._src.problems import formulations


class NuSVR(BatchRegressor):
    """Nu-support vector regression, exact and certified.

    Like :class:`widestreet.SVR`, with the parameter `nu` instead of `epsilon`: training determines
    the width of the tube such that at most a fraction `nu` of the rows (by weight) lie outside the
    tube and at least a fraction `nu` are support vectors. Parameters and attributes have the names
    of :class:`sklearn.svm.NuSVR`.

    Parameters
    ----------
    nu : float, default=0.5
        Upper bound on the fraction of rows outside and lower bound on the fraction of support
        vectors, by weight; above 0 and at most 1.
    C : float, default=1.0
        Penalty of a residual beyond the tube.
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
    shrinking : bool, default=True
        If True, rows that are far from violating the optimality conditions are not scanned in every
        round. The certificate examines them in any case.
    tol : float, default=1e-3
        Largest violation of the optimality conditions allowed, over all rows, in units of y.
    gap_tol : float or None, default=0.01
        Largest duality gap allowed, relative to the objective. None ends a fit by `tol` alone.
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
        C. This makes parameter grids faster and does not change the result.

    Attributes
    ----------
    support_ : ndarray of shape (n_SV,)
    support_vectors_ : ndarray or sparse matrix of shape (n_SV, n_features)
    n_support_ : ndarray of shape (1,)
    dual_coef_ : ndarray or sparse matrix of shape (1, n_SV)
    intercept_ : ndarray of shape (1,)
    coef_ : ndarray or sparse matrix of shape (1, n_features)
        Weights of the features, for the linear kernel only.
    epsilon_ : float
        Half the width of the tube.
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
    >>> from widestreet import NuSVR
    >>> from widestreet.datasets import friedman
    >>> X, y = friedman(1000, random_state=0)
    >>> model = NuSVR(C=10, gamma=0.5, nu=0.3).fit(X, y)
    >>> model.certificate_.status
    'optimal'
    >>> bool(model.score(X, y) > 0.9)
    True
    """

    epsilon_: float

    def __init__(
        self,
        *,
        nu: float = 0.5,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        tol: float = 1e-3,
        gap_tol: float | None = 0.01,
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
        self.nu = nu
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.tol = tol
        self.gap_tol = gap_tol
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

    def _formulation(self) -> formulations.NuSVR:
        return formulations.NuSVR(
            C=checks.require_real("C", self.C, above=0.0),
            nu=checks.require_real("nu", self.nu, above=0.0, most=1.0),
        )
