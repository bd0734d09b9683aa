"""Nu-support vector regression whose rows come and go."""

from __future__ import annotations

from functools import partial
from typing import Any

from widestreet.arrays import Floats
from widestreet.duals import Dual, nu_svr
from widestreet.estimators import checks
from widestreet.estimators.nu_svr import NuSVR
from widestreet.estimators.online.optimum import MakeDual
from widestreet.estimators.online.regressor import OnlineRegressor


class OnlineNuSVR(OnlineRegressor, NuSVR):
    """Nu-support vector regression, exact after every row that comes or goes.

    Parameters
    ----------
    nu : float, default=0.5
        Bounds the part of the rows outside the tube from above, that of the support vectors from
        below.
    C : float, default=1.0
        Price of a residual beyond the tube.
    scaling : {"libsvm", "schoelkopf"}, default="libsvm"
        What C means: the price of a residual, as everywhere else, or that of their mean, C divided
        by the sum of the weights, as in the papers that introduced the machine. Then every row
        that comes makes all others cheaper.
    kernel : {"rbf", "linear", "poly", "laplacian"} or callable, default="rbf"
        It must be positive semidefinite.
    degree : int, default=3
        Of the polynomial kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        "scale" and "auto" are computed from the first rows and kept.
    coef0 : float, default=0.0
        Constant in the polynomial kernel; not negative.
    tol : float, default=1e-8
        What `verify` calls optimal, in parts of the largest target.
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
    >>> from widestreet.datasets import friedman
    >>> from widestreet.online import OnlineNuSVR
    >>> X, y = friedman(300, random_state=0)
    >>> model = OnlineNuSVR(C=10, nu=0.3).fit(X[:200], y[:200])
    >>> model.partial_fit(X[200:], y[200:]).verify().status
    'optimal'
    >>> bool(model.epsilon_ > 0)
    True
    """

    def __init__(
        self,
        *,
        nu: float = 0.5,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        tol: float = 1e-8,
        scaling: str = "libsvm",
        max_rows: int | None = None,
        random_state: Any = None,
        max_memory: int | float | str | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.nu = nu
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.scaling = scaling
        self.max_rows = max_rows
        self.random_state = random_state
        self.max_memory = max_memory
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        super()._check_parameters()
        checks.require_choice("scaling", self.scaling, ("libsvm", "schoelkopf"))

    def _make(self, key: Any) -> MakeDual:
        return partial(_nu_svr_dual, float(self.C), float(self.nu), self.scaling == "schoelkopf")


def _nu_svr_dual(C: float, nu: float, mean: bool, y: Floats, weight: Floats) -> Dual:
    return nu_svr(y, C / float(weight.sum()) if mean else C, nu, weight)
