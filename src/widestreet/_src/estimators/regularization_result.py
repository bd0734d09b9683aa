"""The solutions along a parameter, and the choice of a value."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.metrics import r2_score
from sklearn.utils import check_consistent_length, column_or_1d

from widestreet._src import checks
from widestreet._src.arrays import Floats
from widestreet._src.certificate import examine
from widestreet._src.engines.homotopy.parametric_optimum import PathSegment
from widestreet._src.estimators.model import KernelModel
from widestreet._src.estimators.online.machine import OnlineMachine
from widestreet._src.estimators.online.optimum import ProblemSolution
from widestreet._src.estimators.online.problem import OnlineProblem
from widestreet._src.estimators.scoring import dense_coef
from widestreet._src.kernels.gram import Gram
from widestreet._src.problems.dual import Dual
from widestreet._src.problems.goal import Goal
from widestreet._src.rows import as_rows
from widestreet._src.status import Status

_CANDIDATES = 200  # fewest breakpoints among which a value is chosen, if there are so many
_BLOCK_VALUES = 1 << 22  # kernel values computed at a time


class ModelFamily:
    """The models of one problem for every value of a parameter.

    Parameters
    ----------
    machine : OnlineMachine
        Estimator fitted at one value.
    plain : type
        Class of the models to build.
    parameter : str
    key : object
        Key of the problem in the state of the machine.
    """

    def __init__(
        self, machine: OnlineMachine, plain: type[KernelModel], parameter: str, key: Any
    ) -> None:
        self.machine, self._plain, self._parameter, self._key = machine, plain, parameter, key
        self.state = machine._state
        self.store, self._optimum = self.state.store, self.state.optima[key]

    def _problem(self, value: float) -> OnlineProblem:
        problem = self._optimum.problem
        return replace(
            problem, formulation=replace(problem.formulation, **{self._parameter: value})
        )

    @property
    def _rows(self) -> tuple[Floats, Floats]:
        """Targets and weights of the problem."""
        members = self._optimum.members
        return self.store.target[members], self.store.weight[members]

    def dual(self, value: float) -> Dual:
        """Return the dual for a value of the parameter."""
        return self._problem(value).dual(*self._rows)

    def largest_nu(self, value: float) -> float | None:
        """Return the largest feasible nu; None if the value is feasible."""
        problem = self._problem(value)
        feasible = problem.feasible(*self._rows)
        return None if feasible == problem.formulation else getattr(feasible, "nu", None)

    def build(self, value: float, beta: Floats) -> Any:
        """Return the fitted estimator for a value of the parameter and its variables."""
        store, goal = self.store, Goal(self.state.tolerance(self.machine.tol))
        members, formulation = self._optimum.members, self._problem(value).formulation
        gram = Gram(store.kernel, as_rows(store.X, centre=store.centre), threads=store.threads)
        found = examine(gram.select(members), self.dual(value), beta, goal=goal)
        proof = found.certificate(Status.OPTIMAL, goal)
        solution = ProblemSolution(members, beta.sum(axis=0), found.bias)
        fitted = self.machine._task.attributes(
            self.state, {self._key: solution}, formulation, self.machine.tol
        )
        known = set(self._plain._get_param_names())
        given = self.machine.get_params() | {self._parameter: value}
        model = self._plain(**{name: given[name] for name in given.keys() & known})
        steps = np.zeros(1, dtype=np.int64) if self.state.classes is not None else 0
        certificates = {
            "certificates_": [proof],
            "certificate_": proof,
            "fit_status_": int(not proof.status.success),
            "n_iter_": steps,
        }
        model.__dict__ |= self.state.seen | fitted | certificates
        return model


@dataclass(frozen=True, eq=False)
class Leg:
    """Section of a path between two values of the parameter."""

    start: float
    stop: float
    segments: list[PathSegment]
    thetas: list[float]


class RegularizationPath:
    """The exact solutions for every value of a parameter in an interval.

    Coefficients are linear between breakpoints, so that the solution for any value is available
    without another fit.

    Attributes
    ----------
    parameter : str
        "C", "epsilon" or "nu".
    breakpoints : ndarray
        Values at which a row reaches or leaves the edge of the margin, ascending, including both
        ends of the interval.
    """

    def __init__(
        self,
        parameter: str,
        family: ModelFamily,
        legs: list[Leg],
    ) -> None:
        self.parameter = parameter
        self._family, self._legs = family, legs
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
        """Return the variables at a value, by layer and row."""
        value = checks.require_real(self.parameter, value)
        first, last = self._legs[0].start, self._legs[-1].stop
        if not min(first, last) <= value <= max(first, last):
            raise ValueError(
                f"{self.parameter}={value!r} is outside the path, which goes from "
                f"{min(first, last):g} to {max(first, last):g}"
            )
        for leg in self._legs:
            theta = (value - leg.start) / (leg.stop - leg.start)
            if theta <= 1.0:
                break
        segment = leg.segments[max(0, bisect_right(leg.thetas, theta) - 1)]
        way = theta - segment.theta
        dual = self._family.dual(value)
        lower, upper = dual.lower.T.ravel(), dual.upper.T.ravel()
        at_upper = np.unpackbits(segment.at_upper, count=len(upper)).astype(bool)
        beta = np.where(at_upper, upper, lower)
        free = segment.free
        beta[free] = np.clip(segment.beta + way * segment.change, lower[free], upper[free])
        return np.ascontiguousarray(beta.reshape(-1, dual.layers).T)

    def coef_at(self, value: float) -> Floats:
        """Return the coefficient of each row, as in `dual_coef_` but including zeros.

        Parameters
        ----------
        value : float
            Value of the parameter.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        line: Floats = self._coef([self.model_at(value)])[0]
        return line

    def model_at(self, value: float) -> Any:
        """Return the fitted estimator for a value, with its certificate.

        Parameters
        ----------
        value : float
            Value of the parameter.

        Returns
        -------
        SVC, SVR, NuSVC or NuSVR
        """
        return self._family.build(value, self._at(value))

    # -- choice of a value ---------------------------------------------------------------------

    def _some(self, values: Any) -> Floats:
        """Return the given values, or breakpoints over the whole interval."""
        if values is not None:
            given = np.atleast_1d(np.asarray(values))
            if given.ndim > 1 or not given.size:
                raise ValueError(f"values must be a list of numbers, got shape {given.shape}")
            return np.array([checks.require_real("values", one) for one in given.tolist()])
        some = self.breakpoints[:: max(1, len(self.breakpoints) // _CANDIDATES)]
        return np.unique([*some, self.breakpoints[-1]])

    def decision_function(self, X: Any, values: Any = None) -> Floats:
        """Return decision values, or predictions of regressors, for many values of the parameter.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        values : array-like, default=None
            Values of the parameter; by default a few hundred breakpoints over the whole interval.

        Returns
        -------
        ndarray of shape (n_values, n_samples)
        """
        models = self._models(values)
        return self._decide(models, self._coef(models), models[0]._query(X))

    def _models(self, values: Any) -> list[Any]:
        return [self.model_at(float(value)) for value in self._some(values)]

    def _coef(self, models: list[Any]) -> Floats:
        """Return the coefficients of all rows, one line per model."""
        coef = np.zeros((len(models), self._family.store.n))
        for line, model in zip(coef, models, strict=True):
            line[model.support_] = dense_coef(model.dual_coef_)[0]
        return coef

    def _decide(self, models: list[Any], coef: Floats, X: Any) -> Floats:
        """Return the decision values of validated rows, one line per model."""
        store = self._family.store
        used = np.flatnonzero(coef.any(axis=0))
        gram = models[0]._gram(X, store.X[used], used)
        found = np.empty((len(models), X.shape[0]))
        step = max(1, _BLOCK_VALUES // max(1, len(used)))
        for a in range(0, X.shape[0], step):
            part = np.arange(a, min(a + step, X.shape[0]))
            found[:, part] = coef[:, used] @ gram.block(part, None).T
        found += np.array([model.intercept_[0] for model in models])[:, None]
        return found

    def scores(self, X: Any, y: Any, values: Any = None) -> Floats:
        """Return the accuracy, or R^2 of regressors, for many values of the parameter.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        values : array-like, default=None
            Same as for `decision_function`.

        Returns
        -------
        ndarray of shape (n_values,)
        """
        y = column_or_1d(y)
        check_consistent_length(X, y)
        found = self.decision_function(X, values)
        classes = getattr(self._family.machine, "classes_", None)
        if classes is None:
            return np.array([r2_score(y, line) for line in found])
        return np.asarray(np.mean(classes[(found >= 0).astype(int)] == y, axis=1))

    def best(self, X: Any, y: Any) -> float:
        """Return the value whose model has the best score on rows, which should be held-out rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        float
            The best of a few hundred breakpoints; of equal ones the smallest.
        """
        return float(self._some(None)[np.argmax(self.scores(X, y))])

    def leave_one_out_bounds(self, values: Any = None) -> Floats:
        """Return bounds on the leave-one-out error rate of classifiers.

        The leave-one-out model classifies a row x correctly if the margin of x exceeds the
        contribution of x itself, |coefficient| K(x, x) (Jaakkola and Haussler, 1999; Evgeniou,
        Pontil and Elisseeff, 2004). The bound counts the other rows. It is proved for SVMs without
        a bias and with fixed C, not for nu. With a bias it is an estimate: if C is so small that
        hardly any row is on the edge of the margin, removing a row moves the bias, and the true
        error rate may be far larger. `leave_one_out` computes the true rate at a higher cost.

        Parameters
        ----------
        values : array-like, default=None
            Same as for `decision_function`.

        Returns
        -------
        ndarray of shape (n_values,)
        """
        store = self._family.store
        if not hasattr(self._family.machine, "classes_"):
            raise ValueError("leave_one_out_bounds belongs to task='classification'")
        sign = 2.0 * store.target - 1.0
        models = self._models(values)
        coef = self._coef(models)
        margin = sign * self._decide(models, coef, store.X)
        own = coef * Gram(store.kernel, as_rows(store.X)).diag()  # of uncentred rows
        doubtful = margin <= np.abs(own)
        return np.asarray(doubtful @ store.weight / store.weight.sum())

    def best_by_bound(self) -> float:
        """Return the value with the smallest of `leave_one_out_bounds`.

        Returns
        -------
        float
            The best of a few hundred breakpoints; of equal ones the smallest.
        """
        return float(self._some(None)[np.argmin(self.leave_one_out_bounds())])

    def plot(self, ax: Any = None) -> Any:
        """Draw the coefficients of all rows along the path.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; by default those of a new pyplot figure.

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
        ax.set_title(
            f"{int(moving.sum())} of {coef.shape[1]} rows, {len(self.breakpoints)} breakpoints"
        )
        return ax
