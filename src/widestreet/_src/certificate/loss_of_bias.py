"""The primal loss of the variables of one group as a function of the bias, and its minimum.

A variable v with the box [lower, upper] and the diagonal term d >= 0 of the dual contributes

    loss_v(b) = max over lower <= c <= upper of   c (f - b) - 1/2 d c^2,      f = t - Kc,

which is max(upper (f - b), lower (f - b)) for d = 0, and (f - b)_+^2 / (2 d) for d > 0, lower = 0
and an upper bound above (f - b) / d. Its derivative is minus the best coefficient c(b):

    d = 0   upper for b < f, lower for b > f
    d > 0   clip((f - b) / d, lower, upper), linear between the kinks f - d upper and f - d lower.

The slope of  b total + sum of loss_v(b)  is  total - sum of c_v(b). It never falls, so that the
best bias is where it changes its sign.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from widestreet._src.arrays import Bools, Floats
from widestreet._src.certificate.exact_sums import Terms, exact_sum, rounded

_CURVE_ROUNDING = 1e-12  # of the largest second derivative: smaller ones are rounding


@dataclass(frozen=True, eq=False)
class Variables:
    """Variables of one group.

    Attributes
    ----------
    f, lower, upper : ndarray of shape (m,)
    d : ndarray of shape (m,), or None
        Diagonal term of the dual; None if it is zero for all variables.
    """

    f: Floats
    lower: Floats
    upper: Floats
    d: Floats | None

    def __len__(self) -> int:
        return len(self.f)

    def some(self, which: Bools) -> Variables:
        """Select variables."""
        d = None if self.d is None else self.d[which]
        return Variables(self.f[which], self.lower[which], self.upper[which], d)

    @property
    def kinks(self) -> tuple[Floats, Floats]:
        """Biases below which c is the upper bound, and above which it is the lower one."""
        if self.d is None:
            return self.f, self.f
        return self.f - self.d * self.upper, self.f - self.d * self.lower

    @property
    def ends(self) -> tuple[float, float]:
        """Smallest and largest kink; infinities if there is none."""
        kinks = self.f if self.d is None else np.concatenate(self.kinks)
        return float(np.min(kinks, initial=np.inf)), float(np.max(kinks, initial=-np.inf))

    def coefficient(self, b: float, *, right: bool) -> Floats:
        """Return the best coefficients just left or just right of a bias."""
        excess = self.f - b
        step: Floats = np.where(excess > 0 if right else excess >= 0, self.upper, self.lower)
        if self.d is None:
            return step
        curved = self.d > 0
        free = np.divide(excess, self.d, where=curved, out=np.zeros_like(excess))
        return np.where(curved, np.clip(free, self.lower, self.upper), step)

    def loss(self, b: float) -> Floats:
        """Return the loss of each variable at a bias."""
        c = self.coefficient(b, right=True)
        linear: Floats = c * (self.f - b)
        return linear if self.d is None else linear - 0.5 * self.d * c * c


def join(parts: list[Variables]) -> Variables:
    """Concatenate variables."""
    d = None
    if any(part.d is not None for part in parts):
        d = np.concatenate([np.zeros(len(p)) if p.d is None else p.d for p in parts])
    return Variables(
        np.concatenate([part.f for part in parts]),
        np.concatenate([part.lower for part in parts]),
        np.concatenate([part.upper for part in parts]),
        d,
    )


@dataclass(frozen=True, eq=False)
class Band:
    """The loss of variables as a function of the bias b between a and z.

    Variables without a kink in between add up to the parabola
    constant - linear (b - a) + curve / 2 (b - a)^2; the others are listed.

    Attributes
    ----------
    a, z : float
    constant, linear, curve : Terms
    inside : Variables or None
        Variables with a kink in the band; None if there are too many.
    """

    a: float
    z: float
    constant: Terms
    linear: Terms
    curve: Terms
    inside: Variables | None


def band(variables: Variables, a: float, z: float, most: int | None) -> Band:
    """Return the loss of variables between two biases, with at most `most` of them listed."""
    first, last = variables.kinks
    above, below = first > z, last < a
    inside = ~(above | below)
    curve: Floats = np.zeros(0)
    constants, slopes = [], []
    if variables.d is not None:
        across = (first < a) & (last > z) & (variables.d > 0)
        inside &= ~across
        curve, rest = 1.0 / variables.d[across], variables.f[across] - a
        constants.append(0.5 * rest * rest * curve)
        slopes.append(rest * curve)
    c = np.where(above, variables.upper, np.where(below, variables.lower, 0.0))
    some = variables.some(c != 0)
    c = c[c != 0]
    constants.append(c * (some.f - a) - (0.0 if some.d is None else 0.5 * some.d * c * c))
    slopes.append(c)
    few = most is None or np.count_nonzero(inside) <= most
    return Band(
        a,
        z,
        exact_sum(np.concatenate(constants)),
        exact_sum(np.concatenate(slopes)),
        exact_sum(curve),
        variables.some(inside) if few else None,
    )


class Objective:
    """The sum  b total + sum of loss_v(b)  between two biases, over all parts.

    Parameters
    ----------
    bands : list of Band
        Bands of all parts between the same biases, each with its variables inside.
    total : float
        Required sum of the coefficients.
    """

    def __init__(self, bands: list[Band], total: float) -> None:
        self.a, self.z, self.total = bands[0].a, bands[0].z, total
        self._inside = join([part.inside for part in bands if part.inside is not None])
        self._constant = [part.constant for part in bands]
        self._linear = [part.linear for part in bands]
        self._curve = rounded(part.curve for part in bands)

    def slope(self, b: float, *, right: bool) -> float:
        """Return the slope just left or just right of a bias."""
        outside = [self.total, self._curve * (b - self.a)]
        less = [*self._linear, exact_sum(self._inside.coefficient(b, right=right))]
        return rounded([outside, *([-value for value in terms] for terms in less)])

    def value(self, b: float) -> float:
        """Return the value at a bias."""
        step = b - self.a
        outside = [b * self.total, -rounded(self._linear) * step, 0.5 * self._curve * step * step]
        return rounded([outside, *self._constant, exact_sum(self._inside.loss(b))])

    def minimisers(self, slack: float) -> tuple[float, float]:
        """Return the interval of minimisers: biases whose slope is zero, up to `slack`.

        The search goes over the kinks, in an order that does not depend on the order of the
        variables.
        """
        points, jumps, bends, curve = self._kinks()
        curves = np.cumsum(np.append(curve, bends))  # before each point, and after the last
        curves[curves <= _CURVE_ROUNDING * curves.max()] = 0.0
        right = self.slope(self.a, right=False) + np.cumsum(
            np.append(0.0, curves[1:-1] * (points[1:] - points[:-1])) + jumps
        )

        def crossing(level: float, behind: int) -> float:
            if behind == len(points):
                beyond = (level - right[-1]) / curves[-1] if curves[-1] > 0 else 0.0
                return float(points[-1] + beyond)
            excess = right[behind] - jumps[behind] - level
            if excess > 0 and curves[behind] > 0:
                return float(points[behind] - excess / curves[behind])
            return float(points[behind])

        return (
            crossing(-slack, int(np.searchsorted(right, -slack, side="left"))),
            crossing(slack, int(np.searchsorted(right, slack, side="right"))),
        )

    def _kinks(self) -> tuple[Floats, Floats, Floats, float]:
        """Return the points where the slope jumps or bends, the amounts, and the first curvature.

        The first point is the left end, where the amounts are zero.
        """
        inside, start = self._inside, np.array([self.a])
        points, jumps = [start, inside.f], [np.zeros(1), inside.upper - inside.lower]
        bends, curve = [np.zeros(1 + len(inside))], self._curve
        if inside.d is not None:
            curved = inside.d > 0
            sharp, soft = inside.some(~curved), inside.some(curved)
            assert soft.d is not None
            first, last = soft.kinks
            steep = 1.0 / soft.d
            entered = first < self.a
            curve += rounded([exact_sum(steep[entered])])
            points = [start, sharp.f, first[~entered], last]
            jumps = [np.zeros(1), sharp.upper - sharp.lower]
            jumps.append(np.zeros(np.count_nonzero(~entered) + len(last)))
            bends = [np.zeros(1 + len(sharp)), steep[~entered], -steep]
        at, by, bend = np.concatenate(points), np.concatenate(jumps), np.concatenate(bends)
        order = np.lexsort((bend, by, at))
        return at[order], by[order], bend[order], curve
