"""Rows of a CSR matrix in memory, with int32 or int64 indices, never copied."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from widestreet import _core
from widestreet._src.arrays import Floats, Ints
from widestreet._src.rows.base import without_native
from widestreet._src.rows.levels import Grid


@dataclass(frozen=True, eq=False)
class CsrRows:
    """Rows of a CSR matrix or array with sorted, distinct column indices.

    Attributes
    ----------
    values : sparse matrix of shape (n, d)
    grid : Grid, optional
        Grid on which a sample of the values lies.
    """

    values: Any
    grid: Grid | None = None

    centre: ClassVar[None] = None
    sparse: ClassVar[bool] = True

    def __getstate__(self) -> dict[str, Any]:
        return without_native(self)

    @property
    def shape(self) -> tuple[int, int]:
        return self.values.shape[0], self.values.shape[1]

    few_nonzeros: ClassVar[bool] = True

    def density(self) -> float:
        """Return the fraction of values that are stored."""
        return float(self.values.nnz) / max(1, self.shape[0] * self.shape[1])

    @cached_property
    def native(self) -> _core.Rows:
        csr = self.values
        indices, indptr = csr.indices, csr.indptr
        if indices.dtype != indptr.dtype:
            wide = np.promote_types(indices.dtype, indptr.dtype)
            indices, indptr = indices.astype(wide), indptr.astype(wide)
        data, indices, indptr = map(np.ascontiguousarray, (csr.data, indices, indptr))
        return _core.Rows.csr(data, indices, indptr, *self.shape)

    def largest_square(self, threads: int) -> float:
        """Return the largest |x|^2 of a row."""
        return _core.largest_square(self.native, threads)

    def squares(self, index: Ints | None = None, threads: int = 1) -> Floats:
        """Return |x|^2 of some rows, or of all."""
        return _core.squares(self.native, index, threads)

    def take(self, index: Ints) -> CsrRows:
        """Return some of the rows."""
        return self.holding(self.values[index])

    def to_send(self, index: Ints) -> Any:
        """Return some of the rows as a matrix."""
        return self.values[index]

    def holding(self, data: Any) -> CsrRows:
        """Return rows from what `to_send` returned."""
        return CsrRows(data, self.grid)

    @property
    def data(self) -> Any:
        """Rows as the user passed them."""
        return self.values
