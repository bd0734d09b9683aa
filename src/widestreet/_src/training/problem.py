"""A dual with its starting point."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from widestreet._src.arrays import Floats, Ints
from widestreet._src.problems.dual import Dual


@dataclass(frozen=True, eq=False)
class Problem:
    """A dual with its starting point.

    Attributes
    ----------
    dual : Dual
    start : ndarray, optional
        Feasible starting point.
    first : ndarray, optional
        Rows of the first working set.
    score : ndarray, optional
        Scores of the rows at the starting point, if they are known.
    """

    dual: Dual
    start: Floats | None = None
    first: Ints | None = None
    score: Floats | None = None

    def starting_at(self, beta: Floats) -> Problem:
        """Return the problem with the feasible point nearest to `beta` as its starting point.

        The first rows are those with free variables at this point.
        """
        start = self.dual.nearest(beta)
        inside = (start > self.dual.lower) & (start < self.dual.upper)
        return replace(self, start=start, first=np.flatnonzero(inside.any(axis=0)), score=None)
