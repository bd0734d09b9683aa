"""K times a vector, again and again, over the same rows.

The product with the Gram matrix of n rows is to be had in three ways:

    held        K is in memory: n^2 numbers, read once for each product
    streamed    K is computed anew for each product: n^2 kernel values, no memory
    low rank    K = G G' + D with n x r numbers G: 2 n r multiply-adds, in O(n r^2) once

G is a pivoted Cholesky factor: r rows, the pivots, are chosen, and K - G G' is what is left of K
when all that they explain is taken away. It is positive semidefinite, so that its trace bounds all
of it; its diagonal D is kept. Without D, rows that the pivots do not explain would be as good as
absent, and classes could not be told apart that the kernel does tell apart.
Pivots are drawn at random, rows by what is left of them (Chen, Epperly, Tropp and Webber, 2022),
many at a time: of those drawn together, the ones that explain each other are put back.
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
_PIECE = 1 << 23  # kernel values between two looks at the clock: fresh memory is slow to write to
_TOGETHER = 64  # pivots drawn at a time
_WORTHWHILE = 0.1  # of what is left of a row on average: a pivot must explain more of itself
_ROUNDING = 1e-13  # of the trace: nothing that is left of it means anything


class Product(Protocol):
    """The product of K with a vector."""

    def __call__(self, coef: Floats) -> Floats:
        """Return K @ coef; of several lines, for each."""
        ...


@dataclass(frozen=True, eq=False)
class Held:
    """A Gram matrix in memory."""

    K: Floats
    threads: int

    @classmethod
    def of(cls, gram: Gram, poll: Poll | None = None) -> Held:
        """The kernel values of all pairs of rows."""
        n = gram.shape[0]
        K = np.empty((n, n))
        step = 1 + _PIECE // max(1, n)
        for a in range(0, n, step):
            gram.block(np.arange(a, min(n, a + step)), None, out=K[a : a + step], poll=poll)
        return cls(K, gram.threads)

    @staticmethod
    def memory(rows: int) -> int:
        """Bytes it takes."""
        return 8 * rows * rows

    def __call__(self, coef: Floats) -> Floats:
        return _times(self.K, coef, self.threads)


@dataclass(frozen=True, eq=False)
class Streamed:
    """A Gram matrix that is never held."""

    gram: Gram
    poll: Poll | None = None

    def __call__(self, coef: Floats) -> Floats:
        size = np.abs(np.atleast_2d(coef))
        used = np.flatnonzero((size > _NEGLIGIBLE * size.max(axis=1, keepdims=True)).any(axis=0))
        return self.gram.scan(None, used, coef[..., used], poll=self.poll)


@dataclass(frozen=True, eq=False)
class LowRank:
    """K as G G', and its diagonal as it is.

    Attributes
    ----------
    G : ndarray of shape (n, r)
    rest : ndarray of shape (n,)
        The diagonal of K - G G'.
    pivots : ndarray of shape (r,)
        The rows it was made of.
    left : float
        The trace of K - G G', as a part of the trace of K.
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
        """Bytes it takes to make it: twice its own, and some scratch."""
        return 8 * rows * (2 * rank + 3 * _TOGETHER)

    @staticmethod
    def most(rows: int, memory: int) -> int:
        """The largest rank that so many bytes allow."""
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
        """Choose pivots until there are `most` or not more than `enough` of the trace is left.

        Parameters
        ----------
        gram : Gram
        most : int
        enough : float
            A part of the trace.
        rng : numpy.random.Generator
            Draws the pivots.
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
            least = _WORTHWHILE * float(left.mean())
            lines, chosen = _explain(block, drawn, least)
            if not len(chosen):  # what seems to be left of these rows is rounding
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
    """Return A @ x, or A.T @ x; of several lines x, for each."""
    out = np.empty((*x.shape[:-1], A.shape[1] if transposed else A.shape[0]))
    _core.times(A, np.atleast_2d(x), np.atleast_2d(out), transposed, threads)
    return out


def _draw(left: Floats, count: int, rng: np.random.Generator) -> Ints:
    """Different rows, each the more likely the more is left of it."""
    count = min(count, int(np.count_nonzero(left)))
    return rng.choice(len(left), size=count, replace=False, p=left / left.sum())


def _explain(block: Floats, drawn: Ints, least: float) -> tuple[Floats, Ints]:
    """Lines of G' that the best of the drawn rows add, and which rows these are.

    Parameters
    ----------
    block : ndarray of shape (drawn, n)
        What is left of the kernel values of the drawn rows.
    drawn : ndarray
    least : float
        What must be left of a row when those before it are taken away; the first is always good.
    """
    own = block[:, drawn]
    least = min(least, 0.5 * float(np.diag(own).max()))
    L, order, rank, _ = dpstrf(own, lower=True, tol=least)
    order = order[:rank] - 1
    lines = solve_triangular(np.tril(L[:rank, :rank]), block[order], lower=True)
    return lines, drawn[order]
