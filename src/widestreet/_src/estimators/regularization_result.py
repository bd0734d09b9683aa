"""All solutions along a parameter, and the choice among them."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.metrics import r2_score
from sklearn.utils import check_consistent_length, column_or_1d

from widestreet._src.arrays import Floats
from widestreet._src.certificate import examine
from widestreet._src.engines.homotopy.parametric_optimum import PathSegment
from widestreet._src.estimators import validation
from widestreet._src.estimators.model import KernelModel, dense_coef
from widestreet._src.estimators.online.machine import OnlineMachine
from widestreet._src.estimators.online.optimum import ProblemSolution
from widestreet._src.estimators.online.problem import OnlineProblem
from widestreet._src.kernels.gram import Gram
from widestreet._src.problems.dual import Dual
from widestreet._src.problems.goal import Goal
from widestreet._src.rows import as_rows
from widestreet._src.status import Status

_ENOUGH = 200  # breakpoints that are looked at to choose one
_VALUES = 1 << 22  # kernel values that are held at a time


class ModelFamily:
    """The models of one problem for all values of a parameter.

    Parameters
    ----------
    machine : OnlineMachine
        Fitted at one value.
    plain : type
        The class of the estimators to build.
    parameter : str
    key : object
        Which problem of the machine it is.
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
        """Return a fitted estimator, from variables; the biases are those of a fit."""
        store, tol = self.store, self.state.tolerance(self.machine.tol)
        members, formulation = self._optimum.members, self._problem(value).formulation
        gram = Gram(store.kernel, as_rows(store.X, centre=store.centre), threads=store.threads)
        found = examine(gram.select(members), self.dual(value), beta, tol=tol)
        proof = found.certificate(Status.OPTIMAL, Goal(tol))
        solution = ProblemSolution(members, beta.sum(axis=0), found.bias)
        fitted = self.machine._task.attributes(
            self.state, {self._key: solution}, formulation, self.machine.tol
        )
        known = set(self._plain._get_param_names())
        given = self.machine.get_params() | {self._parameter: value}
        model = self._plain(**{name: given[name] for name in given.keys() & known})
        certificates = {"certificates_": [proof], "certificate_": proof, "n_iter_": 0}
        model.__dict__ |= self.state.seen | fitted | certificates
        return model


@dataclass(frozen=True, eq=False)
class Leg:
    """A part of a path between two values of the parameter."""

    start: float
    stop: float
    segments: list[PathSegment]
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
        """Variables, by layer and row."""
        value = validation.require_real(self.parameter, value)
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
        dual = self._family.dual(value)
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
        return self._family.build(value, self._at(value))

    # -- which value to choose -----------------------------------------------------------------

    def _some(self, values: Any) -> Floats:
        """The values asked for, or breakpoints from end to end."""
        if values is not None:
            given = np.atleast_1d(np.asarray(values))
            if given.ndim > 1 or not given.size:
                raise ValueError(f"values must be a list of numbers, got shape {given.shape}")
            return np.array([validation.require_real("values", one) for one in given.tolist()])
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
        coef = np.zeros((len(models), self._family.store.n))
        for line, model in zip(coef, models, strict=True):
            line[model.support_] = dense_coef(model.dual_coef_)[0]
        return coef

    def _decide(self, models: list[Any], coef: Floats, X: Any) -> Floats:
        """Decision values of validated rows, a line for each model."""
        store = self._family.store
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
        classes = getattr(self._family.machine, "classes_", None)
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
        store = self._family.store
        if not hasattr(self._family.machine, "classes_"):
            raise ValueError("leave_one_out_bounds belongs to task='classification'")
        sign = 2.0 * store.target - 1.0
        models = self._models(values)
        coef = self._coef(models)
        margin = sign * self._decide(models, coef, store.X)
        own = coef * Gram(store.kernel, as_rows(store.X)).diag()  # of rows as they are
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
