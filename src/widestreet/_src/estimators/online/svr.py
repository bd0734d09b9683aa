"""Online epsilon-support vector regression."""

from __future__ import annotations

from typing import Any

from widestreet._src import checks
from widestreet._src.estimators.online.regressor import OnlineRegressor
from widestreet._src.problems.formulations import EpsilonSVR


class OnlineSVR(OnlineRegressor):
    """Epsilon-support vector regression, exact after every added or removed row.

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
        Largest violation of the optimality conditions, relative to max(1, max |y|), at which
        `verify` reports "optimal".
    C : float, default=1.0
        Penalty of a residual beyond epsilon.
    epsilon : float, default=0.1
        Half the width of the tube within which residuals have no loss.
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
    >>> from widestreet.datasets import friedman
    >>> from widestreet.online import OnlineSVR
    >>> X, y = friedman(300, random_state=0)
    >>> model = OnlineSVR(C=10, epsilon=1.0, max_rows=200).fit(X[:200], y[:200])
    >>> model.partial_fit(X[200:], y[200:]).n_rows_
    200
    >>> model.verify().status
    'optimal'
    """

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        tol: float = 1e-8,
        C: float = 1.0,
        epsilon: float = 0.1,
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
        self.C = C
        self.epsilon = epsilon
        self.max_rows = max_rows
        self.random_state = random_state
        self.max_memory = max_memory
        self.n_jobs = n_jobs

    def _formulation(self) -> EpsilonSVR:
        return EpsilonSVR(
            C=checks.require_real("C", self.C, above=0.0),
            epsilon=checks.require_real("epsilon", self.epsilon, least=0.0),
        )
