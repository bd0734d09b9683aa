"""Products of the levels of two sets of rows, for kernels that are functions of products."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from widestreet._src.arrays import Floats, Ints
from widestreet._src.kernels import rounding_bounds
from widestreet._src.kernels.kernels import RBF, Laplacian, NativeKernel
from widestreet._src.rows import CsrRows, DenseRows, Vectors
from widestreet._src.rows.levels import Levels, levels_of


@dataclass(frozen=True, eq=False)
class LevelProducts:
    """Levels of left and right rows on one grid."""

    left: Levels
    right: Levels

    @property
    def precise(self) -> bool:
        """True if the core multiplies levels in float64 too, not only in float32."""
        return self.left.precise and self.right.precise

    @property
    def error(self) -> float:
        """Bound on the norm of the deviations of a row from the grid."""
        return max(self.left.error, self.right.error)

    @property
    def cost(self) -> float:
        """Cost of a product per feature, in units of one fused multiply-add."""
        return 1 / 32 if self.left.binary and self.right.binary else 1 / 8

    def rbf_bound(
        self, gamma: float, I: Ints | None, J: Ints | None, *, double: bool
    ) -> tuple[rounding_bounds.RBFBound, Floats, Floats]:
        """Bound the error of a term of a sum over an RBF kernel.

        Returns
        -------
        bound : RBFBound
        mine, other : ndarray
            Squares |x|^2 of the left rows I and of the right rows J for which the bound holds.
        """
        mine, other = self.left.squares_of(I), self.right.squares_of(J)
        typical = 2.0 * float(np.mean(other)) if len(other) else 0.0
        bound = rounding_bounds.level_precision(
            gamma, len(other), self.error, typical, double=double
        )
        return bound, mine, other


def level_products(
    kernel: NativeKernel, left: Vectors, right: Vectors, threads: int
) -> LevelProducts | None:
    """Return the products of levels of which a kernel is a function; None if there are none."""
    grid = getattr(right, "grid", None)
    if grid is None or not isinstance(left, DenseRows | CsrRows) or isinstance(kernel, Laplacian):
        return None
    if grid.origin != 0.0 and not isinstance(kernel, RBF):
        return None
    found = levels_of(right, grid, threads), levels_of(left, grid, threads)
    return None if found[0] is None or found[1] is None else LevelProducts(found[1], found[0])
