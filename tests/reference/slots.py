"""A symmetric tile in which rows come and go in place."""

from __future__ import annotations

import numpy as np


def relocate(tile, size: int, origin, target) -> np.ndarray:
    """Slot origin[i] moves to slot target[i], in rows and columns of the leading part."""
    tile = np.array(tile)
    part = tile[:size, :size]
    part[:, target] = part[:, origin]
    part[target] = part[origin]
    return tile


def mirror(tile, size: int, slots) -> np.ndarray:
    """Rows of the slots were written, their columns follow; of two slots the smaller one counts."""
    tile = np.array(tile)
    part = tile[:size, :size]
    for slot in np.sort(slots):
        part[:, slot] = part[slot]
    return tile


def copy_rows(to, source, begin: int, end: int, size: int) -> None:
    """Rows [begin, end) of the leading size x size part. Sets: to."""
    to[begin:end, :size] = source[begin:end, :size]


def gather(tile, slots) -> np.ndarray:
    """Rows and columns of the slots, in their order."""
    return np.array(tile)[np.ix_(slots, slots)]


def add_scores(tile, size: int, slots, change, score) -> np.ndarray:
    """Scores after the coefficients of the slots changed."""
    score = np.array(score)
    score[:size] += tile[slots, :size].astype(np.float64).T @ change
    return score
