"""Rows of a block that are read when the first kernel value is computed."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from widestreet import _core
from widestreet._src.arrays import Floats, Ints, Real
from widestreet._src.rows import Vectors


class LazyRows:
    """Dense rows that are read from a disk when they are needed.

    Parameters
    ----------
    load : callable
        Reads the rows.
    count : int
        Number of rows.
    none : Vectors
        No rows, in the form that these rows have.
    """

    def __init__(self, load: Callable[[], Real], count: int, none: Vectors) -> None:
        self.load, self._none = load, none
        self.shape = (count, none.shape[1])

    @cached_property
    def _rows(self) -> Vectors:
        return self._none.holding(self.load())

    @property
    def loaded(self) -> bool:
        """True if the rows have been read."""
        return "_rows" in vars(self)

    @property
    def data(self) -> Any:
        """Rows as the user passed them."""
        return self._rows.data

    @property
    def native(self) -> _core.Rows:
        return self._rows.native

    @property
    def centre(self) -> Floats | None:
        return self._none.centre

    @property
    def sparse(self) -> bool:
        return self._none.sparse

    @property
    def few_nonzeros(self) -> bool:
        """True if the core visits only the nonzeros of a row."""
        return self._none.few_nonzeros

    def density(self) -> float:
        """Return the approximate fraction of nonzero values."""
        return self._rows.density()

    def largest_square(self, threads: int) -> float:
        """Return the largest |x|^2 of a row, relative to the centre."""
        return self._rows.largest_square(threads)

    def squares(self, index: Ints | None = None, threads: int = 1) -> Floats:
        """Return |x|^2 of some rows, or of all, relative to the centre."""
        return self._rows.squares(index, threads)

    def take(self, index: Ints) -> LazyRows:
        """Return some of the rows, which are not read yet."""
        return LazyRows(lambda: self.data[index], len(index), self._none)

    def to_send(self, index: Ints) -> Any:
        """Return some of the rows with all their digits."""
        return self._rows.to_send(index)

    def holding(self, data: Any) -> Vectors:
        """Return rows from what `to_send` returned, in the same form."""
        return self._none.holding(data)
