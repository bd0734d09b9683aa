"""Kernel columns of the free variables: their kernel values with all rows.

Columns have slots in one array. Appending a column fills an empty slot, removing one leaves its
slot empty. Both cost O(n) and no reallocation most of the time.
"""

from __future__ import annotations

from copy import copy

import numpy as np

from widestreet._src.arrays import Floats, Ints

ALL_ROWS = slice(None)

_EMPTY_SLOTS_ALLOWED = 16  # in addition to one per column: products read empty slots as well
_GROWTH_FACTOR = 1.5  # of the size needed: geometric growth makes copies O(1) per entry
_FIRST_SLOTS = 16  # in addition to those needed, so that small arrays do not grow at every step


class KernelColumns:
    """Columns of an (n, k) kernel block, in the order in which they were appended.

    Parameters
    ----------
    rows : int
        Number of rows n.
    """

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self._slot: list[int] = []  # of each column, in `_values`
        self._empty: list[int] = []  # slots without a column, below the last used one
        self._values: Floats = np.zeros((rows, _FIRST_SLOTS))
        self._shared = False  # if a copy uses `_values` as well, it must not be written
        self._slots = np.array(self._slot, dtype=np.int64)

    def __len__(self) -> int:
        return len(self._slot)

    def copy(self) -> KernelColumns:
        """Return a copy; the array is shared until one of the two writes."""
        self._shared = True
        other = copy(self)
        other._slot, other._empty = self._slot.copy(), self._empty.copy()
        return other

    def _set_slots(self, slot: list[int], empty: list[int]) -> None:
        self._slot, self._empty = slot, empty
        self._slots = np.array(slot, dtype=np.int64)

    @property
    def _width(self) -> int:
        """Number of slots up to the last used one."""
        return len(self._slot) + len(self._empty)

    # -- reading -----------------------------------------------------------------------------------

    def column(self, index: int) -> Floats:
        """Return one column."""
        return self._values[: self.rows, self._slot[index]].copy()

    def block(self, rows: Ints) -> Floats:
        """Return the values of some rows in all columns."""
        found: Floats = self._values[np.ix_(rows, self._slots)]
        return found

    def row(self, row: int) -> Floats:
        """Return the values of one row in all columns."""
        found: Floats = self._values[row, self._slots]
        return found

    def product(self, coef: Floats, rows: Ints | slice = ALL_ROWS) -> Floats:
        """Return the product of the rows with a coefficient for each column."""
        weights = np.zeros(len(self._slot) + len(self._empty))
        weights[self._slots] = coef
        found: Floats = self._values[: self.rows, : len(weights)][rows] @ weights
        return found

    # -- columns -----------------------------------------------------------------------------------

    def replace(self, values: Floats) -> None:
        """Replace all columns. Sets: everything."""
        k = values.shape[1]
        self._values = np.zeros((self.rows, int(_GROWTH_FACTOR * k) + _FIRST_SLOTS))
        self._values[:, :k] = values
        self._shared = False
        self._set_slots(list(range(k)), [])

    def append(self, column: Floats) -> None:
        """Append a column. Sets: everything."""
        slot = self._empty[-1] if self._empty else self._width
        self._reserve(len(self._values), slot + 1)
        self._values[: self.rows, slot] = column
        del self._empty[-1:]
        self._slot.append(slot)
        self._set_slots(self._slot, self._empty)

    def remove(self, index: int) -> None:
        """Remove a column. Sets: everything."""
        self._empty.append(self._slot.pop(index))
        self._set_slots(self._slot, self._empty)
        if len(self._empty) > len(self._slot) + _EMPTY_SLOTS_ALLOWED:
            self._compact()

    def _compact(self) -> None:
        """Close the empty slots. Sets: everything."""
        k = len(self._slot)
        values = np.zeros_like(self._values)
        values[:, :k] = self._values[:, self._slots]
        self._values, self._shared = values, False
        self._set_slots(list(range(k)), [])

    def _reserve(self, rows: int, slots: int) -> None:
        """Make room for rows and slots in an unshared array. Sets: values."""
        height, width = self._values.shape
        if rows <= height and slots <= width and not self._shared:
            return
        if rows > height:
            height = int(_GROWTH_FACTOR * rows) + _FIRST_SLOTS
        if slots > width:
            width = int(_GROWTH_FACTOR * slots) + _FIRST_SLOTS
        values = np.zeros((height, width))
        k = self._width
        values[: self.rows, :k] = self._values[: self.rows, :k]
        self._values, self._shared = values, False

    # -- rows --------------------------------------------------------------------------------------

    def extend(self, values: Floats) -> None:
        """Append rows, given their values in all columns. Sets: rows, values."""
        m = len(values)
        self._reserve(self.rows + m, 1)
        self._values[self.rows : self.rows + m, self._slots] = values
        self.rows += m

    def select(self, order: Ints) -> None:
        """Keep the rows of `order`, in that order; erase all others. Sets: rows, values."""
        self._reserve(0, 0)
        self._values[:, self._empty] = 0.0
        moved = np.flatnonzero(order != np.arange(len(order)))
        self._values[moved] = self._values[order[moved]]
        self.rows = len(order)
        self._values[self.rows :] = 0.0
