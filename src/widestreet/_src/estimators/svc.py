"""C-support vector classification."""

from __future__ import annotations

from os import PathLike
from typing import Any

from widestreet._src import checks
from widestreet._src.estimators.optimal_classifier import OptimalClassifier
from widestreet._src.problems.formulations import CSVC


class SVC(OptimalClassifier):
    """C-support vector classification, exact and certified.

    Minimises 1/2 |w|^2 + C sum_i weight_i L(1 - y_i (w.phi(x_i) + b)) through its dual, where L(z)
    is max(0, z) for loss="hinge" and max(0, z)^2 for loss="squared_hinge". Training ends when the
    violation of the optimality conditions, recomputed over all rows in float64, is at most `tol`.
    Multiclass problems are solved one-vs-one. Parameters and attributes have the names of
    :class:`sklearn.svm.SVC`.

    Parameters
    ----------
    C : float, default=1.0
        Penalty of margin violations; larger values fit the training rows more closely.
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
        Largest violation of the optimality conditions allowed, over all rows.
    gap_tol : float or None, default=0.01
        Largest duality gap allowed, relative to the objective. None ends a fit by `tol` alone.
    cache_size : float, default=None
        Memory limit in megabytes, used if `max_memory` is None.
    class_weight : dict or "balanced", default=None
        Factors of C for the classes.
    verbose : int or bool, default=False
        1 shows a progress bar, 2 prints a line per round as well.
    max_iter : int, default=-1
        Limit on SMO pair steps for each pair of classes; -1 means no limit.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        For more than two classes: return a decision value for each class ("ovr") or for each pair
        of classes ("ovo").
    break_ties : bool, default=False
        For more than two classes: break ties between equal numbers of votes by the sums of the
        decision values. If False, the first of the tied classes wins.
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
    loss : {"hinge", "squared_hinge"}, default="hinge"
        Loss of a row that violates its margin by z: C z ("hinge") or C z^2 ("squared_hinge"), as in
        `sklearn.svm.LinearSVC`.

    Attributes
    ----------
    classes_ : ndarray
        Labels of the classes that have a row of positive weight.
    support_ : ndarray of shape (n_SV,)
        Indices of the support vectors, class by class.
    support_vectors_ : ndarray or sparse matrix of shape (n_SV, n_features)
    n_support_ : ndarray of shape (n_classes,)
        Number of support vectors of each class.
    dual_coef_ : ndarray or sparse matrix of shape (n_classes - 1, n_SV)
        Coefficients of the support vectors. Line l holds, for each support vector, the coefficient
        for the pair of its own class and the l-th other class.
    intercept_ : ndarray of shape (n_pairs,)
        Intercepts for the pairs of classes (0, 1), (0, 2), ..., (1, 2), ...
    coef_ : ndarray or sparse matrix of shape (n_pairs, n_features)
        Weights of the features, for the linear kernel only.
    class_weight_ : ndarray of shape (n_classes,)
    certificate_ : Certificate
        Proved bounds on the objective, the gap and the violation, and the status. For more than two
        classes, the worst of `certificates_`.
    certificates_ : list of Certificate
        Certificate of each pair of classes.
    trace_ : Trace
        One record per round; `to_frame()` returns it as a pandas DataFrame.
    n_iter_ : ndarray of shape (n_pairs,)
        Number of SMO pair steps for each pair of classes.
    n_kernel_values_ : int
        Number of kernel values computed, including those of the certificate.
    fit_status_ : int
        0 if the status is "optimal" or "approximate", 1 otherwise.
    shape_fit_ : tuple of int
        Shape of the training data.

    Examples
    --------
    >>> from widestreet import SVC
    >>> from widestreet.datasets import checkerboard
    >>> X, y = checkerboard(2000, random_state=0)
    >>> model = SVC(C=100, gamma=2.0).fit(X, y)
    >>> model.certificate_.status
    'optimal'
    >>> bool(model.score(X, y) > 0.97)
    True
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
        gap_tol: float | None = 0.01,
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
        scratch: str | PathLike[str] | None = None,
        n_jobs: int | None = None,
        device: str = "cpu",
        on_interrupt: str = "raise",
        warm_start: bool = False,
        loss: str = "hinge",
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.tol = tol
        self.gap_tol = gap_tol
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
        self.scratch = scratch
        self.n_jobs = n_jobs
        self.device = device
        self.on_interrupt = on_interrupt
        self.warm_start = warm_start
        self.loss = loss

    def _formulation(self) -> CSVC:
        loss = checks.require_choice("loss", self.loss, ("hinge", "squared_hinge"))
        return CSVC(
            C=checks.require_real("C", self.C, above=0.0),
            loss="linear" if loss == "hinge" else "squared",
        )
