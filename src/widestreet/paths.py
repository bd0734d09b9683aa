"""All solutions along a parameter, and the verdict of models that left one row out."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from sklearn.metrics import r2_score
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.multiclass import type_of_target

from widestreet.arrays import Floats
from widestreet.certificate import examine
from widestreet.duals import Dual
from widestreet.engines.path import Segment
from widestreet.estimators import SVC, SVR, NuSVC, NuSVR, OneClassSVM, checks
from widestreet.estimators.base import KernelMachine, dense_coef
from widestreet.estimators.online.exact import ends_of
from widestreet.estimators.online.machine import OnlineMachine
from widestreet.estimators.online.optimum import MakeDual
from widestreet.gram import Gram
from widestreet.online import (
    OnlineNuSVC,
    OnlineNuSVR,
    OnlineOneClassSVM,
    OnlineSVC,
    OnlineSVR,
)
from widestreet.rows import as_rows
from widestreet.threads import limited_blas

_ONLINE: dict[type[KernelMachine], type[OnlineMachine]] = {
    SVC: OnlineSVC,
    NuSVC: OnlineNuSVC,
    SVR: OnlineSVR,
    NuSVR: OnlineNuSVR,
    OneClassSVM: OnlineOneClassSVM,
}
_KEPT = {"_store", "_problems", "_proof", "_counts"}  # what estimators do not have
_ENOUGH = 200  # breakpoints that are looked at to choose one
_VALUES = 1 << 22  # kernel values that are held at a time
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


@dataclass(frozen=True, eq=False)
class _Leg:
    """A part of a path between two values of the parameter."""

    start: float
    stop: float
    segments: list[Segment]
    thetas: list[float]


class RegularizationPath:
    """The solutions for all values of a parameter between two.

    Coefficients are straight lines between breakpoints, so that the solution for any value is at
    hand without another fit.

    Attributes
    ----------
    parameter : str
        "C", "epsilon" or "nu".
    breakpoints : ndarray
        Values at which a row enters or leaves the edge of the street, ascending, the two ends
        included.
    """

    def __init__(
        self,
        parameter: str,
        walker: _Walker,
        legs: list[_Leg],
    ) -> None:
        self.parameter = parameter
        self._walker, self._legs = walker, legs
        values = [legs[0].start]  # legs end at nothing
        values += [
            leg.start + theta * (leg.stop - leg.start)
            for leg in legs
            for theta in leg.thetas
            if theta > 0
        ]
        self.breakpoints: Floats = np.unique([*values, legs[-1].stop])

    def __repr__(self) -> str:
        first, last = self.breakpoints[[0, -1]]
        return (
            f"RegularizationPath({self.parameter} from {first:g} to {last:g}, "
            f"{len(self.breakpoints)} breakpoints)"
        )

    def _at(self, value: float) -> Floats:
        """Variables, by layer and row."""
        value = checks.require_real(self.parameter, value)
        first, last = self._legs[0].start, self._legs[-1].stop
        if not min(first, last) <= value <= max(first, last):
            raise ValueError(
                f"{self.parameter}={value!r} is outside of the path, which goes from "
                f"{min(first, last):g} to {max(first, last):g}"
            )
        for leg in self._legs:
            theta = (value - leg.start) / (leg.stop - leg.start)
            if theta <= 1.0:
                break
        segment = leg.segments[max(0, bisect_right(leg.thetas, theta) - 1)]
        way = theta - segment.theta
        dual = self._walker.dual(value)
        lower, upper = dual.lower.T.ravel(), dual.upper.T.ravel()
        at_upper = np.unpackbits(segment.at_upper, count=len(upper)).astype(bool)
        beta = np.where(at_upper, upper, lower)
        free = segment.free
        beta[free] = np.clip(segment.beta + way * segment.change, lower[free], upper[free])
        return np.ascontiguousarray(beta.reshape(-1, dual.layers).T)

    def coef_at(self, value: float) -> Floats:
        """Return the coefficient of each row: those of `dual_coef_`, zeros included.

        Parameters
        ----------
        value : float
            Of the parameter.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        line: Floats = self._coef([self.model_at(value)])[0]
        return line

    def model_at(self, value: float) -> Any:
        """Return the fitted estimator, with its certificate.

        Parameters
        ----------
        value : float
            Of the parameter.

        Returns
        -------
        SVC, SVR, NuSVC or NuSVR
        """
        return self._walker.build(value, self._at(value))

    # -- which value to choose -----------------------------------------------------------------

    def _some(self, values: Any) -> Floats:
        """The values asked for, or breakpoints from end to end."""
        if values is not None:
            given = np.atleast_1d(np.asarray(values))
            if given.ndim > 1 or not given.size:
                raise ValueError(f"values must be a list of numbers, got shape {given.shape}")
            return np.array([checks.require_real("values", one) for one in given.tolist()])
        some = self.breakpoints[:: max(1, len(self.breakpoints) // _ENOUGH)]
        return np.unique([*some, self.breakpoints[-1]])

    def decision_function(self, X: Any, values: Any = None) -> Floats:
        """Decision values, or predictions of regressions, of the models of many values at once.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        values : array-like, default=None
            Of the parameter; by default some hundred breakpoints from end to end.

        Returns
        -------
        ndarray of shape (n_values, n_samples)
        """
        models = self._models(values)
        return self._decide(models, self._coef(models), models[0]._query(X))

    def _models(self, values: Any) -> list[Any]:
        return [self.model_at(float(value)) for value in self._some(values)]

    def _coef(self, models: list[Any]) -> Floats:
        """Coefficients of all rows, a line for each model."""
        coef = np.zeros((len(models), self._walker.store.n))
        for line, model in zip(coef, models, strict=True):
            line[model.support_] = dense_coef(model.dual_coef_)[0]
        return coef

    def _decide(self, models: list[Any], coef: Floats, X: Any) -> Floats:
        """Decision values of validated rows, a line for each model."""
        store = self._walker.store
        used = np.flatnonzero(coef.any(axis=0))
        gram = models[0]._gram(X, store.X[used], used)
        found = np.empty((len(models), X.shape[0]))
        step = max(1, _VALUES // max(1, len(used)))
        for a in range(0, X.shape[0], step):
            part = np.arange(a, min(a + step, X.shape[0]))
            found[:, part] = coef[:, used] @ gram.block(part, None).T
        found += np.array([model.intercept_[0] for model in models])[:, None]
        return found

    def scores(self, X: Any, y: Any, values: Any = None) -> Floats:
        """How good the models of many values are on rows: accuracy, or R^2 of regressions.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        values : array-like, default=None
            As for `decision_function`.

        Returns
        -------
        ndarray of shape (n_values,)
        """
        y = column_or_1d(y)
        check_consistent_length(X, y)
        found = self.decision_function(X, values)
        classes = getattr(self._walker.machine, "classes_", None)
        if classes is None:
            return np.array([r2_score(y, line) for line in found])
        return np.asarray(np.mean(classes[(found >= 0).astype(int)] == y, axis=1))

    def best(self, X: Any, y: Any) -> float:
        """Return the value whose model is best on rows, which should not be those trained on.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        float
            The smallest of the best among some hundred breakpoints.
        """
        return float(self._some(None)[np.argmax(self.scores(X, y))])

    def leave_one_out_bounds(self, values: Any = None) -> Floats:
        """A bound on the part of the rows that models without them get wrong, for classifiers.

        A row x is certain to be classified by the machine that was not trained on it as it should
        be, if that is so with a margin of more than its own part, |coefficient| K(x, x) (Jaakkola
        and Haussler, 1999; Evgeniou, Pontil and Elisseeff, 2004). That is proved for machines
        without a bias whose C stays, not for nu. These have one, and where C is so small that
        hardly a row is at the edge of the street, leaving one out moves the bias: the true part may
        be far larger there. `leave_one_out` has the truth, for more work.

        Parameters
        ----------
        values : array-like, default=None
            As for `decision_function`.

        Returns
        -------
        ndarray of shape (n_values,)
        """
        store = self._walker.store
        if not hasattr(self._walker.machine, "classes_"):
            raise ValueError("leave_one_out_bounds belongs to task='classification'")
        sign = 2.0 * store.target - 1.0
        models = self._models(values)
        coef = self._coef(models)
        margin = sign * self._decide(models, coef, store.X)
        own = coef * store.gram.diag()
        doubtful = margin <= np.abs(own)
        return np.asarray(doubtful @ store.weight / store.weight.sum())

    def best_by_bound(self) -> float:
        """Return the value with the smallest of the `leave_one_out_bounds`.

        Returns
        -------
        float
            The smallest of the best among some hundred breakpoints.
        """
        return float(self._some(None)[np.argmin(self.leave_one_out_bounds())])

    def plot(self, ax: Any = None) -> Any:
        """Draw the coefficients of all rows along the path.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure of pyplot, which `pyplot.show()` shows.

        Returns
        -------
        matplotlib Axes
        """
        if ax is None:
            from matplotlib import pyplot

            _, ax = pyplot.subplots(figsize=(6.4, 4.0), layout="constrained")
        some = self.breakpoints[:: max(1, len(self.breakpoints) // 400)]
        values = np.unique([*some, self.breakpoints[-1]])
        coef = np.array([self._at(float(value)).sum(axis=0) for value in values])
        moving = coef.any(axis=0)
        ax.plot(values, coef[:, moving], linewidth=0.6, alpha=0.7)
        if self.parameter == "C":
            ax.set_xscale("log")
        ax.set_xlabel(self.parameter)
        ax.set_ylabel("coefficient")
        ax.set_title(f"{int(moving.sum())} of {coef.shape[1]} rows, {len(self.breakpoints)} breaks")
        return ax


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
    asked = {name: ends for name, ends in ranges.items() if ends != (None, None)}
    if len(asked) != 1:
        raise ValueError("give the two ends of one parameter: C_min and C_max, say")
    [(parameter, ends)] = asked.items()
    if None in ends:
        raise ValueError(f"{parameter}_min and {parameter}_max must both be given")
    low = checks.require_real(
        f"{parameter}_min", ends[0], above=None if parameter == "epsilon" else 0.0
    )
    most = 1.0 if parameter == "nu" else None
    high = checks.require_real(f"{parameter}_max", ends[1], above=low, most=most)
    if task is None:
        task = "regression" if parameter == "epsilon" else "classification"
    checks.require_choice("task", task, ("classification", "regression"))
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
                segments: list[Segment] = []
                exact.path.follow(ends_of(self.dual(stop)), observe=segments.append)
                legs.append(_Leg(start, stop, segments, [s.theta for s in segments]))
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
        found = examine(gram, dual, beta, self.members)
        point = SimpleNamespace(
            members=self.members, dual=dual, coef=beta.sum(axis=0), bias=found.bias, steps=0
        )
        machine._problems = {self.key: point}
        machine._publish()
        [plain] = [one for one, online in _ONLINE.items() if isinstance(machine, online)]
        known, given = set(plain._get_param_names()), machine.get_params()
        model = plain(**{k: v for k, v in given.items() if k in known})
        proof = found.certificate("optimal", machine._tolerance())
        fitted = {k: v for k, v in vars(machine).items() if k not in _KEPT | set(given)}
        model.__dict__.update(fitted | {"certificates_": [proof], "certificate_": proof})
        return model
