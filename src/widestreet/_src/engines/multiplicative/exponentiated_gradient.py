"""The multiplicative engine: a hard-margin SVM by entropy projection, and the steps towards it.

The rho-SVM is the hyperplane through the origin with  max 2 rho - |w|^2,  y_i w.phi_i >= rho. Its
dual is

    min a'Qa  over the simplex  a >= 0, sum a = 1,     Q_ij = y_i y_j K_ij

and with the margins h = Q a the two are equal at rho* = a'h. A step of the engine moves to the
nearest point, in relative entropy, at which the present classifier has the smaller edge rho / (1 +
e):

    a_i <- a_i exp(-eta h_i) / Z(eta),     eta = argmin ln Z(eta) + eta rho / (1 + e)

The function to minimise is convex in eta. Its derivative is rho / (1 + e) minus the mean of h under
the new weights, which is zero at the solution (equation 16); its second derivative is their
variance. There is no solution if no margin is below rho / (1 + e). Then, or if rho does not
decrease, the step is not taken and e is halved. The engine ends when e falls below epsilon. Since
a'Qa is convex, 2 min h - rho <= rho* <= rho holds for every point. This bounds the distance from
the optimum, which the stopping rule of the paper does not.

Every point is a classifier: the first, with equal weights, is a Parzen window; the last is a nearly
trained hard-margin SVM. Their mean weighted by eta is the ensemble that boosting of Parzen windows
gives. It is one expansion in kernel values, like each of its members.

In the paper, e never grows again after a halving (`Projection` with growth = 1). By default it
grows after every step. `FixedRate` uses the same eta for all steps and ends when rho no longer
decreases (Cristianini, Campbell and Shawe-Taylor, 1999).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from inspect import GEN_SUSPENDED, getgeneratorstate
from math import inf
from typing import Any, TypeAlias, TypeVar

import numpy as np

from widestreet._src.arrays import Floats
from widestreet._src.engines.budget import Budget, OutOfBudget
from widestreet._src.engines.multiplicative.ensemble_mean import Ensemble
from widestreet._src.engines.multiplicative.line_search import line_search, logarithms, tilted
from widestreet._src.engines.solution import Observer, Trace, TraceRecord
from widestreet._src.kernels.gram_products import Product
from widestreet._src.status import Status

_Value = TypeVar("_Value")
Run: TypeAlias = Generator[Floats, Floats, _Value]  # yields vectors, receives their products with K

_RHO_ROUNDING = 1e-14  # of the sum of absolute terms of rho: a smaller rho is zero
_COUNTED_WEIGHT = 1e-6  # of the largest weight: rows above it count as support vectors
_NEGATIVE_RHO = 1e-9  # of the same sum: a rho below minus this is not caused by rounding


@dataclass(frozen=True)
class Projection:
    """Step lengths by entropy projection.

    Attributes
    ----------
    start : float
        First value of e.
    least : float
        The engine ends when e is smaller than this.
    growth : float
        Factor of e after a step; e does not exceed `start`.
    """

    start: float = 0.1
    least: float = 0.005
    growth: float = 1.1


@dataclass(frozen=True)
class FixedRate:
    """Step lengths that all equal eta."""

    eta: float


@dataclass(frozen=True, eq=False)
class Point:
    """Weights on the simplex.

    Attributes
    ----------
    log : ndarray
        Logarithms of the weights, which do not underflow.
    weight : ndarray
    margin : ndarray
        h = Q a.
    rho : float
        a'h.
    least : float
        Smallest margin of the training rows.
    """

    log: Floats
    weight: Floats
    margin: Floats
    rho: float
    least: float

    @property
    def bound(self) -> float:
        """Lower bound on rho*."""
        return 2.0 * self.least - self.rho


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Points of the engine from the start to the end.

    Attributes
    ----------
    first, last, ensemble : ndarray
        Weights on the simplex: the first point, the last point, and the mean of all points before
        the last, each weighted by the eta of the step that left it.
    rho : dict
        a'Qa of these points, by name; infinite if it was not computed.
    margin : ndarray
        Margins at the first point.
    means : dict
        For some sizes of the ensemble, the mean and its a'Qa.
    errors : list of float
        For every size of the ensemble, its weighted error on held-out rows.
    status : Status
        "approximate" if the engine ended by its own rule, else the reason why it was stopped.
    trace : Trace
    steps : int
    members : list of (float, ndarray)
        Eta and weights of every point before the last, if they are kept.
    """

    first: Floats
    last: Floats
    ensemble: Floats
    rho: dict[str, float]
    margin: Floats
    means: dict[int, tuple[Floats, float]]
    errors: list[float]
    status: Status
    trace: Trace
    steps: int
    members: list[tuple[float, Floats]]


def unmoved(prior: Floats, status: Status) -> Trajectory:
    """Return the trajectory of an engine that was stopped before its first product."""
    weight, _ = tilted(logarithms(prior))
    rho = dict.fromkeys(("first", "last", "ensemble"), np.inf)
    margin, means = np.full(len(prior), np.inf), {1: (weight, np.inf)}
    return Trajectory(weight, weight, weight, rho, margin, means, [], status, Trace(), 0, [])


class MultiplicativeEngine:
    """Engine that moves from prior weights towards the rho-SVM.

    Parameters
    ----------
    product : Product
        Product with K over all rows.
    sign : ndarray of shape (n,)
        Classes of the rows, +1 and -1.
    prior : ndarray of shape (n,)
        First weights, which are scaled to sum one. Rows of weight zero are not training rows.
    pace : Projection or FixedRate
    length : ndarray of shape (n,)
        sqrt(K(x, x)) of each row; rounding is relative to it.
    budget : Budget
    observer : callable or None
        Function that is called with a record of every point; without it there are no records.
    kernel_values : callable
        Function that returns the number of kernel values computed so far.
    keep : bool
        If True, all points are kept.
    judged : ndarray of shape (n,), optional
        Weights of held-out rows. The engine ends some steps after the size of the ensemble with the
        smallest error on them.
    most : float, optional
        The engine ends when the ensemble has more members.
    """

    def __init__(
        self,
        product: Product,
        sign: Floats,
        prior: Floats,
        pace: Projection | FixedRate,
        *,
        length: Floats,
        budget: Budget,
        observer: Observer | None,
        kernel_values: Callable[[], int] = lambda: 0,
        keep: bool = False,
        judged: Floats | None = None,
        most: float = inf,
    ) -> None:
        self.most = most
        self.product, self.sign, self.prior, self.pace = product, sign, prior, pace
        self.length, self.budget, self.observer, self.keep = length, budget, observer, keep
        self._kernel_values = kernel_values
        self._trace = Trace()
        self._members: list[tuple[float, Floats]] = []
        self._mean = Ensemble(judged)
        self._present = np.flatnonzero(prior > 0)
        self._tried = 0  # number of products so far
        self._eta = 1.0  # of the last step, at which the next line search starts
        self._e = 0.0 if isinstance(pace, FixedRate) else pace.start

    def solve(self) -> Trajectory:
        """Take steps until the stopping rule or the budget ends them."""
        [found] = solve_together([self])
        return found

    def run(self) -> Run[Trajectory]:
        """Generator form of `solve`: yields vectors and receives their products with K."""
        first = point = None
        status = Status.APPROXIMATE
        try:
            first = point = yield from self._point(*tilted(logarithms(self.prior)))
            self._tell(point, 0.0)
            while not self._enough:
                step = yield from self._step(point)
                if step is None:
                    break
                eta, there = step
                self._collect(eta, point)
                point = there
                self._tell(point, eta)
                self.budget.spend(1, finished=False)
        except OutOfBudget as stop:
            status = stop.status
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        if first is None or point is None:
            return unmoved(self.prior, status)
        steps = self._mean.size
        if steps == 0:
            self._mean.add(1.0, first.weight, first.margin)
        means = self._mean.means
        mean, edge = means[self._mean.size]
        return Trajectory(
            first=first.weight,
            last=point.weight,
            ensemble=mean,
            rho={"first": first.rho, "last": point.rho, "ensemble": edge},
            margin=first.margin,
            means=means,
            errors=self._mean.errors,
            status=status,
            trace=self._trace,
            steps=steps,
            members=self._members,
        )

    @property
    def _enough(self) -> bool:
        return self._mean.enough or self._mean.size > self.most

    def _point(self, weight: Floats, log: Floats) -> Run[Point]:
        """Return the point of weights and their logarithms."""
        self.budget.look_at_clock()
        margin = self.sign * (yield self.sign * weight)
        self._tried += 1
        least = float(np.minimum.reduce(margin.take(self._present)))
        return Point(log, weight, margin, float(weight.dot(margin)), least)

    def _step(self, point: Point) -> Run[tuple[float, Point] | None]:
        """Return the next point and the eta of the step; None if this point is the last."""
        if not self._positive(point):
            return None
        if isinstance(self.pace, FixedRate):
            there = yield from self._point(*tilted(point.log, point.margin, self.pace.eta))
            return (self.pace.eta, there) if there.rho < point.rho else None
        self._e = min(self._e * self.pace.growth, self.pace.start)
        while self._e >= self.pace.least:
            edge = point.rho / (1.0 + self._e)
            if point.least < edge:
                eta = line_search(point.log, point.margin, edge, self._eta)
                there = yield from self._point(*tilted(point.log, point.margin, eta))
                if there.rho <= point.rho:
                    self._eta = eta
                    return eta, there
            self._e /= 2.0
        return None

    def _positive(self, point: Point) -> bool:
        """Return whether rho is positive beyond rounding, so that a step can reduce it."""
        size = float(point.weight @ self.length) ** 2  # bounds the sum of the absolute terms of rho
        if point.rho < -_NEGATIVE_RHO * size:
            raise indefinite(f"a'Ka = {point.rho:.3g}")
        return point.rho > _RHO_ROUNDING * size

    def _collect(self, eta: float, point: Point) -> None:
        """Add a point to the ensemble. Sets: mean, members."""
        if self.keep:
            self._members.append((eta, point.weight))
        self._mean.add(eta, point.weight, point.margin)

    def _tell(self, point: Point, eta: float) -> None:
        """Record a point and the step that led to it, if they are observed. Sets: trace.

        All rows are in the working set. Weights have no upper bound, so that every support vector
        is free. There are no pair steps.
        """
        if self.observer is None:
            return
        gap = point.rho - point.least
        used = int(np.count_nonzero(point.weight > _COUNTED_WEIGHT * point.weight.max()))
        record = TraceRecord(
            round=len(self._trace),
            working_set=len(point.weight),
            n_sv=used,
            n_free=used,
            violation=gap,
            dual_objective=-point.rho / 2.0,
            gap=gap,
            rows_scanned=0,
            rows_skipped=0,
            kernel_values=self._kernel_values(),
            pair_steps=0,
            seconds=self.budget.elapsed,
            notes={
                "rho": point.rho,
                "lower_bound": point.bound,
                "eta": eta,
                "epsilon": self._e,
                "products": self._tried,
            },
        )
        self._trace.append(record)
        self.observer(record)


def solve_together(engines: Sequence[MultiplicativeEngine]) -> list[Trajectory]:
    """Run engines with the same kernel matrix in lockstep.

    A product of the kernel matrix with several vectors takes little more time than with one.
    """
    runs = dict(enumerate(engine.run() for engine in engines))
    found: dict[int, Trajectory] = {}
    answers: dict[int, Any] = dict.fromkeys(runs)
    while runs:
        try:
            asked = {}
            for number in list(runs):
                try:
                    asked[number] = _told(runs[number], answers[number])
                except StopIteration as end:
                    found[number] = end.value
                    del runs[number]
            if any(one.status == Status.INTERRUPTED for one in found.values()):
                raise KeyboardInterrupt
            answers = _multiplied(engines[0].product, asked) if asked else {}
        except KeyboardInterrupt as stop:
            for number, run in list(runs.items()):
                if getgeneratorstate(run) != GEN_SUSPENDED:  # it cannot receive the exception
                    found[number] = unmoved(engines[number].prior, Status.INTERRUPTED)
                    del runs[number]
            answers = dict.fromkeys(runs, stop)
    return [found[number] for number in range(len(engines))]


def _told(run: Run[Trajectory], answer: Any) -> Floats:
    """Send a product or an exception to a run (None starts it); return its next vector."""
    if isinstance(answer, BaseException):
        return run.throw(answer)
    return next(run) if answer is None else run.send(answer)


def _multiplied(product: Product, asked: dict[int, Floats]) -> dict[int, Any]:
    """Return the products that runs requested, or the exception that stopped them."""
    try:
        if len(asked) == 1:
            return {number: product(coef) for number, coef in asked.items()}
        return dict(zip(asked, product(np.array(list(asked.values()))), strict=True))
    except (OutOfBudget, KeyboardInterrupt) as stop:
        return dict.fromkeys(asked, stop)


def indefinite(proof: str) -> ValueError:
    """Return the error for a kernel that is not positive semidefinite."""
    return ValueError(
        f"kernel is not positive semidefinite on these rows ({proof}), so there is no margin to "
        "maximise; use 'rbf', 'linear', 'poly' with coef0 >= 0 or 'laplacian'"
    )
