"""Rows in memory with a copy on a device, on which scans run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from widestreet import _core
from widestreet._src.arrays import Floats, Ints
from widestreet._src.device.contract import Device, Held, Map
from widestreet._src.device.lent import LentArray
from widestreet._src.rows.base import Vectors

_KEPT = 1 << 28  # bytes that stay after a fit: to get and to return them takes 2 ms
_PART_OF_ROOM = 0.7  # of the memory: rows that take more are copied block by block
_PARTS = 8  # of the room: a block of rows takes one


@dataclass(frozen=True, eq=False)
class DeviceRows:
    """Rows of the host, and the device that scans them.

    Attributes
    ----------
    host : Vectors
    device : Device
    most : int
        Limit of the device memory in bytes.
    shortages : list of str
        Reasons of the device for which its memory did not suffice for a scan.
    """

    host: Vectors
    device: Device
    most: int
    shortages: list[str] = field(default_factory=list, repr=False)
    _copies: dict[Map, Held | None] = field(default_factory=dict, repr=False)
    _squares: list[Floats] = field(default_factory=list, repr=False)  # none, or of all rows

    @property
    def _room(self) -> int:
        return int(_PART_OF_ROOM * min(self.most, self.device.room()))

    def held(self, by: Map) -> Held | None:
        """Return the rows on the device; None if they do not fit. Sets: the copies."""
        if by not in self._copies:
            self._copies.clear()
            rows, features = self.shape
            found = None
            if rows * self.device.bytes_per_row(features) <= self._room:
                try:
                    found = self.hold(by)
                except MemoryError:  # another process uses the device
                    self.device.release()
            self._copies[by] = found
        return self._copies[by]

    def hold(self, by: Map, index: Ints | slice = slice(None)) -> Held:
        """Copy some rows to the device."""
        data = self.host.data
        some = data.part(index) if isinstance(data, LentArray) else data[index]
        return self.device.hold(some, self.host.centre, by)

    @property
    def at_once(self) -> int:
        """Number of rows that are copied at a time if not all of them fit."""
        return max(1, self._room // (_PARTS * self.device.bytes_per_row(self.shape[1])))

    def close(self) -> None:
        """Free the memory of the device but a little for the next fit. Sets: the copies."""
        self._copies.clear()
        self.device.release(_KEPT)

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_copies": {}, "_squares": []}

    # -- the rows of the host ----------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, int]:
        return self.host.shape

    @property
    def data(self) -> Any:
        return self.host.data

    @property
    def native(self) -> _core.Rows:
        return self.host.native

    @property
    def centre(self) -> Floats | None:
        return self.host.centre

    @property
    def low(self) -> Floats | None:
        return getattr(self.host, "low", None)

    @property
    def origin(self) -> Floats | None:
        return getattr(self.host, "origin", None)

    @property
    def sparse(self) -> bool:
        return self.host.sparse

    @property
    def few_nonzeros(self) -> bool:
        return self.host.few_nonzeros

    def density(self) -> float:
        return self.host.density()

    def largest_square(self, threads: int) -> float:
        return float(np.max(_all_squares(self, threads), initial=0.0))

    def squares(self, index: Ints | None = None, threads: int = 1) -> Floats:
        """Return |x|^2 of rows; those of all rows are computed once. Sets: squares."""
        every = _all_squares(self, threads)
        return every.copy() if index is None else every[index]

    def take(self, index: Ints) -> Vectors:
        return self.host.take(index)

    def to_send(self, index: Ints) -> Any:
        return self.host.to_send(index)

    def holding(self, data: Any) -> Vectors:
        return self.host.holding(data)


def _all_squares(rows: DeviceRows, threads: int) -> Floats:
    """Return |x|^2 of all rows. Sets: their squares."""
    if not rows._squares:
        rows._squares.append(rows.host.squares(None, threads))
    return rows._squares[0]


def memory_left(rows: DeviceRows) -> int:
    """Return the bytes of the limit that rows leave for working sets."""
    count, features = rows.shape
    return max(0, rows.most - count * rows.device.bytes_per_row(features))


def rows_that_fit(rows: DeviceRows) -> int:
    """Return the number of rows that fit on the device as a whole."""
    return rows._room // rows.device.bytes_per_row(rows.shape[1])
