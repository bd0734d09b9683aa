"""Nu-support vector classification whose rows come and go."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np

from widestreet._src.arrays import Floats
from widestreet._src.estimators import validation
from widestreet._src.estimators.nu_svc import NuSVC
from widestreet._src.estimators.online.classifier import OnlineClassifier
from widestreet._src.estimators.online.machine import level_of_caller
from widestreet._src.estimators.online.optimum import MakeDual
from widestreet._src.problems.dual import Dual
from widestreet._src.problems.formulations import nu_svc


class OnlineNuSVC(OnlineClassifier, NuSVC):
    """Nu-support vector classification, exact after every row that comes or goes.

    Parameters
    ----------
    nu : float, default=0.5
        Where the classes are too uneven for it, the largest value they allow is used, with a
        warning.
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
    class_weight : dict, default=None
    max_rows : int, default=None
        Rows to keep: the oldest are forgotten as new ones come.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
    break_ties : bool, default=False
    random_state : int, RandomState or None, default=None
        For the batch engine, which finds the first optimum.
    max_memory : int, float or str, default=None
        For the batch engine.
    n_jobs : int, default=None
        Threads; None uses every processor available to the process.

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

    def _check_parameters(self) -> None:
        super()._check_parameters()
        validation.require_real("nu", self.nu, above=0.0, most=1.0)

    def _make(self, key: Any) -> MakeDual:
        return partial(_nu_svc_dual, key[0], self._factors(key), float(self.nu))

    def _publish(self) -> None:
        super()._publish()
        low = self._names(
            pair
            for pair, exact in self._problems.items()
            if largest_nu(exact.dual.upper[0] > 0, np.abs(exact.dual.lower + exact.dual.upper)[0])
            < float(self.nu) * (1 - 1e-12)
        )
        if low:
            warnings.warn(
                f"nu={self.nu!r} is infeasible for {', '.join(low[:5])}: one class has too few "
                "rows; the largest possible value is used until it has more",
                UserWarning,
                stacklevel=level_of_caller(),
            )
        closed = self._names(
            pair for pair, exact in self._problems.items() if self._read(exact.bias)[1] is None
        )
        self._warn_of_closed(closed, 1 + level_of_caller())

    def _names(self, found: Iterable[tuple[int, int]]) -> list[str]:
        return [f"{self.classes_[i]} against {self.classes_[j]}" for i, j in found]


def _nu_svc_dual(
    first: int, factors: tuple[float, float], nu: float, code: Floats, weight: Floats
) -> Dual:
    sign, box = np.where(code == first, -1.0, 1.0), weight * np.where(code == first, *factors)
    return nu_svc(sign, min(nu, largest_nu(sign, box)), box)


def largest_nu(sign: Any, box: Floats) -> float:
    """The largest nu that two classes allow."""
    plus = float(box[np.asarray(sign) > 0].sum())
    return 2.0 * min(plus, float(box.sum()) - plus) / float(box.sum())
