"""Memory that a fit needs, and the size of its working set."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from widestreet._src.problems.dual import Dual
from widestreet._src.rows.levels import bytes_of_levels
from widestreet._src.training.settings import Settings

_LEAST_TILE = 256  # rows of the smallest working set worth having
_PANEL_BYTES = 1 << 26  # scratch of a scan
_PART_OF_LEVELS = 8  # levels of rows take at most max_memory over this


def _fixed_memory(rows: int, layers: int, columns: int) -> int:
    """Return the bytes of arrays with one entry per row, and of the scratch of a scan."""
    return rows * 200 * layers + min(_PANEL_BYTES, 8 * rows * columns) + (1 << 20)


def least_memory(dual: Dual, columns: int) -> int:
    """Return the smallest number of bytes with which a problem can be solved."""
    return least_memory_of(dual.rows, dual.layers, columns)


def least_memory_of(rows: int, layers: int, columns: int) -> int:
    """Return the smallest number of bytes for so many rows, layers of variables and columns."""
    return _fixed_memory(rows, layers, columns) + 16 * min(_LEAST_TILE, rows) ** 2


def working_set_capacity(max_memory: int, dual: Dual, columns: int) -> int:
    """Return the number of working-set rows for which `max_memory` bytes suffice.

    Half of the memory that the other arrays leave is for the tile in float64, half for its copy
    while it grows and for blocks of pair steps.
    """
    least = least_memory(dual, columns)
    if max_memory < least:
        raise ValueError(
            f"max_memory={max_memory:,} bytes is too small: {dual.rows:,} rows of {columns:,} "
            f"columns need at least {least:,} bytes; raise max_memory (or cache_size), or leave "
            "both at None"
        )
    return int(np.sqrt((max_memory - _fixed_memory(dual.rows, dual.layers, columns)) / 16))


def with_room_for_levels(rows: Any, dual: Dual, settings: Settings) -> tuple[Any, Settings]:
    """Return rows and settings with the memory that the levels of the rows leave.

    If they leave too little, the rows are returned without their grid.
    """
    needed, most = bytes_of_levels(rows), settings.max_memory
    if needed == 0:
        return rows, settings
    if needed > most // _PART_OF_LEVELS or most - needed < least_memory(dual, rows.shape[1]):
        return replace(rows, grid=None), settings
    return rows, replace(settings, max_memory=most - needed)
