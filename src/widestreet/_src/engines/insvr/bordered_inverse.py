"""The inverse of a symmetric matrix whose rows come and go, each change in O(k^2).

The matrices of incremental SVMs are bordered: rows of multipliers, then rows of margin vectors,

    M = [ D   A'   ]      D: zeros, but for one corner       A: labels, and ones
        [ A   Q_SS ]      Q_SS: kernel values between margin vectors

    grow      M -> [M V; V' B]:   R -> [R 0; 0 0] + [-RV; 1] (B - V'RV)^-1 [-RV; 1]'
    shrink    R -> R_kk - R_kp R_pp^-1 R_pk      k: the rows kept, p: those that go
    shift     a corner of M changes by s:   R -> R - s R_i R_i' / (1 + s R_ii)
    rescale   Q -> sQ:   R = [E F'; F G] -> [sE F'; F G/s]

Growing and shrinking take blocks of rows, since two rows together may leave M invertible where one
after the other would pass through a singular matrix. M itself is kept as well: solutions are
refined against it, and where R has drifted away from it, R is computed afresh.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from widestreet._src.arrays import Floats

_DRIFT = 1e-10  # of a right-hand side: what R may leave of it before R is computed afresh
_ULPS = 1e-15  # of the largest entries of M and R: the same where no inverse can do better
_AFRESH = 64  # changes after which R is computed afresh in any case
_REFINEMENTS = 4  # of a solution, at most
_LOST = 1e-6  # of the terms of a pivot: beneath this it has lost too many digits


class Bordered:
    """A symmetric matrix M and its inverse R, their rows named by integers.

    Attributes
    ----------
    keys : list of int
        The name of each row: negative for multipliers, otherwise a variable.
    matrix, inverse : ndarray of shape (k, k)
    watch : callable or None
        Called after every change.
    """

    def __init__(self, watch: Callable[[], None] | None = None) -> None:
        self.keys: list[int] = []
        self.matrix: Floats = np.zeros((0, 0))
        self.inverse: Floats = np.zeros((0, 0))
        self.watch = watch
        self._changes = 0  # since R was last computed afresh

    def __contains__(self, key: int) -> bool:
        return key in self.keys

    def __len__(self) -> int:
        return len(self.keys)

    def column(self, key: int) -> Floats:
        """The column of R that belongs to a row of M."""
        return self.inverse[:, self.keys.index(key)]

    def error(self) -> float:
        """The largest entry of |MR - 1|."""
        if not self.keys:
            return 0.0
        return float(np.abs(self.matrix @ self.inverse - np.eye(len(self))).max())

    def solve(self, right: Floats) -> Floats:
        """The solution x of M x = right, refined. Sets: inverse, where it had drifted."""
        x = self.inverse @ right
        left = right - self.matrix @ x
        if np.abs(left).max(initial=0.0) > _DRIFT * np.abs(right).max(initial=0.0):
            self._invert()
            x = self.inverse @ right
            left = right - self.matrix @ x
        for _ in range(_REFINEMENTS):
            better = x + self.inverse @ left
            rest = right - self.matrix @ better
            if not np.abs(rest).max(initial=0.0) < np.abs(left).max(initial=0.0):
                break
            x, left = better, rest
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
        if _sound(pivot, terms):
            inverse += step @ np.linalg.solve(pivot, step.T)
            self._changed(inverse)
        else:
            self._invert()

    def shrink(self, keys: Sequence[int]) -> None:
        """Remove rows. Sets: all."""
        goes = np.isin(self.keys, keys)
        R, kept = self.inverse, ~goes
        self.keys = [key for key, stays in zip(self.keys, kept, strict=True) if stays]
        self.matrix = self.matrix[np.ix_(kept, kept)]
        cross, pivot = R[np.ix_(kept, goes)], R[np.ix_(goes, goes)]
        try:
            change = cross @ np.linalg.solve(pivot, cross.T)
        except np.linalg.LinAlgError:
            self._invert()
            return
        inverse = R[np.ix_(kept, kept)] - change
        if np.abs(inverse).max(initial=0.0) >= _LOST * np.abs(change).max(initial=0.0):
            self._changed(inverse)
        else:
            self._invert()

    def shift(self, key: int, change: float) -> None:
        """Add to one entry of the diagonal. Sets: matrix, inverse."""
        i, column = self.keys.index(key), self.column(key)
        self.matrix[i, i] += change
        pivot = 1.0 + change * column[i]
        if abs(pivot) > _LOST:
            self._changed(self.inverse - np.outer(column, column) * (change / pivot))
        else:
            self._invert()

    def rescale(self, factor: float) -> None:
        """Multiply the block of the variables, those with keys >= 0. Sets: matrix, inverse."""
        variable = np.array([key >= 0 for key in self.keys], dtype=bool)
        self.matrix[np.ix_(variable, variable)] *= factor
        inverse = self.inverse.copy()
        inverse[np.ix_(variable, variable)] /= factor
        inverse[np.ix_(~variable, ~variable)] *= factor
        self._changed(inverse)

    def _changed(self, inverse: Floats) -> None:
        """Take a new inverse, its rounding made symmetric. Sets: inverse."""
        self._changes += 1
        self.inverse = 0.5 * (inverse + inverse.T)
        if self._changes > _AFRESH or self._drifted():
            self._invert()
        elif self.watch is not None:
            self.watch()

    def _drifted(self) -> bool:
        """Whether MR is far from 1, seen along one vector only, in O(k^2)."""
        M, R = self.matrix, self.inverse
        probe = np.cos(np.arange(len(self), dtype=np.float64))
        far = np.abs(M @ (R @ probe) - probe).max(initial=0.0)
        rounding = np.abs(M).max(initial=0.0) * np.abs(R).max(initial=0.0)
        return bool(far > max(_DRIFT, _ULPS * rounding))

    def _invert(self) -> None:
        """Compute the inverse afresh. Sets: inverse."""
        self._changes = 0
        self.inverse = np.asarray(np.linalg.inv(self.matrix), dtype=np.float64)
        if self.watch is not None:
            self.watch()


def _sound(pivot: Floats, terms: Floats) -> bool:
    """Whether a small symmetric block is far from singular, as sizes of its entries go."""
    size = np.sqrt(np.maximum(terms.max(axis=1), np.finfo(np.float64).tiny))
    values = np.abs(np.linalg.eigvalsh(pivot / np.outer(size, size)))
    return bool(values.min() > _LOST * max(1.0, float(values.max())))
