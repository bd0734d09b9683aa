"""What rows are to the layers above: the protocols that a storage of rows implements."""

from __future__ import annotations

from typing import Any, Protocol

from widestreet import _core
from widestreet._src.arrays import Floats, Ints

VALUES_AT_ONCE = 1 << 20  # values whose squares are added up at a time


def without_native(rows: Vectors) -> dict[str, Any]:
    """Return what is pickled of rows: what the core makes of them is made anew."""
    return {name: value for name, value in vars(rows).items() if name != "native"}


class Rows(Protocol):
    """Rows that a kernel can be evaluated on."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        ...

    @property
    def data(self) -> Any:
        """The rows as the user knows them; indexing it with row numbers selects rows."""
        ...


class Vectors(Rows, Protocol):
    """Rows of features, which the core can read.

    Attributes
    ----------
    native : _core.Rows
        The rows for the core.
    centre : ndarray or None
        The point relative to which the core sees the rows.
    sparse : bool
        Whether zeros are not stored.
    few_nonzeros : bool
        Whether the core visits the nonzeros of a row only.
    """

    @property
    def native(self) -> _core.Rows: ...

    @property
    def centre(self) -> Floats | None: ...

    @property
    def sparse(self) -> bool: ...

    @property
    def few_nonzeros(self) -> bool: ...

    def density(self) -> float:
        """Return the part of the values that are not zero, more or less."""
        ...

    def largest_square(self, threads: int) -> float:
        """Return the largest |x|^2 of a row, relative to the centre."""
        ...

    def squares(self, index: Ints | None = None) -> Floats:
        """Return |x|^2 of some rows, relative to the centre."""
        ...
