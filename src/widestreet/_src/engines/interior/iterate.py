"""The interior point: variables strictly inside their boxes, with slacks and multipliers.

minimise 1/2 c'(V V' + D)c - t'beta    s.t.  lower <= beta <= upper,   A beta = total

sl, su    slacks beta - lower and upper - beta; kept as variables of their own, because they
          would be lost in rounding as differences
zl, zu    their multipliers
A'm       multipliers m of the sums, the negative biases, by variable
rd        residual of the gradient: (K + D)c - t - A'm - zl + zu
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from widestreet._src.arrays import Bools, Floats
from widestreet._src.engines.interior.low_rank_factor import Factor
from widestreet._src.problems.dual import Dual

_ROUNDING_OF_TOTAL = 1e-12  # of the widths of a group: a sum this near to its limit is at it


@dataclass(eq=False)
class Iterate:
    """Interior point of a dual.

    Attributes
    ----------
    movable : ndarray of bool, shape (layers, n)
        Variables that can move. Others have equal bounds, or the sum of their group leaves only
        one value.
    beta, sl, su, zl, zu : ndarray of shape (layers, n)
    multiplier : ndarray of shape (groups,)
    inner : ndarray of shape (rank,)
    slope : float
        Typical size of multipliers.
    """

    movable: Bools
    beta: Floats
    sl: Floats
    su: Floats
    zl: Floats
    zu: Floats
    multiplier: Floats
    inner: Floats
    slope: float

    @property
    def complementarity(self) -> float:
        """Sum of the products of slacks and multipliers."""
        return float((self.zl * self.sl).sum() + (self.zu * self.su).sum())

    @property
    def count(self) -> int:
        """Number of products of slacks and multipliers."""
        return max(1, 2 * int(np.count_nonzero(self.movable)))

    def bounds_approached(self) -> tuple[Bools, Bools]:
        """Return the masks of the variables that approach their lower and their upper bound.

        At a strictly complementary optimum either a slack or its multiplier is zero. Both are
        compared in units of their typical sizes.
        """
        unit = self._slack_unit / self.slope
        lower, upper = self.sl < unit * self.zl, self.su < unit * self.zu
        nearer = self.sl <= self.su
        return lower & self.movable & nearer, upper & self.movable & ~nearer

    @property
    def _slack_unit(self) -> float:
        return float(np.max(np.abs(self.beta), where=self.movable, initial=0.0))

    def moved(self, a: float, step: Step) -> Iterate:
        """Return the iterate after a part `a` of a step."""
        return Iterate(
            self.movable,
            self.beta + a * step.beta,
            self.sl + a * step.beta,
            self.su - a * step.beta,
            self.zl + a * step.zl,
            self.zu + a * step.zu,
            self.multiplier + a * step.multiplier,
            self.inner + a * step.inner,
            self.slope,
        )


@dataclass(frozen=True, eq=False)
class Step:
    """Direction of a step of all that moves."""

    beta: Floats
    multiplier: Floats
    inner: Floats
    zl: Floats
    zu: Floats

    def longest(self, at: Iterate) -> float:
        """Return the largest part of the step, at most 1, that keeps everything positive."""
        a = 1.0
        for value, change in (
            (at.sl, self.beta),
            (at.su, -self.beta),
            (at.zl, self.zl),
            (at.zu, self.zu),
        ):
            down = change < 0
            ratio = np.min(value[down] / -change[down], initial=np.inf)
            a = min(a, float(ratio))
        return a


def scores(factor: Factor, dual: Dual, beta: Floats, inner: Floats) -> Floats:
    """Return the scores (V V' + D)c of all rows."""
    score = factor.times(inner)
    return score if dual.diagonal is None else score + dual.diagonal * beta.sum(axis=0)


def first_iterate(factor: Factor, dual: Dual) -> Iterate:
    """Return the first iterate: the sums are met, and all products of slacks are equal."""
    movable = dual.upper > dual.lower
    beta = np.where(movable, 0.0, dual.lower)
    typical = _typical_coefficient(factor, dual)
    for g, total in enumerate(dual.total):
        _start_group(dual, beta, movable, dual.group == g, float(total), typical)
    sl = np.where(movable, beta - dual.lower, 1.0)
    su = np.where(movable, dual.upper - beta, 1.0)
    inner = factor.accurate_transposed(beta.sum(axis=0)).high  # later steps keep its digits
    gradient = scores(factor, dual, beta, inner) - dual.target
    multiplier = np.zeros(dual.groups)
    slope = 0.0
    for g in range(dual.groups):
        mine = (dual.group == g) & movable
        if mine.any():
            multiplier[g] = float(np.median(gradient[mine]))
            slope = max(slope, float(np.abs(gradient[mine] - multiplier[g]).mean()))
    slope = slope or float(np.abs(gradient).max(initial=0.0)) or 1.0
    excess = gradient - multiplier[dual.group]
    zl = np.where(movable, np.maximum(excess, 0.0) + slope, 0.0)
    zu = np.where(movable, np.maximum(-excess, 0.0) + slope, 0.0)
    return Iterate(
        movable, beta, sl, su, zl, zu, multiplier, inner, float(np.ptp(dual.target)) or slope
    )


def _typical_coefficient(factor: Factor, dual: Dual) -> float:
    """Return the typical size of the best coefficients among those proportional to the targets."""
    coef = dual.target.mean(axis=0)
    coef = coef - coef.mean()
    inner = factor.transposed(coef)
    norm = float(inner @ inner)
    if dual.diagonal is not None:
        norm += float(dual.diagonal @ coef**2)
    gain, size = float(coef @ coef), float(np.sqrt(np.mean(coef**2)))
    return gain / norm * size if norm > 0 and gain > 0 else np.inf


def _start_group(
    dual: Dual, beta: Floats, movable: Bools, mine: Bools, total: float, typical: float
) -> None:
    """Choose the first values of a group, so that they have its sum. Sets: beta, movable."""
    mine = mine & movable
    total -= float(beta[(dual.group == dual.group[mine][0]) & ~movable].sum()) if mine.any() else 0
    lower, upper = dual.lower[mine], dual.upper[mine]
    low, high = float(lower.sum()), float(upper.sum())
    slack = _ROUNDING_OF_TOTAL * (high - low)
    if not low + slack < total < high - slack:  # nothing can move
        beta[mine] = upper if total >= high - slack else lower
        movable[mine] = False
        return
    half = 0.5 * (upper - lower)
    size = np.minimum(half, np.sqrt(half * typical))  # between what is typical and the middle
    up, down = upper > 0, lower < 0
    plus, minus = float(size[up].sum()), float(size[down & ~up].sum())
    if total == 0 and plus > 0 and minus > 0:
        least = min(plus, minus)
        beta[mine] = np.where(up, size * (least / plus), -size * (least / minus))
    else:
        beta[mine] = lower + (upper - lower) * ((total - low) / (high - low))
