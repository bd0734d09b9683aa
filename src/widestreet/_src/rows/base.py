"""Protocols of row storage."""

from __future__ import annotations

from typing import Any, Protocol

from widestreet import _core
from widestreet._src.arrays import Floats, Ints


def without_native(rows: Vectors) -> dict[str, Any]:
    """Return the attributes of rows to pickle; objects of the core are created again."""
    return {name: value for name, value in vars(rows).items() if name not in ("native", "levels")}


class Rows(Protocol):
    """Rows that a kernel can be evaluated on."""

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        ...

    @property
    def data(self) -> Any:
        """Rows as the user passed them; indexing with row numbers selects rows."""
        ...


class Vectors(Rows, Protocol):
    """Rows of features that the core can read.

    Attributes
    ----------
    native : _core.Rows
        Rows in the form of the core.
    centre : ndarray or None
        Point that the core subtracts from the rows.
    sparse : bool
        True if zeros are not stored.
    few_nonzeros : bool
        True if the core visits only the nonzeros of a row.
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
        """Return the approximate fraction of nonzero values."""
        ...

    def largest_square(self, threads: int) -> float:
        """Return the largest |x|^2 of a row, relative to the centre."""
        ...

    def squares(self, index: Ints | None = None, threads: int = 1) -> Floats:
        """Return |x|^2 of some rows, relative to the centre."""
        ...

    def take(self, index: Ints) -> Vectors:
        """Return some of the rows."""
        ...

    def to_send(self, index: Ints) -> Any:
        """Return some of the rows with all their digits, as one array or matrix."""
        ...

    def holding(self, data: Any) -> Vectors:
        """Return rows from what `to_send` returned, in the form and with the centre of these."""
        ...
