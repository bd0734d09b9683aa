"""Memory of tiles that is kept from fit to fit: the first access to new memory is expensive."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable
from math import isqrt
from threading import Lock
from typing import Any

import numpy as np

from widestreet._src.arrays import Bytes, Real

ROUND_TO = 16  # lengths of tiles are multiples of this
_APART = 16  # values between two rows of a tile, so that a column uses more than one cache set


class TileMemory:
    """Memory of tiles of fits that follow each other, in any number of threads.

    What is lent may hold any values. Results do not depend on it.

    Parameters
    ----------
    limit : int, default=0
        Largest number of bytes kept, beside the sizes that were asked for.
    """

    def __init__(self, limit: int = 0) -> None:
        self.limit = limit
        self._idle: list[Bytes] = []  # by ascending length
        self._surplus: dict[int, int] = {}  # of lent memory: bytes beyond the size asked for
        self._lock = Lock()

    @property
    def bytes(self) -> int:
        """Number of bytes kept: of idle memory, and of lent memory beyond the size asked for."""
        return sum(map(len, self._idle)) + sum(self._surplus.values())

    def lend(self, size: int) -> Bytes:
        """Return at least `size` bytes: the longest that are kept, or new ones.

        Sets: what is kept.
        """
        with self._lock:
            if self._idle and len(self._idle[-1]) >= size:
                found = self._idle.pop()
                self._surplus[id(found)] = len(found) - size
                return found
        return np.empty(size, dtype=np.uint8)

    def take_back(self, memory: Bytes) -> None:
        """Keep memory that nothing uses any more; the shortest goes if that is too much.

        Sets: what is kept.
        """
        with self._lock:
            self._surplus.pop(id(memory), None)
            insort(self._idle, memory, key=len)
            if len(memory) > self.limit:
                self._idle.pop()
            while self._idle and self.bytes > self.limit:
                del self._idle[0]


class LentTiles:
    """Tiles of one working set in lent memory; the last one is in use.

    Parameters
    ----------
    memory : TileMemory
    """

    def __init__(self, memory: TileMemory) -> None:
        self._memory = memory
        self._lent: list[Bytes] = []

    def tile(self, least: int, dtype: Any) -> Real:
        """Return a tile with any values, as long as its memory allows, so that it need not grow.

        Sets: what is lent.
        """
        size = np.dtype(dtype).itemsize
        memory = self._memory.lend(size * least * (least + _APART))
        self._lent.append(memory)
        length = isqrt(len(memory) // size + (_APART // 2) ** 2) - _APART // 2
        length = max(least, length // ROUND_TO * ROUND_TO)
        used = size * length * (length + _APART)
        found: Real = memory[:used].view(dtype).reshape(length, length + _APART)[:, :length]
        return found

    def longer_tile(self, least: int, dtype: Any, copy_to: Callable[[Real], None]) -> Real:
        """Return a tile to which the values of the last one were copied.

        The memory of the last one is given back: it must not be used any more. If the copy ends
        with an exception, the last one stays in use instead. Sets: what is lent.
        """
        tile = self.tile(least, dtype)
        try:
            copy_to(tile)
        except BaseException:
            self._memory.take_back(self._lent.pop())
            raise
        self._give_back(len(self._lent) - 1)
        return tile

    def give_back(self) -> None:
        """Give the memory of all tiles back, which nothing may use any more.

        Sets: what is lent.
        """
        self._give_back(len(self._lent))

    def _give_back(self, count: int) -> None:
        for _ in range(count):
            self._memory.take_back(self._lent.pop(0))
