"""The multiplicative engine: a hard-margin machine by entropy projection, and the way to it.

The rho-SVM is the plane through the origin with  max 2 rho - |w|^2,  y_i w.phi_i >= rho. Its dual
is

    min a'Qa  over the simplex  a >= 0, sum a = 1,     Q_ij = y_i y_j K_ij

and with the margins h = Q a the two are equal at rho* = a'h. A step of the engine takes the nearest
point, in relative entropy, at which the present machine would have the smaller edge rho / (1 + e):

    a_i <- a_i exp(-eta h_i) / Z(eta),     eta = argmin ln Z(eta) + eta rho / (1 + e)

The bracket is convex in eta; its derivative is rho / (1 + e) less the mean of h under the new
weights (equation 16: there they are equal), its second derivative their variance. There is no eta
if no margin is that small. Then, or if rho did not fall, the step is not taken and e is halved; the
engine is done when e falls below epsilon. Since a'Qa is convex, 2 min h - rho <= rho* <= rho for
every point: that is the proof of how near the end is, and the printed rule of stopping is not.

Every point on the way is a classifier: the first, with equal weights, is a Parzen window, the last
one a nearly trained hard-margin machine, and their mean weighted by eta, the ensemble, is what
boosting Parzen windows would give. It is one expansion like each of them.

How e goes on after a step that was taken is the difference between `Projection` as printed
(growth = 1) and as it is by default: it may recover from a halving. `FixedRate` has the same
eta for all steps and ends where rho falls no more (Cristianini, Campbell and Shawe-Taylor, 1999).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from inspect import GEN_SUSPENDED, getgeneratorstate
from typing import Any, TypeAlias, TypeVar

import numpy as np

from widestreet._src.arrays import Floats
from widestreet._src.engines.budget import Budget, OutOfBudget
from widestreet._src.engines.multiplicative.members import Ensemble
from widestreet._src.engines.solution import Observer, Trace, TraceRecord
from widestreet._src.kernels.products import Product
from widestreet._src.status import Status

_Value = TypeVar("_Value")
Run: TypeAlias = Generator[Floats, Floats, _Value]  # asks for products of K with vectors

_EXACT = 1e-13  # of the edge: how well a line search meets it
_SEARCHES = 200  # steps of a line search, of which a dozen are usual
_SMALLEST = -600.0  # logarithm of weights that are nothing; still smaller ones are slow
_ROUNDING = 1e-14  # of the sizes of the terms of rho: a smaller one is zero
_INDEFINITE = 1e-9  # of the same: a rho so far below zero is none that rounding made


@dataclass(frozen=True)
class Projection:
    """Step lengths by entropy projection.

    Attributes
    ----------
    start : float
        The first e.
    least : float
        The engine is done when e is smaller.
    growth : float
        What e is multiplied by after a step, up to `start`.
    """

    start: float = 0.1
    least: float = 0.005
    growth: float = 1.1


@dataclass(frozen=True)
class FixedRate:
    """The same eta for every step."""

    eta: float


@dataclass(frozen=True, eq=False)
class Point:
    """Weights on the simplex.

    Attributes
    ----------
    log : ndarray
        Their logarithms, which do not underflow.
    weight : ndarray
    margin : ndarray
        h = Q a.
    rho : float
        a'h.
    least : float
        The smallest margin of rows that are trained on.
    """

    log: Floats
    weight: Floats
    margin: Floats
    rho: float
    least: float

    @property
    def bound(self) -> float:
        """A lower bound on rho*."""
        return 2.0 * self.least - self.rho


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Where the engine went.

    Attributes
    ----------
    first, last, ensemble : ndarray
        Weights on the simplex: where it began, where it ended, and the mean of all points before
        the last, each weighted by the eta of the step that left it.
    rho : dict
        a'Qa of these, by name; infinite where it was never computed.
    margin : ndarray
        Where it began.
    means : dict
        For some sizes that the ensemble had, the mean and its a'Qa.
    errors : list of float
        For every size that it had, what those who judge it have to say.
    status : Status
        "approximate" if it ended by its own rule, else what stopped it.
    trace : Trace
    steps : int
    members : list of (float, ndarray)
        The eta and the weights of every point before the last, if they were to be kept.
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
    """Where the engine is that was stopped before it knew anything."""
    weight, _ = tilted(_logarithms(prior))
    rho = dict.fromkeys(("first", "last", "ensemble"), np.inf)
    margin, means = np.full(len(prior), np.inf), {1: (weight, np.inf)}
    return Trajectory(weight, weight, weight, rho, margin, means, [], status, Trace(), 0, [])


def _logarithms(prior: Floats) -> Floats:
    """Of weights, some of which may be zero."""
    with np.errstate(divide="ignore"):
        log: Floats = np.log(prior)
    return log


class MultiplicativeEngine:
    """Goes from a prior towards the rho-SVM.

    Parameters
    ----------
    product : Product
        With K, over all rows.
    sign : ndarray of shape (n,)
        The classes, +1 and -1.
    prior : ndarray of shape (n,)
        Weights to begin with; they are scaled to sum one. Rows of weight zero are not trained on.
    pace : Projection or FixedRate
    length : ndarray of shape (n,)
        The root of K(x, x) for each row, which rounding is measured by.
    budget : Budget
    observer : callable
        Is told of every point.
    kernel_values : callable
        Tells how many were computed so far.
    keep : bool
        Whether to keep all points.
    judged : ndarray of shape (n,), optional
        What each of the rows counts for that judge the ensemble; the engine ends soon after they
        liked it best.
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
        observer: Observer,
        kernel_values: Callable[[], int] = lambda: 0,
        keep: bool = False,
        judged: Floats | None = None,
    ) -> None:
        self.product, self.sign, self.prior, self.pace = product, sign, prior, pace
        self.length, self.budget, self.observer, self.keep = length, budget, observer, keep
        self._kernel_values = kernel_values
        self._trace = Trace()
        self._members: list[tuple[float, Floats]] = []
        self._mean = Ensemble(judged)
        self._present = prior > 0
        self._tried = 0  # products so far
        self._eta = 1.0  # of the last step: where the next line search begins
        self._e = 0.0 if isinstance(pace, FixedRate) else pace.start

    def solve(self) -> Trajectory:
        """Take steps until the pace or the budget says that it is enough."""
        [found] = solve_together([self])
        return found

    def run(self) -> Run[Trajectory]:
        """The same, with somebody else to multiply."""
        first = point = None
        status = Status.APPROXIMATE
        try:
            first = point = yield from self._point(_logarithms(self.prior))
            self._tell(point, 0.0)
            while not self._mean.enough and (step := (yield from self._step(point))) is not None:
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
        if self._mean.size == 0:
            self._mean.add(1.0, first.weight, first.margin)
        mean, edge = self._mean.means[self._mean.size]
        return Trajectory(
            first=first.weight,
            last=point.weight,
            ensemble=mean,
            rho={"first": first.rho, "last": point.rho, "ensemble": edge},
            margin=first.margin,
            means=self._mean.means,
            errors=self._mean.errors,
            status=status,
            trace=self._trace,
            steps=max(0, len(self._trace) - 1),
            members=self._members,
        )

    def _point(self, log: Floats) -> Run[Point]:
        """The point of some logarithms, scaled to sum one."""
        self.budget.look_at_clock()
        weight, total = tilted(log)
        log = log - (log.max() + np.log(total))
        margin = self.sign * (yield self.sign * weight)
        self._tried += 1
        least = float(margin[self._present].min())
        return Point(log, weight, margin, float(weight @ margin), least)

    def _step(self, point: Point) -> Run[tuple[float, Point] | None]:
        """The next point, and the eta that leads there; None if this is the last."""
        if not self._positive(point):
            return None
        if isinstance(self.pace, FixedRate):
            there = yield from self._point(point.log - self.pace.eta * point.margin)
            return (self.pace.eta, there) if there.rho < point.rho else None
        self._e = min(self._e * self.pace.growth, self.pace.start)
        while self._e >= self.pace.least:
            edge = point.rho / (1.0 + self._e)
            if point.least < edge:
                eta = line_search(point.log, point.margin, edge, self._eta)
                there = yield from self._point(point.log - eta * point.margin)
                if there.rho <= point.rho:
                    self._eta = eta
                    return eta, there
            self._e /= 2.0
        return None

    def _positive(self, point: Point) -> bool:
        """Whether there is anything left to be made smaller."""
        size = float(point.weight @ self.length) ** 2  # not less than the terms of rho add up to
        if point.rho < -_INDEFINITE * size:
            raise indefinite(f"a'Ka = {point.rho:.3g}")
        return point.rho > _ROUNDING * size

    def _collect(self, eta: float, point: Point) -> None:
        """Let a point have its part in the ensemble. Sets: mean, members."""
        if self.keep:
            self._members.append((eta, point.weight))
        self._mean.add(eta, point.weight, point.margin)

    def _tell(self, point: Point, eta: float) -> None:
        """Write down a point, and what led there. Sets: trace."""
        gap = point.rho - point.least
        used = int(np.count_nonzero(point.weight > 1e-6 * point.weight.max()))
        record = TraceRecord(
            round=len(self._trace),
            working_set=len(point.weight),
            n_sv=used,
            n_free=used,
            violation=gap,
            dual_objective=-point.rho / 2.0,
            gap=gap,
            rows_scanned=len(point.weight),
            rows_skipped=0,
            kernel_values=self._kernel_values(),
            pair_steps=self._tried,
            seconds=self.budget.elapsed,
            notes={"rho": point.rho, "lower_bound": point.bound, "eta": eta, "epsilon": self._e},
        )
        self._trace.append(record)
        self.observer(record)


def solve_together(engines: Sequence[MultiplicativeEngine]) -> list[Trajectory]:
    """Let engines that have the same product take their steps at the same time.

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
                if getgeneratorstate(run) != GEN_SUSPENDED:  # nobody is there to be told
                    found[number] = unmoved(engines[number].prior, Status.INTERRUPTED)
                    del runs[number]
            answers = dict.fromkeys(runs, stop)
    return [found[number] for number in range(len(engines))]


def _told(run: Run[Trajectory], answer: Any) -> Floats:
    """What a run asks for next, when it is told a product, or what stopped it; None begins."""
    if isinstance(answer, BaseException):
        return run.throw(answer)
    return next(run) if answer is None else run.send(answer)


def _multiplied(product: Product, asked: dict[int, Floats]) -> dict[int, Any]:
    """The products that some runs have asked for, or what stopped the work on them."""
    try:
        if len(asked) == 1:
            return {number: product(coef) for number, coef in asked.items()}
        return dict(zip(asked, product(np.array(list(asked.values()))), strict=True))
    except (OutOfBudget, KeyboardInterrupt) as stop:
        return dict.fromkeys(asked, stop)


def indefinite(proof: str) -> ValueError:
    """The error for a kernel that is not positive semidefinite."""
    return ValueError(
        f"kernel: it is not positive semidefinite on these rows ({proof}), and then there is no "
        "margin to maximise; use 'rbf', 'linear', 'poly' with coef0 >= 0 or 'laplacian'"
    )


def tilted(log: Floats) -> tuple[Floats, float]:
    """Weights of sum one from their logarithms, and the sum they had when the largest was one."""
    weight = np.exp(np.maximum(log - log.max(), _SMALLEST))
    total = float(weight.sum())
    weight /= total
    return weight, total


def line_search(log: Floats, margin: Floats, edge: float, start: float) -> float:
    """The eta at which the mean of the margins under the new weights is `edge`.

    Newton's method within a bracket: at eta = 0 the mean is larger, and some margin is smaller.

    Parameters
    ----------
    log : ndarray
        Logarithms of the weights.
    margin : ndarray
    edge : float
    start : float
        Where to begin.

    Returns
    -------
    float
    """
    low, high, eta = 0.0, np.inf, start
    for _ in range(_SEARCHES):
        weight, _ = tilted(log - eta * margin)
        mean = float(weight @ margin)
        excess = mean - edge
        if abs(excess) <= _EXACT * edge:
            break
        low, high = (eta, high) if excess > 0 else (low, eta)
        variance = float(weight @ (margin - mean) ** 2)
        newton = eta + excess / variance if variance > 0 else np.inf
        if np.isinf(high):
            newton = min(newton, 4.0 * eta)
        following = newton if low < newton < high else 0.5 * (low + high)
        if following == eta:
            break
        eta = following
    return eta
