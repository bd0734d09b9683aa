"""Online C-support vector classification."""

from __future__ import annotations

from typing import Any

from widestreet._src import checks
from widestreet._src.estimators.online.classifier import OnlineClassifier
from widestreet._src.problems.formulations import CSVC


class OnlineSVC(OnlineClassifier):
    """C-support vector classification, exact after every added or removed row.

    Parameters
    ----------
    C : float, default=1.0
        Penalty of margin violations. After `set_params(C=...)` the next call moves to the optimum
        for the new value.
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
    class_weight : dict, default=None
        Factors of the sample weights for the classes.
    max_rows : int, default=None
        Largest number of rows stored. When more are added, the oldest are removed.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Same as for `SVC`.
    break_ties : bool, default=False
        Same as for `SVC`.
    random_state : int, RandomState or None, default=None
        Seed of the batch engine, which computes the first optimum.
    max_memory : int, float or str, default=None
        Memory limit of the batch engine, in bytes or a string such as "2GB".
    n_jobs : int, default=None
        Number of threads; None uses all processors available to the process.

    Examples
    --------
    >>> from widestreet.datasets import checkerboard
    >>> from widestreet.online import OnlineSVC
    >>> X, y = checkerboard(300, random_state=0)
    >>> model = OnlineSVC(C=10, gamma=2.0).fit(X[:200], y[:200])
    >>> model.partial_fit(X[200:], y[200:]).verify().status
    'optimal'
    >>> model.forget(range(50)).n_rows_
    250
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        tol: float = 1e-8,
        class_weight: Any = None,
        max_rows: int | None = None,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        max_memory: int | float | str | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.class_weight = class_weight
        self.max_rows = max_rows
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.max_memory = max_memory
        self.n_jobs = n_jobs

    def _formulation(self) -> CSVC:
        return CSVC(C=checks.require_real("C", self.C, above=0.0))
