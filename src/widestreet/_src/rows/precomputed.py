"""Rows of a precomputed kernel matrix."""

from __future__ import annotations

from dataclasses import dataclass

from widestreet._src.arrays import Ints, Real


@dataclass(frozen=True, eq=False)
class KernelRows:
    """Rows of a precomputed kernel matrix; `column` is the column of each row in it."""

    values: Real
    column: Ints

    @property
    def shape(self) -> tuple[int, int]:
        return self.values.shape[0], self.values.shape[1]

    @property
    def data(self) -> Real:
        """Rows as the user passed them."""
        return self.values
