"""The five support vector machines, each as a map from targets and weights to a dual.

A formulation is a frozen set of parameters. It computes the width of the box of a row (`box`), the
dual of targets and boxes (`dual`), and the intercept and fitted attributes from the biases of the
groups (`read`). Batch training, online training, regularisation paths and experiments all use the
same object. `dataclasses.replace` returns the same SVM with another parameter.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

import numpy as np

from widestreet._src.arrays import Floats
from widestreet._src.problems.dual import Dual, split
from widestreet._src.problems.totals import Totals

Loss = Literal["linear", "squared"]
Scaling = Literal["libsvm", "schoelkopf"]

_NU_ROUNDING = 1e-12  # relative excess of nu over the largest feasible value that is rounding


@dataclass(frozen=True)
class Reading:
    """Intercept, margin and fitted attributes, read from the biases of the groups.

    Attributes
    ----------
    intercept : float
        Bias of the decision function, before it is divided by `margin`.
    margin : float or None
        Scale of the decision values: they are divided by it. None if it is zero to within the
        tolerance.
    attributes : mapping
        Further fitted attributes of this SVM.
    """

    intercept: float
    margin: float | None = 1.0
    attributes: Mapping[str, object] = field(default_factory=dict)

    @property
    def divisor(self) -> float:
        """Divisor of coefficients and intercept: the margin, or 1 if there is none."""
        return 1.0 if self.margin is None else self.margin


@dataclass(frozen=True)
class Formulation(ABC):
    """Base class of the SVM types: the weights of rows and the meaning of the biases.

    Attributes
    ----------
    coefficients_sum_to_zero : bool
        If True, a translation of the rows changes all scores of a linear kernel by one constant.
    """

    coefficients_sum_to_zero: ClassVar[bool] = True

    @property
    def scale(self) -> float:
        """Parameter to which coefficients are proportional; warm starts are scaled by it."""
        return 1.0

    @property
    def proportional(self) -> bool:
        """True if equal rows must share a coefficient in proportion to their boxes."""
        return False

    def check(self, totals: Floats, classes: Sequence[object]) -> None:  # noqa: B027 - most need none
        """Refuse parameters that classes of these total weights do not allow."""

    def box(self, weight: Floats, total: float | None = None) -> Floats:
        """Return the width of the box of rows with these weights."""
        return weight

    @abstractmethod
    def read(self, bias: Floats, tol: float) -> Reading:
        """Read intercept and margin from the biases; a margin up to `tol` counts as zero."""


@dataclass(frozen=True)
class DualFormulation(Formulation):
    """Base class of SVMs that are the optimum of a `Dual`.

    Attributes
    ----------
    groups : int
        Number of equality constraints of the dual.
    """

    groups: ClassVar[int] = 1

    @abstractmethod
    def dual(self, target: Floats, box: Floats, totals: Totals | None = None) -> Dual:
        """Return the dual of rows with these targets (labels are +-1) and boxes.

        If the rows are a part of all rows, `totals` are the sums over all of them.
        """

    def feasible(self, target: Floats, box: Floats) -> DualFormulation:
        """Return this formulation, with parameters lowered as far as these rows require."""
        return self

    def duals(self, target: Floats, box: Floats, sizes: Sequence[int]) -> list[Dual]:
        """Return the duals of consecutive blocks of rows."""
        ends = np.cumsum(sizes)[:-1]
        targets, boxes = np.split(target, ends), np.split(box, ends)
        return [self.dual(*block) for block in zip(targets, boxes, strict=True)]


@dataclass(frozen=True)
class HardMargin(Formulation):
    """Hard-margin SVM without an offset; the weights of the rows sum to one (`EnsembleSVC`)."""

    coefficients_sum_to_zero: ClassVar[bool] = False

    def read(self, bias: Floats, tol: float) -> Reading:
        return Reading(float(bias[0]))


@dataclass(frozen=True)
class PenalizedLoss(DualFormulation):
    """Base class of SVMs that minimise 1/2 |w|^2 + sum_i C weight_i L(z_i).

    Attributes
    ----------
    C : float
    loss : {"linear", "squared"}
        L(z) is max(0, z) or max(0, z)^2.
    """

    C: float = 1.0
    loss: Loss = field(default="linear", kw_only=True)

    @property
    def scale(self) -> float:
        return self.C

    def box(self, weight: Floats, total: float | None = None) -> Floats:
        return self.C * weight

    @property
    def proportional(self) -> bool:
        return self.loss == "squared"

    def read(self, bias: Floats, tol: float) -> Reading:
        return Reading(float(bias[0]))


@dataclass(frozen=True)
class CSVC(PenalizedLoss):
    """C-support vector classification: a `PenalizedLoss` of z_i = 1 - y_i f(x_i)."""

    def dual(self, target: Floats, box: Floats, totals: Totals | None = None) -> Dual:
        dual = c_svc(target, box)
        if self.loss == "linear":
            return dual
        return _squared(dual, box, (totals or Totals.of(target, box)).box)

    def duals(self, target: Floats, box: Floats, sizes: Sequence[int]) -> list[Dual]:
        if self.loss == "squared":
            return super().duals(target, box, sizes)
        every = self.dual(target, box)  # one array for many small problems
        return split(every, sizes, [every.total] * len(sizes))


@dataclass(frozen=True)
class NuSVC(DualFormulation):
    """Nu-support vector classification: at most a part `nu` of the rows are margin errors."""

    nu: float = 0.5

    groups: ClassVar[int] = 2

    def check(self, totals: Floats, classes: Sequence[object]) -> None:
        fewest, most = int(np.argmin(totals)), int(np.argmax(totals))
        if not self.is_feasible(totals[fewest], totals[most]):
            raise ValueError(
                f"the specified nu is infeasible: nu={self.nu!r}, but the largest possible nu for "
                f"the weights of classes {classes[fewest]} and {classes[most]} is "
                f"{largest_nu(totals[fewest], totals[most])!r}; lower nu, or balance the classes "
                "with class_weight='balanced'"
            )

    def dual(self, target: Floats, box: Floats, totals: Totals | None = None) -> Dual:
        return nu_svc(target, self.nu, box, totals)

    def read(self, bias: Floats, tol: float) -> Reading:
        plus, minus = map(float, bias)
        rho = (minus - plus) / 2  # may be negative for indefinite kernels
        return Reading((plus + minus) / 2, rho if abs(rho) > tol else None)

    def margin(self, coef: Floats, box: Floats, other: Floats) -> float:
        """Return the margin that coefficients were divided by, from their sum.

        Parameters
        ----------
        coef, box : ndarray
            Coefficients and boxes of one class.
        other : ndarray
            Boxes of the other class.
        """
        size = float(np.abs(coef).sum())
        return self.nu * float(box.sum() + other.sum()) / 2 / size if size > 0 else 1.0

    def is_feasible(self, first: float, second: float) -> bool:
        """Return whether two classes of these total weights allow this nu."""
        return self.nu <= largest_nu(first, second) * (1 + _NU_ROUNDING)

    def feasible(self, target: Floats, box: Floats) -> NuSVC:
        positive, every = float(box[target > 0].sum()), float(box.sum())
        if self.is_feasible(positive, every - positive):
            return self  # `nu_svc` clips an excess that is rounding
        return replace(self, nu=largest_nu(positive, every - positive))


@dataclass(frozen=True)
class EpsilonSVR(PenalizedLoss):
    """Epsilon-support vector regression: a `PenalizedLoss` of z_i = |y_i - f(x_i)| - epsilon."""

    epsilon: float = 0.1

    def dual(self, target: Floats, box: Floats, totals: Totals | None = None) -> Dual:
        dual = eps_svr(target, box, self.epsilon)
        if self.loss == "linear":
            return dual
        return _squared(dual, box, (totals or Totals.of(target, box)).square)


@dataclass(frozen=True)
class NuSVR(DualFormulation):
    """Nu-support vector regression: at most a part `nu` of the rows lie outside the tube.

    Minimises 1/2 |w|^2 + C' (nu W epsilon + sum_i weight_i max(0, |y_i - f(x_i)| - epsilon)) over
    f and epsilon >= 0, where W is the sum of the weights.

    Attributes
    ----------
    C, nu : float
    scaling : {"libsvm", "schoelkopf"}
        Meaning of C: with "libsvm" C' = C, the penalty of a row of weight one; with "schoelkopf"
        C' = C / W, which does not grow with the number of rows.
    """

    C: float = 1.0
    nu: float = 0.5
    scaling: Scaling = "libsvm"

    groups: ClassVar[int] = 2

    @property
    def scale(self) -> float:
        return self.C

    def box(self, weight: Floats, total: float | None = None) -> Floats:
        if self.scaling == "libsvm":
            return self.C * weight
        return self.C / (float(weight.sum()) if total is None else total) * weight

    def dual(self, target: Floats, box: Floats, totals: Totals | None = None) -> Dual:
        return nu_svr(target, self.nu, box, totals)

    def read(self, bias: Floats, tol: float) -> Reading:
        plus, minus = map(float, bias)
        return Reading((plus + minus) / 2, attributes={"epsilon_": (plus - minus) / 2})


@dataclass(frozen=True)
class OneClass(DualFormulation):
    """One-class SVM: at most a part `nu` of the rows lie outside the region."""

    nu: float = 0.5

    coefficients_sum_to_zero: ClassVar[bool] = False

    def dual(self, target: Floats, box: Floats, totals: Totals | None = None) -> Dual:
        return one_class(len(box), self.nu, box, totals)

    def read(self, bias: Floats, tol: float) -> Reading:
        return Reading(float(bias[0]), attributes={"offset_": -np.asarray(bias)})


def largest_nu(first: float, second: float) -> float:
    """Return the largest nu that two classes of these total weights allow."""
    return float(2.0 * min(first, second) / (first + second))


# -- duals -----------------------------------------------------------------------------------------


def _signed_box(sign: Floats, C: Floats | np.float64) -> tuple[Floats, Floats]:
    """Return the bounds: [0, C] for sign 1, [-C, 0] for sign -1."""
    signed = sign * C
    lower = np.minimum(signed, 0.0)
    return lower[None], np.maximum(signed, 0.0, out=signed)[None]


def c_svc(y: Floats, C: Floats | float) -> Dual:
    """Return the dual of C-SVC: labels y = +-1, box C per row; decision value score + b."""
    y = np.array(y, dtype=np.float64)
    lower, upper = _signed_box(y, np.asarray(C, dtype=np.float64))
    return Dual(y[None], lower, upper, np.zeros((1, len(y)), np.uint8), np.zeros(1))


def nu_svc(
    y: Floats, nu: float, weight: Floats | float = 1.0, totals: Totals | None = None
) -> Dual:
    """Return the dual of nu-SVC in LIBSVM's scaling: labels y = +-1, box equal to the weight.

    The biases of the two groups give rho = (b_minus - b_plus) / 2 and b = (b_plus + b_minus) / 2;
    decision value (score + b) / rho.
    """
    y = np.asarray(y, dtype=np.float64)
    weight = np.broadcast_to(np.asarray(weight, dtype=np.float64), y.shape)
    totals = totals or Totals.of(y, weight)
    half, smaller = nu * totals.box / 2, min(totals.positive, totals.negative)
    if half > (1 + _NU_ROUNDING) * smaller:
        raise ValueError(
            f"nu={nu!r} is infeasible: the largest possible nu for these labels and weights is "
            f"{2 * smaller / totals.box!r}"
        )
    half = min(half, smaller)
    lower, upper = _signed_box(y, weight)
    group = (y < 0).astype(np.uint8)[None]
    return Dual(np.zeros((1, len(y))), lower, upper, group, np.array([half, -half]))


def _tube(plus: Floats, minus: Floats, C: Floats | float) -> tuple[Floats, Floats, Floats]:
    """Return targets and bounds of the two layers of a regression."""
    target = np.stack([plus, minus])
    lower, upper = np.zeros_like(target), np.zeros_like(target)
    upper[0] = C
    lower[1] = -np.asarray(C, dtype=np.float64)
    return target, lower, upper


def _squared(dual: Dual, cost: Floats, most: float) -> Dual:
    """Return the dual of a squared loss from that of the linear one.

    The loss cost z^2 makes alpha = 2 cost z at the optimum and subtracts alpha^2 / (4 cost) from
    the dual: the diagonal term is 1 / (2 cost). Instead of infinite bounds the variables have
    bounds that are never active: if the optimal objective is at most P, then cost z^2 <= P and
    alpha <= 2 sqrt(cost P).

    Parameters
    ----------
    dual : Dual
        Dual of the linear loss.
    cost : ndarray
        Penalty of the squared excess of each row.
    most : float
        Primal objective of a constant decision function, an upper bound on the optimum.
    """
    bound = 2.0 * np.sqrt(cost) * np.sqrt(most + cost)
    lower = np.where(dual.lower < 0, -bound, 0.0)
    upper = np.where(dual.upper > 0, bound, 0.0)
    return replace(dual, lower=lower, upper=upper, diagonal=1.0 / (2.0 * cost))


def eps_svr(y: Floats, C: Floats | float, epsilon: float) -> Dual:
    """Return the dual of epsilon-SVR: layer 0 has targets y - epsilon, layer 1 y + epsilon."""
    y = np.asarray(y, dtype=np.float64)
    target, lower, upper = _tube(y - epsilon, y + epsilon, C)
    return Dual(target, lower, upper, np.zeros(target.shape, np.uint8), np.zeros(1))


def nu_svr(y: Floats, nu: float, box: Floats | float, totals: Totals | None = None) -> Dual:
    """Return the dual of nu-SVR; the groups sum to +-nu / 2 times the sum of the boxes.

    The biases of the two groups give epsilon = (b_plus - b_minus) / 2, b = (b_plus + b_minus) / 2.
    """
    y = np.asarray(y, dtype=np.float64)
    box = np.broadcast_to(np.asarray(box, dtype=np.float64), y.shape)
    target, lower, upper = _tube(y, y, box)
    group = np.repeat(np.array([[0], [1]], np.uint8), len(y), axis=1)
    half = nu * (totals or Totals.of(y, box)).box / 2
    return Dual(target, lower, upper, group, np.array([half, -half]))


def one_class(
    n: int, nu: float, weight: Floats | float = 1.0, totals: Totals | None = None
) -> Dual:
    """Return the dual of a one-class SVM in LIBSVM's scaling; decision value score + b."""
    weight = np.broadcast_to(np.asarray(weight, dtype=np.float64), (n,))
    zero = np.zeros((1, n))
    return Dual(
        zero,
        zero.copy(),
        weight[None].copy(),
        np.zeros((1, n), np.uint8),
        np.array([nu * (totals or Totals.of(zero[0], weight)).box]),
    )
