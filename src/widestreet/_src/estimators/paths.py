"""Machines led along a parameter, and the verdict of models that left one row out."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from sklearn.utils.multiclass import type_of_target

from widestreet._src.arrays import Floats
from widestreet._src.certificate import examine
from widestreet._src.engines.homotopy.parametric_optimum import Endpoint, PathSegment
from widestreet._src.estimators import SVC, SVR, NuSVC, NuSVR, OneClassSVM, validation
from widestreet._src.estimators.base import KernelMachine
from widestreet._src.estimators.online.machine import OnlineMachine
from widestreet._src.estimators.online.nu_svc import OnlineNuSVC
from widestreet._src.estimators.online.nu_svr import OnlineNuSVR
from widestreet._src.estimators.online.one_class import OnlineOneClassSVM
from widestreet._src.estimators.online.optimum import MakeDual
from widestreet._src.estimators.online.svc import OnlineSVC
from widestreet._src.estimators.online.svr import OnlineSVR
from widestreet._src.estimators.regularization import Leg, RegularizationPath
from widestreet._src.kernels.gram import Gram
from widestreet._src.problems.dual import Dual
from widestreet._src.rows import as_rows
from widestreet._src.threads import limited_blas

_ONLINE: dict[type[KernelMachine], type[OnlineMachine]] = {
    SVC: OnlineSVC,
    NuSVC: OnlineNuSVC,
    SVR: OnlineSVR,
    NuSVR: OnlineNuSVR,
    OneClassSVM: OnlineOneClassSVM,
}
_KEPT = {"_store", "_problems", "_proof", "_counts"}  # what estimators do not have
_DECADE = 10.0  # factor that one leg of a path spans at the most


def leave_one_out(estimator: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Floats:
    """What an estimator would say of each row if it were trained on all the others.

    Exact, and at the cost of a few steps for each row that has influence, instead of a refit.

    Parameters
    ----------
    estimator : SVC, NuSVC, SVR, NuSVR, OneClassSVM or an online machine
        Its parameters count; it is not changed.
    X : array-like or sparse matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,), default=None
    sample_weight : array-like of shape (n_samples,), default=None

    Returns
    -------
    ndarray of shape (n_samples,) or (n_samples, n_classes) or (n_samples, n_pairs)
        Decision values of classifiers and one-class machines, predictions of regressions.

    Examples
    --------
    >>> import widestreet as ws
    >>> from widestreet.datasets import checkerboard
    >>> X, y = checkerboard(200, random_state=0)
    >>> values = ws.leave_one_out(ws.SVC(C=10, gamma=2.0), X, y)
    >>> print(f"{(values * y > 0).mean():.2f}")
    0.91
    """
    machine = _online_twin(estimator)
    given = () if isinstance(machine, OnlineOneClassSVM) else (y,)
    values: Floats = machine.fit(X, *given, sample_weight=sample_weight).leave_one_out()
    return values


def _online_twin(estimator: Any) -> Any:
    """An online machine with the parameters of an estimator."""
    kind = type(estimator)
    if isinstance(estimator, OnlineMachine):
        return kind(**estimator.get_params() | {"max_rows": None})
    if kind not in _ONLINE:
        names = ", ".join(known.__name__ for known in _ONLINE)
        raise TypeError(f"estimator must be one of {names} or an online one, got {estimator!r}")
    known = set(_ONLINE[kind]._get_param_names()) - {"tol"}
    mine = {name: value for name, value in estimator.get_params().items() if name in known}
    return _ONLINE[kind](**mine)


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
    """Solve a machine for all values of C, epsilon or nu between two, exactly.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Labels of two classes, or targets.
    kernel, degree, gamma, coef0
        As for `SVC`; the kernel must be positive semidefinite.
    C_min, C_max : float
        The ends of a path over C.
    epsilon_min, epsilon_max : float
        The ends of a path over epsilon, of `SVR`.
    nu_min, nu_max : float
        The ends of a path over nu, of `NuSVC` or `NuSVR`.
    C : float, default=1.0
        For paths over epsilon, and over nu of `NuSVR`.
    epsilon : float, default=0.1
        For paths over C of `SVR`.
    task : {"classification", "regression"}, optional
        By default classification, but for paths over epsilon.
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
        raise ValueError("give the two ends of one parameter: C_min and C_max, say")
    [(parameter, ends)] = asked.items()
    if any(end is None for end in ends):
        raise ValueError(f"{parameter}_min and {parameter}_max must both be given")
    low = validation.require_real(
        f"{parameter}_min", ends[0], above=None if parameter == "epsilon" else 0.0
    )
    most = 1.0 if parameter == "nu" else None
    high = validation.require_real(f"{parameter}_max", ends[1], above=low, most=most)
    if task is None:
        task = "regression" if parameter == "epsilon" else "classification"
    if y is None:
        raise ValueError("y must be labels or targets, got None")
    validation.require_choice("task", task, ("classification", "regression"))
    if parameter == "epsilon" and task == "classification":
        raise ValueError("epsilon_min and epsilon_max belong to task='regression'")
    if task == "classification" and type_of_target(y, input_name="y").startswith("continuous"):
        raise ValueError("y has continuous targets and no classes: pass task='regression'")
    shared = {"kernel": kernel, "degree": degree, "gamma": gamma, "coef0": coef0, "n_jobs": n_jobs}
    machine = _machine(parameter, task, low, C, epsilon, shared)
    return _Walker(machine, parameter).walk(X, y, sample_weight, low, high)


def _machine(
    parameter: str, task: str, low: float, C: float, epsilon: float, shared: dict[str, Any]
) -> Any:
    """The online machine at the beginning of a path."""
    if task == "classification":
        return OnlineNuSVC(nu=low, **shared) if parameter == "nu" else OnlineSVC(C=low, **shared)
    if parameter == "nu":
        return OnlineNuSVR(nu=low, C=C, **shared)
    if parameter == "C":
        return OnlineSVR(C=low, epsilon=epsilon, **shared)
    return OnlineSVR(C=C, epsilon=low, **shared)


class _Walker:
    """Leads a machine along a parameter, and makes estimators of what it met."""

    def __init__(self, machine: Any, parameter: str) -> None:
        self.machine, self.parameter = machine, parameter

    def walk(
        self, X: Any, y: Any, sample_weight: Any, low: float, high: float
    ) -> RegularizationPath:
        """Follow the path from one end to the other."""
        machine = self.machine.fit(X, y, sample_weight)
        if len(machine._problems) != 1 or len(getattr(machine, "classes_", "ab")) != 2:
            raise ValueError(
                f"y must have two classes, got {len(machine.classes_)}: a path belongs to one "
                "problem; take the rows of two classes, or set one against the rest"
            )
        [(self.key, exact)] = machine._problems.items()
        self.store, self.members = machine._store, exact.members
        self._check_end(high)
        legs = []
        stops = self._stops(low, high)
        with limited_blas(1):
            for start, stop in zip([low, *stops], stops, strict=False):
                segments: list[PathSegment] = []
                exact.path.follow(Endpoint.of(self.dual(stop)), observe=segments.append)
                legs.append(Leg(start, stop, segments, [s.theta for s in segments]))
        return RegularizationPath(self.parameter, self, legs)

    def _check_end(self, high: float) -> None:
        """Refuse a nu that the classes do not allow."""
        if not isinstance(self.machine, OnlineNuSVC):
            return
        dual = self.dual(high)
        box = dual.upper[0] - dual.lower[0]
        plus = float(box[dual.upper[0] > 0].sum())
        largest = 2.0 * min(plus, float(box.sum()) - plus) / float(box.sum())
        if high > largest * (1 + 1e-12):
            raise ValueError(
                f"nu_max={high!r} is infeasible: the largest possible nu for these labels and "
                f"weights is {largest!r}"
            )

    def _stops(self, low: float, high: float) -> list[float]:
        """Where legs end: C moves by decades, so that no part of the way is too short to see."""
        if self.parameter != "C":
            return [high]
        count = int(np.ceil(np.log(high / low) / np.log(_DECADE)))
        return [*np.geomspace(low, high, count + 1)[1:-1].tolist(), high]

    def _machine_at(self, value: float) -> Any:
        """The machine with another value of the parameter, over the same rows."""
        other = object.__new__(type(self.machine))
        other.__dict__.update(vars(self.machine) | {self.parameter: value})
        return other

    def dual(self, value: float) -> Dual:
        """The dual for a value of the parameter."""
        machine = self._machine_at(value)
        make: MakeDual = machine._make(self.key)
        return make(self.store.target[self.members], self.store.weight[self.members])

    def build(self, value: float, beta: Floats) -> Any:
        """A fitted estimator, from variables; the biases are those of a fit."""
        store, machine = self.store, self._machine_at(value)
        dual = self.dual(value)
        gram = Gram(store.kernel, as_rows(store.X, centre=store.centre), threads=store.threads)
        found = examine(gram, dual, beta, self.members, tol=machine._tolerance())
        point = SimpleNamespace(
            members=self.members, dual=dual, coef=beta.sum(axis=0), bias=found.bias, steps=0
        )
        machine._problems = {self.key: point}
        machine._publish()
        [plain] = [one for one, online in _ONLINE.items() if isinstance(machine, online)]
        known, given = set(plain._get_param_names()), machine.get_params()
        model = plain(**{k: v for k, v in given.items() if k in known})
        proof = found.certificate("optimal", machine._tolerance(), gap_tol=None)
        fitted = {k: v for k, v in vars(machine).items() if k not in _KEPT | set(given)}
        model.__dict__.update(fitted | {"certificates_": [proof], "certificate_": proof})
        return model
