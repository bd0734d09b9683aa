"""The reported bias b and half width e of the tube.

The variables determine intervals for b + e (upper sides) and -b + e (lower sides). Without a free
variable an interval is more than a point; the middle is reported, as LIBSVM does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from widestreet._src.engines.insvr.extended_set import ExtendedSet


@dataclass(frozen=True)
class Interval:
    """Interval of the optimal values of one threshold."""

    low: float
    high: float

    @property
    def middle(self) -> float:
        return 0.5 * (self.low + self.high)


def thresholds(extended: ExtendedSet) -> tuple[float, float]:
    """Return b and e; the middle of the optimal values with e >= 0 if they are not unique."""
    upper, lower = interval(extended, 0), interval(extended, 1)
    p, q = upper.middle, lower.middle  # b + e and -b + e
    room_p, room_q = upper.high - p, lower.high - q
    if p + q < 0 < room_p + room_q:
        share = min(1.0, -(p + q) / (room_p + room_q))
        p, q = p + share * room_p, q + share * room_q
    return 0.5 * (p - q), 0.5 * (p + q)


def interval(extended: ExtendedSet, side: int) -> Interval:
    """Return the optimal values of z b + e: of the upper side (0) or of the lower one (1)."""
    sign = 1 - 2 * side
    at_zero = sign * extended.bias + extended.tube - extended.g[side::2]  # z b + e with g = 0
    zero, full = extended.at_bounds(extended.alpha[side::2])
    free = ~(zero | full)
    if free.any():
        value = float(at_zero[free].mean())
        return Interval(value, value)
    low = float(np.max(at_zero[zero], initial=-np.inf))
    return Interval(low, float(np.min(at_zero[full], initial=np.inf)))
