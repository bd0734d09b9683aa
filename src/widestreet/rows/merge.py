"""Rows equal in every feature and in the label are one variable with a wider box.

Any split of the sum of their coefficients is optimal, so the merged problem has exactly the same
decision function, bias and objective (ALGORITHMS B12).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from widestreet import _core
from widestreet.arrays import Floats, Ints
from widestreet.rows.memory import Vectors


@dataclass(frozen=True, eq=False)
class Merged:
    """Which rows stand for the data.

    Attributes
    ----------
    kept : ndarray
        Index of the row that stands for each variable, ascending.
    member_of : ndarray or None
        For each original row, which of the kept ones it belongs to, or -1 if its weight is zero;
        None when every row stands for itself.
    weight : ndarray
        Sum of the weights of the members of each kept row.
    """

    kept: Ints
    member_of: Ints | None
    weight: Floats

    def spread(self, beta: Floats, weight: Floats) -> Floats:
        """Divide coefficients of merged rows among their members in proportion to weight.

        Parameters
        ----------
        beta : ndarray of shape (layers, len(kept))
        weight : ndarray of shape (n,)

        Returns
        -------
        ndarray of shape (layers, n)
        """
        if self.member_of is None:
            return beta
        share = np.where(self.member_of >= 0, weight / self.weight[self.member_of], 0.0)
        spread: Floats = beta[:, self.member_of] * share
        return spread


def merge_duplicates(rows: Vectors, label: Floats, weight: Floats, threads: int) -> Merged:
    """Merge equal (row, label) pairs and leave out rows of weight zero."""
    first, distinct = _core.first_equal(rows.native, label, threads)
    if distinct == len(label) and weight.all():
        return Merged(np.arange(len(label)), None, weight)
    total: Floats = np.bincount(first, weights=weight, minlength=len(label)).astype(np.float64)
    kept = np.flatnonzero(total > 0)
    position = np.full(len(label), -1)
    position[kept] = np.arange(len(kept))
    member_of = np.where(weight > 0, position[first], -1)
    return Merged(kept, member_of, total[kept])
