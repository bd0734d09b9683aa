"""Ranges of C, gamma and epsilon, from the data, and the points of a search over them.

C begins with every fourth power of two from 2^-5 to 2^7. Larger values, up to the end of LIBSVM's
range, are tried only around a best point that lies on the edge: on noisy rows they take most of the
time, and are rarely chosen. gamma lies around the
quantiles of 1 / |x - x'|^2 of pairs of rows (Caputo et al., "Appearance-based object recognition
using SVMs: which kernel should I use?", 2002). epsilon is a part of the standard deviation of y.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from widestreet._src.estimators.widths import STEP

COARSE_C = tuple(2.0**k for k in range(-5, 8, 4))
LIMITS = {"C": (2.0**-9, 2.0**15), "gamma": (1e-12, 1e12), "epsilon": (1e-12, 1e12)}
_IN_UNITS = ("C", "epsilon")  # their limits are in units of the target
COARSE_EPSILON = (0.03, 0.3)  # of the standard deviation of y
_STEP = {"C": 16.0, "gamma": STEP, "epsilon": 10.0}  # ratio of neighbours in the coarse grid
_FINE = (-0.5, -0.25, 0.25, 0.5)  # steps from the best value

Point = tuple[float, ...]


@dataclass(eq=False)
class Ranges:
    """Values of the parameters of a search so far.

    Attributes
    ----------
    names : tuple of str
    values : list of tuple
        Coarse values of each parameter, ascending.
    given : frozenset of str
        Parameters whose values are neither extended nor refined.
    unit : float
        Unit of the target, in which C and epsilon are limited.
    """

    names: tuple[str, ...]
    values: list[tuple[float, ...]]
    given: frozenset[str] = frozenset()
    unit: float = 1.0

    def coarse(self) -> list[Point]:
        """Return all points of the coarse grid."""
        return list(product(*self.values))

    def beyond(self, best: Point) -> list[Point]:
        """Return points beyond the edges of the grid on which the best point lies.

        Sets: values, which are extended. There are none at the limits of a parameter.
        """
        found: set[Point] = set()
        for k, name in enumerate(self.names):
            if not self._varies(k):
                continue
            here, unit = self.values[k], self.unit if name in _IN_UNITS else 1.0
            least, most = (unit * limit for limit in LIMITS[name])
            new: list[float] = []
            if best[k] == here[0] and here[0] / _STEP[name] >= least:
                new.append(here[0] / _STEP[name])
            if best[k] == here[-1] and here[-1] * _STEP[name] <= most:
                new.append(here[-1] * _STEP[name])
            for value in new:
                self.values[k] = tuple(sorted((*self.values[k], value)))
                near = [self._near(j, best[j]) for j in range(len(self.names))]
                near[k] = (value,)
                found |= set(product(*near))
        return sorted(found)

    def _varies(self, k: int) -> bool:
        """Return whether values of a parameter may be added."""
        return len(self.values[k]) > 1 and self.names[k] not in self.given

    def _near(self, k: int, value: float) -> tuple[float, ...]:
        """Return a value and its neighbours in the coarse grid."""
        at = self.values[k].index(value)
        return self.values[k][max(0, at - 1) : at + 2]

    def fine(self, best: Point, names: Sequence[str]) -> list[Point]:
        """Return points between the best point and its neighbours, for some of the parameters."""
        lines = [
            sorted([value, *(value * _STEP[name] ** part for part in _FINE)])
            if name in names and self._varies(k)
            else [value]
            for k, (name, value) in enumerate(zip(self.names, best, strict=True))
        ]
        return [point for point in product(*lines) if point != best]

    def on_edge(self, best: Point) -> list[str]:
        """Return the parameters whose best value is an end of their range."""
        return [
            name
            for k, name in enumerate(self.names)
            if len(self.values[k]) > 1 and not self.values[k][0] < best[k] < self.values[k][-1]
        ]

    def parameters(self, point: Point) -> Mapping[str, float]:
        """Return a point as parameters of an estimator."""
        return dict(zip(self.names, point, strict=True))
