"""Straight lines of INSVR: alpha, b and e move at constant rates until a variable changes its set.

A line ends where a variable that moves reaches a bound, or where a variable of E or R reaches g = 0
(equations 18 and 19 of the paper).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from widestreet._src.arrays import Floats, Ints
from widestreet._src.engines.insvr.extended_set import ERROR_VECTOR, REMAINING_VECTOR, ExtendedSet

_RATE_ROUNDING = 1e-12  # of the terms of a rate: a smaller rate is rounding of their sum
_LARGEST_TERM_ROUNDING = 1e-15  # of the largest term of all rates: rounding in absolute size
_TIE_TOLERANCE = 1e-12  # relative difference of step lengths that is rounding
_SMALLEST_RATE = 1e-300  # avoids 0 / 0 if nothing moves


@dataclass(frozen=True, eq=False)
class Line:
    """Rates of change along a line."""

    members: Ints  # variables whose alpha moves
    rate: Floats  # rates of their alpha
    bias: float
    tube: float
    g: Floats  # rates of g of every variable
    noise: Floats  # rates of g below this are rounding

    @classmethod
    def of(
        cls,
        extended: ExtendedSet,
        members: Ints,
        rate: Floats,
        bias: float,
        tube: float,
        linear_rate: Floats | None = None,
    ) -> Line:
        """Return the line along which alpha, b, e and the linear term z y have these rates."""
        s, samples = extended, members >> 1
        sign = 1.0 - 2.0 * (members & 1)
        f = s.scale * (s.K[:, samples] @ (sign * rate)) + bias
        g = s.z * np.repeat(f, 2) + tube
        size = np.sqrt(np.maximum(s.K.diagonal(), 0.0))
        terms = s.scale * size * float(np.abs(rate) @ size[samples]) + abs(bias) + abs(tube)
        if linear_rate is not None:
            g -= linear_rate
            terms += np.abs(linear_rate[::2])
        largest = s.scale * float(size.max() ** 2 * np.abs(rate).sum()) + float(terms.max())
        noise = np.repeat(_RATE_ROUNDING * terms + _LARGEST_TERM_ROUNDING * largest, 2)
        return cls(members, rate, bias, tube, g, noise)

    def longest_step(
        self, extended: ExtendedSet, limit: float, by_index: bool = False
    ) -> tuple[float, int | None]:
        """Return the length of the line, and the variable that changes its set at its end.

        Parameters
        ----------
        limit : float
            Length at which the line ends at the latest; then the variable is None.
        by_index : bool
            If True, ties are broken by the least index instead of the largest speed, which ends
            cycles (Bland's rule).
        """
        variables, length, speed = self._events(extended)
        shortest = float(length.min(initial=np.inf))
        if not shortest < limit * (1.0 - _TIE_TOLERANCE):
            return limit, None
        tied = np.flatnonzero(length <= shortest * (1.0 + _TIE_TOLERANCE))
        best = tied[np.argmin(variables[tied])] if by_index else tied[np.argmax(speed[tied])]
        return shortest, int(variables[best])

    def _events(self, extended: ExtendedSet) -> tuple[Ints, Floats, Floats]:
        """Return variables that reach a bound or g = 0, step lengths and relative speeds."""
        s = extended
        moving = np.abs(self.rate) > _RATE_ROUNDING * np.abs(self.rate).max(initial=0.0)
        members, rate = self.members[moving], self.rate[moving]
        alpha = s.alpha[members]
        to_bound = np.where(rate > 0, s.C - alpha, alpha) / np.abs(rate)
        approaching = (s.state == ERROR_VECTOR) & (self.g > self.noise)
        approaching |= (s.state == REMAINING_VECTOR) & (self.g < -self.noise)
        approaching[self.members] = False
        others = np.flatnonzero(approaching)
        g, g_rate = s.g[others], self.g[others]
        to_zero = np.abs(g) / np.abs(g_rate)
        to_zero[(g > 0) == (g_rate > 0)] = 0.0  # already beyond zero, by rounding
        speeds = [np.abs(r) / np.abs(r).max(initial=_SMALLEST_RATE) for r in (rate, g_rate)]
        return (
            np.concatenate([members, others]),
            np.concatenate([np.maximum(to_bound, 0.0), to_zero]),
            np.concatenate(speeds),
        )

    def follow(self, extended: ExtendedSet, step: float) -> None:
        """Move a set along the line. Sets: alpha, g, bias, tube."""
        moved = extended.alpha[self.members] + step * self.rate
        extended.alpha[self.members] = np.clip(moved, 0.0, extended.C)
        extended.g[:] += step * self.g
        extended.bias += step * self.bias
        extended.tube += step * self.tube

    def rises(self, v: int) -> bool:
        """Return whether alpha of a member rises along the line."""
        return bool(self.rate[self.members == v] > 0)
