"""Rows equal in every feature and in the label are one variable with a wider box.

Any split of the sum of their coefficients is optimal, so the merged problem has exactly the same
decision function, bias and objective.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from widestreet import _core
from widestreet._src.arrays import Floats, Ints
from widestreet._src.rows.base import Vectors


@dataclass(frozen=True, eq=False)
class Merged:
    """Which rows stand for the data.

    Attributes
    ----------
    kept : ndarray
        Index of the row that stands for each variable, ascending.
    member_of : ndarray or None
        For each original row, which of the kept ones it belongs to, or -1 if its box is empty;
        None when every row stands for itself.
    box : ndarray
        Width of the box of each kept row: the sum over its members.
    """

    kept: Ints
    member_of: Ints | None
    box: Floats

    @property
    def selection(self) -> Ints | None:
        """The kept rows; None when they are all rows."""
        return None if self.member_of is None else self.kept

    def spread(self, beta: Floats, own_box: Floats, *, proportional: bool = False) -> Floats:
        """Divide coefficients of merged rows among their members.

        Members fill their boxes one after the other, so that as few as possible become support
        vectors; or all get a share in proportion to their boxes.

        Parameters
        ----------
        beta : ndarray of shape (layers, len(kept))
        own_box : ndarray of shape (n,)
            Width of the box that each row has for itself.
        proportional : bool

        Returns
        -------
        ndarray of shape (layers, n)
        """
        if self.member_of is None:
            return beta
        rows = np.flatnonzero(self.member_of >= 0)
        member = self.member_of[rows]
        spread: Floats = np.zeros((len(beta), len(own_box)))
        if proportional:
            spread[:, rows] = beta[:, member] * (own_box[rows] / self.box[member])
            return spread
        order = np.lexsort((member, self.box[member]))  # small boxes are not added to large ones
        rows, member, box = rows[order], member[order], own_box[rows[order]]
        filled = np.cumsum(box, dtype=np.longdouble)  # up to and with each row
        first = np.flatnonzero(np.diff(member, prepend=-1))
        begin = np.empty(len(self.kept), dtype=np.longdouble)
        begin[member[first]] = (filled - box)[first]
        before = begin[member]
        for layer, line in zip(spread, beta, strict=True):
            amount = np.abs(line)[member]
            full = (filled - before <= amount) | (amount >= self.box[member])
            share = np.where(full, box, 0.0)
            rest = amount - np.bincount(member, share, len(line))[member]
            partly = np.flatnonzero(~full)
            partly = partly[np.diff(member[partly], prepend=-1) != 0]  # the first that is not full
            share[partly] = np.clip(rest[partly], 0.0, box[partly])
            layer[rows] = np.copysign(share, line[member])
        return spread

    def gather(self, coef: Floats) -> Floats:
        """Add up coefficients of all rows, of shape (lines, n), over the members of kept ones."""
        if self.member_of is None:
            return coef
        present = self.member_of >= 0
        gathered = np.zeros((len(coef), len(self.kept)))
        np.add.at(gathered.T, self.member_of[present], coef[:, present].T)
        return gathered


def merge_duplicates(rows: Vectors, label: Floats, box: Floats, threads: int) -> Merged:
    """Merge equal (row, label) pairs, adding up their boxes; empty boxes are left out."""
    first, distinct = _core.first_equal(rows.native, label, threads)
    if distinct == len(label):
        return without_empty(box)
    total: Floats = np.bincount(first, weights=box, minlength=len(label)).astype(np.float64)
    kept = np.flatnonzero(total > 0)
    position = np.full(len(label), -1)
    position[kept] = np.arange(len(kept))
    return Merged(kept, np.where(box > 0, position[first], -1), total[kept])


def without_empty(box: Floats) -> Merged:
    """Every row for itself, less those with an empty box."""
    kept = np.flatnonzero(box > 0)
    if len(kept) == len(box):
        return Merged(kept, None, box)
    member_of = np.full(len(box), -1)
    member_of[kept] = np.arange(len(kept))
    return Merged(kept, member_of, box[kept])
