"""A dual to be solved, and where to begin."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from widestreet._src.arrays import Floats, Ints
from widestreet._src.problems.dual import Dual


@dataclass(frozen=True, eq=False)
class Problem:
    """A dual and where to begin.

    Attributes
    ----------
    dual : Dual
    start : ndarray, optional
        A feasible point to begin at.
    first : ndarray, optional
        Rows of the dual to begin with.
    """

    dual: Dual
    start: Floats | None = None
    first: Ints | None = None

    def starting_at(self, beta: Floats) -> Problem:
        """Begin near a point, with the rows that are strictly inside their box there."""
        start = self.dual.nearest(beta)
        inside = (start > self.dual.lower) & (start < self.dual.upper)
        return replace(self, start=start, first=np.flatnonzero(inside.any(axis=0)))
