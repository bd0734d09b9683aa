"""C-support vector classification."""

from __future__ import annotations

from typing import Any

from widestreet._src.estimators import validation
from widestreet._src.estimators.batch_classifier import BatchClassifier
from widestreet._src.problems.formulations import CSVC


class SVC(BatchClassifier):
    """C-support vector classification, exact and certified.

    Minimises 1/2 |w|^2 + C sum_i weight_i max(0, 1 - y_i (w.phi(x_i) + b)) through its dual, until
    the violation of the optimality conditions, recomputed over all rows in float64, is at most
    `tol`. More than two classes are trained one against one. The names are those of
    :class:`sklearn.svm.SVC`.

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
    gap_tol : float or None, default=0.01
        Duality gap to reach, relative to the objective: no model can be better by more than this
        part. None ends a fit by `tol` alone.
    cache_size : float, default=None
        Megabytes; used as `max_memory` where that is not given.
    class_weight : dict or "balanced", default=None
        Multiplies C for each class.
    verbose : int or bool, default=False
        1 shows a progress bar, 2 also a line per round.
    max_iter : int, default=-1
        Limit on pair steps for each pair of classes; -1 is no limit.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        For more than two classes: a decision value for each class, or for each pair of them.
    break_ties : bool, default=False
        For more than two classes: whether equal numbers of votes are decided by the sums of the
        decision values instead of the order of the classes.
    random_state : int, RandomState or None, default=None
        Which rows are looked at first. The result is deterministic for a given value and number
        of threads.
    strategy : str or Strategy, default="auto"
        How rows are picked: "auto", "smo", "isvm", "randsvm", "rsvm", "prsvm", or an object from
        `widestreet.strategies`.
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
    warm_start : bool, default=False
        Whether a refit on as many rows begins at the last solution, scaled to the new C. The
        result is the same, sooner: for grids over parameters.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        What a violation of the margin z costs: C z, or C z^2 as in `sklearn.svm.LinearSVC`.

    Attributes
    ----------
    classes_ : ndarray
        Labels of the classes that have a row of positive weight.
    support_ : ndarray of shape (n_SV,)
        Indices of the support vectors, class by class.
    support_vectors_ : ndarray or sparse matrix of shape (n_SV, n_features)
    n_support_ : ndarray of shape (n_classes,)
        Support vectors of each class.
    dual_coef_ : ndarray or sparse matrix of shape (n_classes - 1, n_SV)
        Coefficients; line l of a support vector belongs to the pair of its class and the l-th of
        the others.
    intercept_ : ndarray of shape (n_pairs,)
        For the pairs of classes (0, 1), (0, 2), ..., (1, 2), ...
    coef_ : ndarray or sparse matrix of shape (n_pairs, n_features)
        For the linear kernel only.
    class_weight_ : ndarray of shape (n_classes,)
    certificate_ : Certificate
        What was proved: objectives, gap, violation, status. Of several pairs, the worst.
    certificates_ : list of Certificate
        One for each pair of classes.
    trace_ : Trace
        One record per round; `to_frame()` makes a data frame of it.
    n_iter_ : ndarray of shape (n_pairs,)
        Pair steps for each pair.
    n_kernel_values_ : int
        Kernel values computed, the certificate's included.
    fit_status_ : int
        0 if the certificate says "optimal", or "approximate" as asked for; 1 otherwise.
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
        self.n_jobs = n_jobs
        self.device = device
        self.on_interrupt = on_interrupt
        self.warm_start = warm_start
        self.loss = loss

    def _formulation(self) -> CSVC:
        loss = validation.require_choice("loss", self.loss, ("hinge", "squared_hinge"))
        return CSVC(
            C=validation.require_real("C", self.C, above=0.0),
            loss="linear" if loss == "hinge" else "squared",
        )
