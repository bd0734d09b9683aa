"""Merging of rows that are equal in every feature and in the label.

Equal rows become one variable whose box is the sum of their boxes. Any split of its coefficient
among the equal rows is optimal, so the merged problem has exactly the same decision function, bias
and objective.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from widestreet import _core
from widestreet._src.arrays import Floats, Ints
from widestreet._src.rows.base import Vectors
from widestreet._src.rows.lent import LentRows

Labels: TypeAlias = Floats | NDArray[np.int8]  # numbers, or the numbers of classes


@dataclass(frozen=True, eq=False)
class Merged:
    """Distinct rows of a data set.

    Attributes
    ----------
    selection : ndarray or None
        Index of the row that represents each variable, ascending; None if every row is kept.
    member_of : ndarray or None
        For each original row, the position of its representative among them, or -1 if its box is
        empty; None if every row is kept.
    box : ndarray
        Width of the box of each kept row: the sum over its members.
    """

    selection: Ints | None
    member_of: Ints | None
    box: Floats

    @cached_property
    def kept(self) -> Ints:
        """Indices of the kept rows."""
        return np.arange(len(self.box)) if self.selection is None else self.selection

    def of(self, values: Any) -> Any:
        """Return the values of the kept rows: the same array if all rows are kept."""
        return values if self.selection is None else values[self.selection]

    def spread(self, beta: Floats, own_box: Floats, *, proportional: bool = False) -> Floats:
        """Divide coefficients of merged rows among their members.

        By default the boxes of the members are filled one after the other, so that as few as
        possible become support vectors.

        Parameters
        ----------
        beta : ndarray of shape (layers, len(kept))
        own_box : ndarray of shape (n,)
            Width of the box of each original row.
        proportional : bool
            If True, members get shares in proportion to their boxes.

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
        filled = np.cumsum(box, dtype=np.longdouble)  # including each row
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
        """Sum the coefficients of all rows, of shape (lines, n), over the members of kept rows."""
        if self.member_of is None:
            return coef
        present = self.member_of >= 0
        gathered = np.zeros((len(coef), len(self.kept)))
        np.add.at(gathered.T, self.member_of[present], coef[:, present].T)
        return gathered


def merge_duplicates(rows: Vectors, label: Labels, box: Floats, threads: int) -> Merged:
    """Merge equal (row, label) pairs and sum their boxes; rows with empty boxes are left out."""
    first, distinct = _first_equal(rows, label, threads)
    if distinct == len(label):
        return without_empty(box)
    total: Floats = np.bincount(first, weights=box, minlength=len(label)).astype(np.float64)
    kept = np.flatnonzero(total > 0)
    position = np.full(len(label), -1)
    position[kept] = np.arange(len(kept))
    return Merged(kept, np.where(box > 0, position[first], -1), total[kept])


def _first_equal(rows: Vectors, label: Labels, threads: int) -> tuple[Ints, int]:
    """Return the first row that is equal to each row, and the number of different rows.

    Of rows on a device, those that may be equal to another one are copied to the host.
    """
    if not isinstance(rows, LentRows):
        return _core.first_equal(rows.native, label, threads)
    some, first = rows.values.repeated(), np.arange(len(label))
    among, distinct = _core.first_equal(rows.take(some).native, label[some], threads)
    first[some] = some[among]
    return first, distinct + len(label) - len(some)


def without_empty(box: Floats) -> Merged:
    """Keep every row with a nonempty box, without merging."""
    if box.min(initial=np.inf) > 0:
        return Merged(None, None, box)
    kept = np.flatnonzero(box > 0)
    member_of = np.full(len(box), -1)
    member_of[kept] = np.arange(len(kept))
    return Merged(kept, member_of, box[kept])
