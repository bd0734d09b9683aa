"""The inverse of a symmetric matrix that gains and loses rows, each change in O(k^2).

The matrices of incremental SVMs are bordered: rows of multipliers, then rows of margin vectors,

    M = [ D   A'   ]      D: zeros except one corner       A: labels, and ones
        [ A   Q_SS ]      Q_SS: kernel values between margin vectors

    grow      M -> [M V; V' B]:   R -> [R 0; 0 0] + [-RV; 1] (B - V'RV)^-1 [-RV; 1]'
    shrink    R -> R_kk - R_kp R_pp^-1 R_pk      k: the rows kept, p: the rows removed
    shift     a corner of M changes by s:   R -> R - s R_i R_i' / (1 + s R_ii)
    rescale   Q -> sQ:   R = [E F'; F G] -> [sE F'; F G/s]

Growing and shrinking take blocks of rows, since two rows together may leave M invertible where one
after the other would pass through a singular matrix. M itself is kept as well: solutions are
refined against it, and R is computed from it again when updates have accumulated rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from widestreet._src.arrays import Floats

_LARGEST_RESIDUAL = 1e-10  # of a right-hand side: an R that leaves more is computed again
_INVERSE_ROUNDING = 1e-15  # of max|M| max|R|: the residual that any inverse has in float64
_UPDATES_BETWEEN_INVERSIONS = 64  # bounds the rounding that updates accumulate in R
_MOST_REFINEMENTS = 4  # of a solution: they end earlier when the residual stops shrinking
_SMALLEST_PIVOT = 1e-6  # of its terms: a smaller pivot has lost six of sixteen digits


class BorderedInverse:
    """Symmetric matrix M and its inverse R, with integers as names of their rows.

    Attributes
    ----------
    keys : list of int
        Name of each row: negative for multipliers, otherwise a variable.
    matrix, inverse : ndarray of shape (k, k)
    on_change : callable or None
        Called after every change.
    """

    def __init__(self, on_change: Callable[[], None] | None = None) -> None:
        self.keys: list[int] = []
        self.matrix: Floats = np.zeros((0, 0))
        self.inverse: Floats = np.zeros((0, 0))
        self.on_change = on_change
        self._updates = 0  # since R was last computed from M

    def __contains__(self, key: int) -> bool:
        return key in self.keys

    def __len__(self) -> int:
        return len(self.keys)

    def column(self, key: int) -> Floats:
        """Return the column of R that belongs to a row of M."""
        return self.inverse[:, self.keys.index(key)]

    def error(self) -> float:
        """Return the largest entry of |MR - 1|."""
        if not self.keys:
            return 0.0
        return float(np.abs(self.matrix @ self.inverse - np.eye(len(self))).max())

    def solve(self, right: Floats) -> Floats:
        """Return the refined solution x of M x = right. Sets: inverse, if it was inaccurate."""
        x = self.inverse @ right
        residual = right - self.matrix @ x
        if np.abs(residual).max(initial=0.0) > _LARGEST_RESIDUAL * np.abs(right).max(initial=0.0):
            self._invert()
            x = self.inverse @ right
            residual = right - self.matrix @ x
        for _ in range(_MOST_REFINEMENTS):
            better = x + self.inverse @ residual
            rest = right - self.matrix @ better
            if not np.abs(rest).max(initial=0.0) < np.abs(residual).max(initial=0.0):
                break
            x, residual = better, rest
        return x

    def grow(self, keys: Sequence[int], border: Floats, block: Floats) -> None:
        """Append rows: `border` is V, of shape (k, len(keys)), and `block` is B. Sets: all."""
        k, p = border.shape
        matrix = np.empty((k + p, k + p))
        matrix[:k, :k], matrix[:k, k:], matrix[k:, :k] = self.matrix, border, border.T
        matrix[k:, k:] = block
        step = np.vstack([-(self.inverse @ border), np.eye(p)])
        pivot = block + border.T @ step[:k]
        terms = np.abs(block) + np.abs(border.T) @ np.abs(step[:k])
        self.keys = [*self.keys, *keys]
        self.matrix = matrix
        inverse = np.zeros_like(matrix)
        inverse[:k, :k] = self.inverse
        if _well_conditioned(pivot, terms):
            inverse += step @ np.linalg.solve(pivot, step.T)
            self._adopt(inverse)
        else:
            self._invert()

    def shrink(self, keys: Sequence[int]) -> None:
        """Remove rows. Sets: all."""
        removed = np.isin(self.keys, keys)
        R, kept = self.inverse, ~removed
        self.keys = [key for key, keep in zip(self.keys, kept, strict=True) if keep]
        self.matrix = self.matrix[np.ix_(kept, kept)]
        cross, pivot = R[np.ix_(kept, removed)], R[np.ix_(removed, removed)]
        try:
            change = cross @ np.linalg.solve(pivot, cross.T)
        except np.linalg.LinAlgError:
            self._invert()
            return
        inverse = R[np.ix_(kept, kept)] - change
        if np.abs(inverse).max(initial=0.0) >= _SMALLEST_PIVOT * np.abs(change).max(initial=0.0):
            self._adopt(inverse)
        else:
            self._invert()

    def shift(self, key: int, change: float) -> None:
        """Add to one entry of the diagonal. Sets: matrix, inverse."""
        i, column = self.keys.index(key), self.column(key)
        self.matrix[i, i] += change
        pivot = 1.0 + change * column[i]
        if abs(pivot) > _SMALLEST_PIVOT:
            self._adopt(self.inverse - np.outer(column, column) * (change / pivot))
        else:
            self._invert()

    def rescale(self, factor: float) -> None:
        """Multiply the block of the variables, those with keys >= 0. Sets: matrix, inverse."""
        variable = np.array([key >= 0 for key in self.keys], dtype=bool)
        self.matrix[np.ix_(variable, variable)] *= factor
        inverse = self.inverse.copy()
        inverse[np.ix_(variable, variable)] /= factor
        inverse[np.ix_(~variable, ~variable)] *= factor
        self._adopt(inverse)

    def _adopt(self, inverse: Floats) -> None:
        """Adopt an updated inverse, made symmetric. Sets: inverse."""
        self._updates += 1
        self.inverse = 0.5 * (inverse + inverse.T)
        if self._updates > _UPDATES_BETWEEN_INVERSIONS or self._inaccurate():
            self._invert()
        elif self.on_change is not None:
            self.on_change()

    def _inaccurate(self) -> bool:
        """Return whether MR is far from 1, tested with one vector in O(k^2)."""
        M, R = self.matrix, self.inverse
        probe = np.cos(np.arange(len(self), dtype=np.float64))
        far = np.abs(M @ (R @ probe) - probe).max(initial=0.0)
        rounding = np.abs(M).max(initial=0.0) * np.abs(R).max(initial=0.0)
        return bool(far > max(_LARGEST_RESIDUAL, _INVERSE_ROUNDING * rounding))

    def _invert(self) -> None:
        """Compute the inverse from M. Sets: inverse."""
        self._updates = 0
        self.inverse = np.asarray(np.linalg.inv(self.matrix), dtype=np.float64)
        if self.on_change is not None:
            self.on_change()


def _well_conditioned(pivot: Floats, terms: Floats) -> bool:
    """Return whether a small symmetric block is far from singular, relative to its terms."""
    size = np.sqrt(np.maximum(terms.max(axis=1), np.finfo(np.float64).tiny))
    values = np.abs(np.linalg.eigvalsh(pivot / np.outer(size, size)))
    return bool(values.min() > _SMALLEST_PIVOT * max(1.0, float(values.max())))
