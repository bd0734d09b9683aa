"""Exact solutions for every value of a parameter in an interval."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.multiclass import type_of_target

from widestreet._src import checks
from widestreet._src.engines.homotopy.parametric_optimum import Endpoint, PathSegment
from widestreet._src.estimators.model import KernelModel
from widestreet._src.estimators.nu_svc import NuSVC
from widestreet._src.estimators.nu_svr import NuSVR
from widestreet._src.estimators.online.change import indefinite_kernels_named
from widestreet._src.estimators.online.machine import OnlineMachine
from widestreet._src.estimators.online.nu_svc import OnlineNuSVC
from widestreet._src.estimators.online.nu_svr import OnlineNuSVR
from widestreet._src.estimators.online.path_optimum import PathOptimum
from widestreet._src.estimators.online.state import OnlineState
from widestreet._src.estimators.online.svc import OnlineSVC
from widestreet._src.estimators.online.svr import OnlineSVR
from widestreet._src.estimators.regularization_result import (
    Leg,
    ModelFamily,
    RegularizationPath,
)
from widestreet._src.estimators.svc import SVC
from widestreet._src.estimators.svr import SVR
from widestreet._src.threads import limited_blas

_LEG_RATIO = 10.0  # largest ratio of the values of C at the two ends of a leg


def regularization_path(
    X: Any,
    y: Any,
    *,
    kernel: Any = "rbf",
    degree: int = 3,
    gamma: float | str = "scale",
    coef0: float = 0.0,
    C_min: float | None = None,
    C_max: float | None = None,
    epsilon_min: float | None = None,
    epsilon_max: float | None = None,
    nu_min: float | None = None,
    nu_max: float | None = None,
    C: float = 1.0,
    epsilon: float = 0.1,
    task: str | None = None,
    sample_weight: Any = None,
    n_jobs: int | None = None,
) -> RegularizationPath:
    """Compute the exact solution for every C, epsilon or nu in an interval.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Labels of two classes, or targets.
    kernel, degree, gamma, coef0
        Same as for `SVC`. The kernel must be positive semidefinite.
    C_min, C_max : float
        Ends of a path over C.
    epsilon_min, epsilon_max : float
        Ends of a path over epsilon, for `SVR`.
    nu_min, nu_max : float
        Ends of a path over nu, for `NuSVC` or `NuSVR`.
    C : float, default=1.0
        Value of C in paths over epsilon, and in paths over nu for `NuSVR`.
    epsilon : float, default=0.1
        Value of epsilon in paths over C for `SVR`.
    task : {"classification", "regression"}, optional
        Kind of the problem. The default is "regression" for paths over epsilon and
        "classification" otherwise.
    sample_weight : array-like of shape (n_samples,), default=None
    n_jobs : int, default=None

    Returns
    -------
    RegularizationPath

    Examples
    --------
    >>> import widestreet as ws
    >>> from widestreet.datasets import checkerboard
    >>> X, y = checkerboard(200, random_state=0)
    >>> path = ws.regularization_path(X, y, gamma=2.0, C_min=0.1, C_max=100)
    >>> path.model_at(7.0).certificate_.status
    'optimal'
    """
    ranges = {"C": (C_min, C_max), "epsilon": (epsilon_min, epsilon_max), "nu": (nu_min, nu_max)}
    asked = {name: ends for name, ends in ranges.items() if any(end is not None for end in ends)}
    if len(asked) != 1:
        raise ValueError("give the two ends of one parameter, for example C_min and C_max")
    [(parameter, ends)] = asked.items()
    if any(end is None for end in ends):
        raise ValueError(f"{parameter}_min and {parameter}_max must both be given")
    low = checks.require_real(
        f"{parameter}_min", ends[0], above=None if parameter == "epsilon" else 0.0
    )
    most = 1.0 if parameter == "nu" else None
    high = checks.require_real(f"{parameter}_max", ends[1], most=most)
    if high <= low:
        raise ValueError(
            f"{parameter}_max={high!r} must be greater than {parameter}_min={low!r}: a path goes "
            "from the smaller value to the larger one; exchange or change the two"
        )
    if task is None:
        task = "regression" if parameter == "epsilon" else "classification"
    if y is None:
        raise ValueError("y must be labels or targets, got None")
    checks.require_choice("task", task, ("classification", "regression"))
    if parameter == "epsilon" and task == "classification":
        raise ValueError("epsilon_min and epsilon_max belong to task='regression'")
    if task == "classification" and type_of_target(y, input_name="y").startswith("continuous"):
        raise ValueError("y has continuous targets, not classes: pass task='regression'")
    shared = {"kernel": kernel, "degree": degree, "gamma": gamma, "coef0": coef0, "n_jobs": n_jobs}
    machine, plain = _machines(parameter, task, low, C, epsilon, shared)
    return _follow(machine, plain, parameter, (X, y, sample_weight), low, high)


def _machines(
    parameter: str, task: str, low: float, C: float, epsilon: float, shared: dict[str, Any]
) -> tuple[OnlineMachine, type[KernelModel]]:
    """Return the online estimator at the start of a path, and the class of the models."""
    if task == "classification":
        if parameter == "nu":
            return OnlineNuSVC(nu=low, **shared), NuSVC
        return OnlineSVC(C=low, **shared), SVC
    if parameter == "nu":
        return OnlineNuSVR(nu=low, C=C, **shared), NuSVR
    if parameter == "C":
        return OnlineSVR(C=low, epsilon=epsilon, **shared), SVR
    return OnlineSVR(C=C, epsilon=low, **shared), SVR


def _follow(
    machine: Any,
    plain: type[KernelModel],
    parameter: str,
    data: tuple[Any, Any, Any],
    low: float,
    high: float,
) -> RegularizationPath:
    """Train at one end of a path and follow the optimum to the other end."""
    state: OnlineState = machine.fit(*data)._state
    if len(state.optima) != 1 or (state.classes is not None and len(state.classes) != 2):
        raise ValueError(
            f"y must have two classes, got {len(state.classes)}: a path has one problem; use the "
            "rows of two classes, or one class against the rest"
        )
    [(key, optimum)] = state.optima.items()
    assert isinstance(optimum, PathOptimum)
    family = ModelFamily(machine, plain, parameter, key)
    largest = family.largest_nu(high)
    if largest is not None:
        raise ValueError(
            f"nu_max={high!r} is infeasible: the largest possible nu for these labels and "
            f"weights is {largest!r}"
        )
    legs = []
    stops = _stops(parameter, low, high)
    with limited_blas(1), indefinite_kernels_named(state.store):
        for start, stop in zip([low, *stops], stops, strict=False):
            segments: list[PathSegment] = []
            optimum.path.follow(Endpoint.of(family.dual(stop)), observe=segments.append)
            legs.append(Leg(start, stop, segments, [s.theta for s in segments]))
    return RegularizationPath(parameter, family, legs)


def _stops(parameter: str, low: float, high: float) -> list[float]:
    """Return the ends of the legs: at most a factor of `_LEG_RATIO` in C each."""
    if parameter != "C":
        return [high]
    count = int(np.ceil(np.log(high / low) / np.log(_LEG_RATIO)))
    return [*np.geomspace(low, high, count + 1)[1:-1].tolist(), high]
