"""Approximation of a kernel expansion by one over few of its vectors.

The function w = sum_s c_s K(s, .) is projected onto the span of some K(s, .) in the space of the
kernel. The vectors are chosen greedily: the next one is that whose addition reduces the norm of the
remainder the most (orthogonal matching pursuit). With an orthonormal basis e_1, e_2, ... of the
span,

    L[q, s] = e_q(s)                     factor of a pivoted Cholesky decomposition of K
    d_s = K(s, s) - sum_q L[q, s]^2      squared distance of K(s, .) from the span
    u_s = w(s) - sum_q b_q L[q, s]       remainder r of w at s, where b_q = <w, e_q>

the norm |r|^2 falls by u_s^2 / d_s if s is added. Kernel values and inner products with the basis
are computed for several candidates at once, and candidates are used while they are nearly the best.

In exact arithmetic |w(x) - projection(x)| <= |r| sqrt(K(x, x)) for all x. What is returned are only
coefficients; `remainder_norm` bounds their remainder again, from kernel values and with all
rounding errors.
"""

from __future__ import annotations

from math import fsum, inf, sqrt

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from widestreet._src.arrays import Floats, Ints
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.rounding_bounds import UNIT

_TOGETHER = 32  # candidates whose kernel values are computed at once
_NEARLY_BEST = 0.5  # of the best reduction of |r|^2, which a candidate must have to be added
_LEAST_DISTANCE = 1e-8  # squared, relative to K(s, s): nearer vectors count as in the span
_RIDGE = 1e-11  # relative to K(s, s): keeps coefficients small, whose size multiplies rounding


class Span:
    """Span of some vectors of an expansion, and the projection of the expansion onto it.

    Parameters
    ----------
    gram : Gram
        Kernel values between all vectors.
    coef : ndarray of shape (n,)
    most : int
        Largest number of vectors to choose.

    Attributes
    ----------
    chosen : list of int
        Vectors that span the space, in the order of their choice.
    square : float
        |r|^2 as far as rounding allows to know it.
    """

    def __init__(self, gram: Gram, coef: Floats, most: int) -> None:
        n = len(coef)
        self._gram, self._coef, self._most = gram, coef, min(most, n)
        self._values = gram.scan(None, None, coef)  # w(s)
        self._own = gram.diag()
        self._left = self._values.copy()  # u
        self._distance = self._own.copy()  # d
        self._basis = np.empty((0, n))  # L, with room for more lines
        self.chosen: list[int] = []
        self.square = max(0.0, float(coef @ self._values))

    def include(self, vectors: Ints) -> None:
        """Add given vectors, but for those that are in the span. Sets: everything."""
        vectors = vectors[self._distance[vectors] > _LEAST_DISTANCE * self._own[vectors]]
        for a in range(0, len(vectors), _TOGETHER):
            some = vectors[a : a + _TOGETHER]
            lines = self._lines(some)
            for s, line in zip(some.tolist(), lines, strict=True):
                if self._is_new(s) and len(self.chosen) < self._most:
                    self._add(s, line, len(self.chosen) - self._before)

    def grow(self, size: int, norm: float = 0.0) -> bool:
        """Add vectors until there are `size` or |r| is at most `norm`. Sets: everything.

        Returns False if there is no vector left to add.
        """
        while len(self.chosen) < size and self.square > norm * norm:
            gain = self._gain()
            best = np.argsort(-gain, kind="stable")[:_TOGETHER]
            best = best[gain[best] > 0.0]
            if len(best) == 0 or len(self.chosen) >= self._most:
                return False
            lines = self._lines(best)
            while len(self.chosen) < size and self.square > norm * norm:
                gain = self._gain()
                at = int(np.argmax(gain[best]))
                s = int(best[at])
                if gain[s] <= 0.0 or gain[s] < _NEARLY_BEST * gain.max():
                    break
                if len(self.chosen) >= self._most:
                    return False
                self._add(s, lines[at], len(self.chosen) - self._before)
        return True

    def coefficients(self) -> Floats:
        """Return the coefficients of the projection, zero for vectors that were not chosen.

        A small ridge is added to the kernel matrix, so that they are not needlessly large.
        """
        found = np.zeros(len(self._coef))
        if not self.chosen:
            return found
        chosen = np.array(self.chosen)
        matrix = np.asarray(self._gram.block(chosen, chosen), dtype=np.float64)
        matrix[np.diag_indices_from(matrix)] += _RIDGE * self._own[chosen]
        factor = cho_factor(matrix, lower=True)
        found[chosen] = cho_solve(factor, self._values[chosen])
        left = self._values[chosen] - matrix @ found[chosen]
        found[chosen] += cho_solve(factor, left)
        return found

    def _is_new(self, s: int) -> bool:
        return bool(self._distance[s] > _LEAST_DISTANCE * self._own[s])

    def _gain(self) -> Floats:
        """Return the reduction of |r|^2 by each vector; zero for vectors in the span."""
        new = self._distance > _LEAST_DISTANCE * self._own
        gain = np.zeros(len(new))
        np.divide(np.square(self._left), self._distance, out=gain, where=new)
        return gain

    def _lines(self, some: Ints) -> Floats:
        """Return K(s, .) less its projection onto the span. Sets: where the span ended."""
        self._before = k = len(self.chosen)
        lines = np.asarray(self._gram.block(some, None), dtype=np.float64)
        return np.asarray(lines - self._basis[:k, some].T @ self._basis[:k])

    def _add(self, s: int, line: Floats, later: int) -> None:
        """Add a vector whose line lacks the last `later` basis functions. Sets: everything."""
        k = len(self.chosen)
        if k == len(self._basis):
            room = np.empty((min(self._most, max(2 * k, 2 * _TOGETHER)), len(line)))
            room[:k] = self._basis
            self._basis = room
        recent = self._basis[k - later : k]
        line = line - recent[:, s] @ recent
        size = sqrt(max(float(line[s]), _LEAST_DISTANCE * float(self._own[s]) / 4))
        line /= size
        part = float(self._left[s]) / size
        self._basis[k] = line
        self.chosen.append(s)
        self._left -= part * line
        self._distance -= np.square(line)
        self._distance[s] = 0.0
        self.square = max(0.0, self.square - part * part)


def remainder_norm(gram: Gram, change: Floats) -> float:
    """Bound the norm of sum_s change_s K(s, .), rounding errors included.

    Parameters
    ----------
    gram : Gram
        Kernel values between all vectors.
    change : ndarray of shape (n,)
    """
    values = gram.scan(None, None, change)
    size = np.abs(change)
    error = float(gram.score_error(len(change), float(size.sum()), float(change.sum())))
    products = change * values
    square = fsum(products.tolist()) + 2 * UNIT * float(np.abs(products).sum())
    square += error * float(size.sum()) * (1 + len(change) * UNIT)
    return sqrt(max(0.0, square)) * (1 + 4 * UNIT) if square < inf else inf
