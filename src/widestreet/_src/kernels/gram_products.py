"""Repeated products of the Gram matrix K of n rows with vectors, in one of three forms.

    held        K is stored: n^2 numbers, read once for each product
    streamed    K is computed again for each product: n^2 kernel values, no memory
    low rank    K = G G' + D, where G has n x r entries: O(n r^2) once, then 2 n r multiply-adds

G is a pivoted Cholesky factor of r rows, the pivots. The residual K - G G' is positive
semidefinite, so that its trace bounds its norm. Its diagonal D is kept: without D, rows that are
nearly orthogonal to the pivots would have no influence on the model.

Pivots are drawn at random with probabilities proportional to the diagonal of the residual (Chen,
Epperly, Tropp and Webber, 2022), many at a time. Of those drawn together, rows that are nearly
linear combinations of the others are not used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf

from widestreet import _core
from widestreet._src.arrays import Floats, Ints
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.poll import Poll

_NEGLIGIBLE = 1e-17  # of the largest coefficient: smaller ones are below the rounding of the others
_PIECE = 1 << 23  # kernel values between two polls: writing to new memory is slow
_TOGETHER = 64  # pivots drawn at a time
_LEAST_RESIDUAL = 0.1  # of the mean diagonal of the residual: pivots need a larger residual
_ROUNDING = 1e-13  # of the trace: a smaller residual is rounding


class Product(Protocol):
    """Function that multiplies K with a vector."""

    def __call__(self, coef: Floats) -> Floats:
        """Return K @ coef for each line of `coef`."""
        ...


@dataclass(frozen=True, eq=False)
class Held:
    """Product with a Gram matrix that is stored."""

    K: Floats
    threads: int

    @classmethod
    def of(cls, gram: Gram, poll: Poll | None = None) -> Held:
        """Compute and store the kernel values of all pairs of rows."""
        n = gram.shape[0]
        K = np.empty((n, n))
        step = 1 + _PIECE // max(1, n)
        for a in range(0, n, step):
            gram.block(np.arange(a, min(n, a + step)), None, out=K[a : a + step], poll=poll)
        return cls(K, gram.threads)

    @staticmethod
    def memory(rows: int) -> int:
        """Return the bytes of the Gram matrix of so many rows."""
        return 8 * rows * rows

    def __call__(self, coef: Floats) -> Floats:
        return _times(self.K, coef, self.threads)


@dataclass(frozen=True, eq=False)
class Streamed:
    """Product with a Gram matrix that is computed again each time."""

    gram: Gram
    poll: Poll | None = None

    def __call__(self, coef: Floats) -> Floats:
        size = np.abs(np.atleast_2d(coef))
        used = np.flatnonzero((size > _NEGLIGIBLE * size.max(axis=1, keepdims=True)).any(axis=0))
        return self.gram.scan(None, used, coef[..., used], poll=self.poll)


@dataclass(frozen=True, eq=False)
class LowRank:
    """Product with the low-rank approximation G G' of K, which keeps the diagonal of K.

    Attributes
    ----------
    G : ndarray of shape (n, r)
    rest : ndarray of shape (n,)
        Diagonal of K - G G'.
    pivots : ndarray of shape (r,)
        Rows that define G.
    left : float
        Trace of K - G G', as a fraction of the trace of K.
    """

    G: Floats
    rest: Floats
    pivots: Ints
    left: float
    threads: int

    def __call__(self, coef: Floats) -> Floats:
        inner = _times(self.G, coef, self.threads, transposed=True)
        return _times(self.G, inner, self.threads) + self.rest * coef

    @staticmethod
    def memory(rows: int, rank: int) -> int:
        """Return the bytes that `of` needs: twice the size of G, plus scratch."""
        return 8 * rows * (2 * rank + 3 * _TOGETHER)

    @staticmethod
    def most(rows: int, memory: int) -> int:
        """Return the largest rank for which `memory` bytes suffice."""
        return (memory // (8 * rows) - 3 * _TOGETHER) // 2

    @classmethod
    def of(
        cls,
        gram: Gram,
        most: int,
        enough: float,
        rng: np.random.Generator,
        poll: Poll | None = None,
    ) -> LowRank:
        """Compute G from at most `most` pivots, or until the residual is at most `enough`.

        Parameters
        ----------
        gram : Gram
        most : int
        enough : float
            Fraction of the trace.
        rng : numpy.random.Generator
            Generator that draws the pivots.
        poll : Poll, optional
        """
        left = gram.diag()
        trace = float(left.sum())
        rank, most = 0, min(most, len(left))
        factor = np.empty((most, len(left)))  # G', whose lines are written one after the other
        pivots: list[int] = []
        while rank < most and left.sum() > max(enough, _ROUNDING) * trace:
            drawn = _draw(left, min(_TOGETHER, most - rank), rng)
            block = gram.block(drawn, None, poll=poll)
            block = block - factor[:rank, drawn].T @ factor[:rank]
            least = _LEAST_RESIDUAL * float(left.mean())
            lines, chosen = _factor_lines(block, drawn, least)
            if not len(chosen):  # the residual of these rows is rounding
                break
            factor[rank : rank + len(chosen)] = lines
            pivots += chosen.tolist()
            rank += len(chosen)
            left = np.maximum(left - np.einsum("ij,ij->j", lines, lines), 0.0)
            left[chosen] = 0.0
        part = float(left.sum()) / trace if trace > 0 else 0.0
        G = np.ascontiguousarray(factor[:rank].T)
        return cls(G, left, np.array(pivots, dtype=np.int64), part, gram.threads)


def _times(A: Floats, x: Floats, threads: int, *, transposed: bool = False) -> Floats:
    """Return A @ x, or A.T @ x, for each line of x."""
    out = np.empty((*x.shape[:-1], A.shape[1] if transposed else A.shape[0]))
    _core.times(A, np.atleast_2d(x), np.atleast_2d(out), transposed, threads)
    return out


def _draw(left: Floats, count: int, rng: np.random.Generator) -> Ints:
    """Draw distinct rows with probabilities proportional to the residual."""
    count = min(count, int(np.count_nonzero(left)))
    return rng.choice(len(left), size=count, replace=False, p=left / left.sum())


def _factor_lines(block: Floats, drawn: Ints, least: float) -> tuple[Floats, Ints]:
    """Return the new lines of G' from the drawn rows, and the pivots that they belong to.

    Parameters
    ----------
    block : ndarray of shape (drawn, n)
        Residual of the kernel values of the drawn rows.
    drawn : ndarray
    least : float
        Smallest diagonal residual of a pivot, after the pivots before it; the first always passes.
    """
    own = block[:, drawn]
    least = min(least, 0.5 * float(np.diag(own).max()))
    L, order, rank, _ = dpstrf(own, lower=True, tol=least)
    order = order[:rank] - 1
    lines = solve_triangular(np.tril(L[:rank, :rank]), block[order], lower=True)
    return lines, drawn[order]
