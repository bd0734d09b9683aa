"""Division of the memory of a fit on stored rows."""

from __future__ import annotations

from dataclasses import dataclass

from widestreet._src.files.formats import BATCH_ROWS

LEDGER_BYTES = 12  # per row: its last score and the version of that
_STATE_BYTES = 300  # per row and layer of a block while it is asked, in examinations
_LARGEST_BLOCK = 1 << 28  # bytes of a block with its state
_LEAST_BLOCK = 1 << 20
_LEAST_REST = 1 << 22  # bytes of the smallest working set worth having, and of the scratch of scans
_TILE_BYTES = 24  # per pair of rows of the working set; a third of it is for support vectors


@dataclass(frozen=True)
class Plan:
    """Division of `max_memory`.

    Attributes
    ----------
    block_rows : int
        Rows of a block: its features are twice in memory, as the next block is read ahead.
    buffer_bytes : int
        Rows that are distributed to blocks at a time.
    batch_rows : int
        Rows that are read at a time.
    room : int
        Rows of the largest working set.
    """

    block_rows: int
    buffer_bytes: int
    batch_rows: int
    room: int

    @classmethod
    def of(cls, max_memory: int, rows: int, columns: int, itemsize: int, layers: int) -> Plan:
        """Divide memory, or raise ValueError if it is too small for so many rows."""
        ledger = LEDGER_BYTES * rows
        row = 2 * itemsize * columns + _STATE_BYTES * layers
        least = ledger + max(_LEAST_BLOCK, row) + _LEAST_REST
        if max_memory < least:
            raise ValueError(
                f"max_memory={max_memory:,} bytes is too small: {rows:,} stored rows of "
                f"{columns:,} columns need at least {least:,} bytes"
            )
        block = min(_LARGEST_BLOCK, max(_LEAST_BLOCK, (max_memory - ledger) // 8))
        block_rows = max(1, min(rows, block // row))
        rest = max_memory - ledger - block_rows * row
        batch_rows = max(1, min(BATCH_ROWS, block // (4 * 8 * columns)))
        return cls(block_rows, block // 2, batch_rows, int((rest / _TILE_BYTES) ** 0.5))


def fits_in_memory(max_memory: int, rows: int, columns: int, itemsize: int, layers: int) -> bool:
    """Return whether rows and all that a fit in memory needs are a small part of `max_memory`."""
    state = rows * (200 * layers + itemsize * columns)
    return 4 * state <= max_memory
