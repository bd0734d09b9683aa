"""Sums over all rows of a dual, for duals whose rows lie in several places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum

import numpy as np

from widestreet._src.arrays import Floats


@dataclass(frozen=True)
class Totals:
    """Sums over the rows of a dual.

    Attributes
    ----------
    rows : int
    positive, negative : float
        Sum of the boxes of the rows with positive targets, and of the others.
    mean : float
        Mean of the targets, weighted by the boxes.
    square : float
        Sum of box * (target - mean)^2.
    """

    rows: int
    positive: float
    negative: float
    mean: float
    square: float

    @classmethod
    def of(cls, target: Floats, box: Floats) -> Totals:
        """Return the sums over some rows."""
        positive, every = float(box[target > 0].sum()), float(box.sum())
        mean = float(box @ target / every) if every > 0 else 0.0
        square = float(box @ np.square(target - mean))
        return cls(len(box), positive, float(box[~(target > 0)].sum()), mean, square)

    @classmethod
    def merged(cls, parts: Sequence[Totals]) -> Totals:
        """Return the sums over the rows of several parts."""
        every = fsum(part.box for part in parts)
        mean = fsum(part.box * part.mean for part in parts) / every if every > 0 else 0.0
        return cls(
            sum(part.rows for part in parts),
            fsum(part.positive for part in parts),
            fsum(part.negative for part in parts),
            mean,
            fsum(part.square + part.box * (part.mean - mean) ** 2 for part in parts),
        )

    @property
    def box(self) -> float:
        """Sum of all boxes."""
        return self.positive + self.negative
