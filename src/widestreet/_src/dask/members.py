"""Equal rows of a station as one row, and the rows of the user that it stands for.

Equal rows of one label are one variable whose box is the sum of their boxes. They are merged within
a station only, which is exact and saves less than merging all of them would.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from widestreet._src.arrays import Floats, Ints
from widestreet._src.rows import Merged, merge_duplicates
from widestreet._src.training.sharded import Block, Supports

Members: TypeAlias = tuple[Ints, Ints, Floats]


@dataclass(frozen=True, eq=False)
class MergedBlock(Block):
    """Distinct rows in one place. The weight of each is the sum over its members.

    Attributes
    ----------
    member_of : ndarray
        Of each row of the user, the position of the row that stands for it.
    member_origin, member_weight : ndarray
        The number and the weight of each row of the user.
    """

    member_of: Ints
    member_origin: Ints
    member_weight: Floats


def merged(block: Block) -> Block:
    """Return a block without rows of weight zero, with equal rows merged if there are any."""
    label = np.asarray(block.target, dtype=np.float64)
    found = merge_duplicates(block.rows, label, block.weight, 1)
    if found.member_of is None:
        return block
    there = np.flatnonzero(found.member_of >= 0)
    first = np.unique(found.member_of[there], return_index=True)[1]
    kept = there[first]  # the first of equal rows may have weight zero
    rows = block.rows.holding(block.rows.data[kept])
    given = (rows, block.target[kept], found.box, block.origin[kept], block.number)
    if len(kept) == len(there):
        return Block(*given)
    return MergedBlock(*given, found.member_of[there], block.origin[there], block.weight[there])


def members(block: Block, origin: Ints) -> Members:
    """Return the rows that some rows stand for, if more than one.

    Returns
    -------
    standing, numbers : ndarray
        The number of the row that stands for each, and its own.
    weight : ndarray
    """
    if not isinstance(block, MergedBlock):
        return origin[:0], origin[:0], np.empty(0)
    several = np.bincount(block.member_of, minlength=len(block)) > 1
    wanted = several & np.isin(block.origin, origin)
    found = np.flatnonzero(wanted[block.member_of])
    standing = block.origin[block.member_of[found]]
    return standing, block.member_origin[found], block.member_weight[found]


def spread(
    supports: Supports,
    found: Sequence[Members],
    box: Callable[[Ints, Floats], Floats],
    *,
    proportional: bool,
) -> Supports:
    """Divide the coefficients of support vectors among the rows they stand for.

    Parameters
    ----------
    supports : Supports
    found : sequence of Members
        Answers of all stations.
    box : callable
        Returns the widths of boxes from class indices and weights.
    proportional : bool
        If True, members get shares in proportion to their boxes.
    """
    standing, numbers, weight = (np.concatenate(parts) for parts in zip(*found, strict=True))
    if len(standing) == 0:
        return supports
    several, which = np.unique(standing, return_inverse=True)
    several = np.searchsorted(supports.origin, several)
    own = box(supports.code[several][which], weight)
    total = np.bincount(which, own).astype(np.float64)
    whole = Merged(np.arange(len(several)), which, total)
    parts = whole.spread(supports.lines[:, several], own, proportional=proportional)
    alone = np.setdiff1d(np.arange(len(supports.origin)), several)
    at = np.concatenate([alone, several[which]])
    origin = np.concatenate([supports.origin[alone], numbers])
    lines = np.concatenate([supports.lines[:, alone], parts], axis=1)
    order = np.argsort(origin)
    order = order[lines[:, order].any(axis=0)]
    at = at[order]
    return Supports(origin[order], supports.data[at], supports.code[at], lines[:, order])
