"""Online nu-support vector classification."""

from __future__ import annotations

import warnings
from typing import Any

from widestreet._src import checks
from widestreet._src.estimators.online.classifier import OnlineClassifier
from widestreet._src.estimators.online.state import OnlineState
from widestreet._src.problems.formulations import NuSVC
from widestreet._src.stacklevel import level_of_caller


class OnlineNuSVC(OnlineClassifier):
    """Nu-support vector classification, exact after every added or removed row.

    Parameters
    ----------
    nu : float, default=0.5
        Upper bound on the fraction of margin errors and lower bound on the fraction of support
        vectors, by weight. If the classes are too unequal in size for this value, the largest
        feasible value is used, with a warning.
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
    >>> from widestreet.online import OnlineNuSVC
    >>> X, y = checkerboard(300, random_state=0)
    >>> model = OnlineNuSVC(nu=0.3, gamma=2.0).fit(X[:200], y[:200])
    >>> model.partial_fit(X[200:], y[200:]).verify().status
    'optimal'
    """

    def __init__(
        self,
        *,
        nu: float = 0.5,
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
        self.nu = nu
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

    def _formulation(self) -> NuSVC:
        return NuSVC(nu=checks.require_real("nu", self.nu, above=0.0, most=1.0))

    def _warn(self, state: OnlineState) -> None:
        formulation, classes, tol = self._formulation(), state.classes, float(self.tol)
        names = {(i, j): f"{classes[i]} against {classes[j]}" for i, j in state.optima}
        infeasible = [names[pair] for pair, one in state.optima.items() if not one.is_feasible()]
        if infeasible:
            warnings.warn(
                f"nu={self.nu!r} is infeasible for {', '.join(infeasible[:5])}: one class has too "
                "few rows; the largest possible value is used until it has more",
                UserWarning,
                stacklevel=level_of_caller(),
            )
        self._warn_of_zero_margin(
            [
                names[pair]
                for pair, one in state.optima.items()
                if formulation.read(one.bias, tol).margin is None
            ],
            tol,
        )
