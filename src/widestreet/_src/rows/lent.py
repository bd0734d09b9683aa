"""Rows of a dense matrix in the memory of a device, where a user passed them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from widestreet import _core
from widestreet._src.arrays import Floats, Ints, Real
from widestreet._src.device.lent import LentArray
from widestreet._src.rows.dense import DenseRows, density_of


@dataclass(frozen=True, eq=False)
class LentRows:
    """Rows in the memory of a device, relative to `centre`.

    The core reads a copy on the host, which is made when it is first needed.

    Attributes
    ----------
    values : LentArray of shape (n, d)
    centre : ndarray of shape (d,), optional
    skip_zeros : bool
        True if the core visits only the nonzeros of a row.
    """

    values: LentArray
    centre: Floats | None = None
    skip_zeros: bool = False

    sparse: ClassVar[bool] = False

    def __reduce__(self) -> tuple[Any, ...]:
        return DenseRows, (self.host.values, self.centre, self.skip_zeros)

    @property
    def few_nonzeros(self) -> bool:
        """True if the core visits only the nonzeros of a row."""
        return self.skip_zeros

    @property
    def shape(self) -> tuple[int, int]:
        return self.values.shape[0], self.values.shape[1]

    @property
    def data(self) -> LentArray:
        """Rows as the user passed them."""
        return self.values

    @cached_property
    def host(self) -> DenseRows:
        """A copy of all rows on the host."""
        return self.holding(np.asarray(self.values))

    @property
    def native(self) -> _core.Rows:
        return self.host.native

    def density(self) -> float:
        """Return the approximate fraction of nonzero values."""
        return density_of(self.values)

    @cached_property
    def _squares(self) -> Floats:
        return self.values.squares(self.centre, None)

    def largest_square(self, threads: int) -> float:
        """Return the largest |x|^2 of a row, relative to the centre."""
        return float(self._squares.max(initial=0.0))

    def squares(self, index: Ints | None = None, threads: int = 1) -> Floats:
        """Return |x|^2 of some rows, or of all, relative to the centre."""
        return self._squares.copy() if index is None else self._squares[index]

    def take(self, index: Ints) -> DenseRows:
        """Return some of the rows on the host."""
        return self.holding(self.values[index])

    def to_send(self, index: Ints) -> Real:
        """Return some of the rows as one array."""
        return self.values[index]

    def holding(self, data: Real) -> DenseRows:
        """Return rows from what `to_send` returned, in the same form."""
        return DenseRows(data, self.centre, self.skip_zeros)
