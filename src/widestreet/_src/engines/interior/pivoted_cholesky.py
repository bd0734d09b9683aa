"""Cholesky factors of kernel matrices, with pivots.

In each step the row with the largest residual becomes a pivot (Fine and Scheinberg, 2001). Several
pivots are taken at a time: the kernel values of some rows with large residuals are computed
together. A row that is nearly a combination of the pivots before it does not become a pivot.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf

from widestreet._src.arrays import Floats
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.poll import Poll

_ROUNDING = 1e-15  # of the trace: a smaller residual is rounding
_UNITS = 1e-15  # of the diagonal: a smaller residual of a row is rounding
_NEGATIVE = 1e-10  # of the largest diagonal: a smaller eigenvalue is not rounding
_COMPARED = 64  # columns of the kernel matrix that are compared with the factor
_TOGETHER = 64  # rows whose kernel values are computed at a time
_LEAST_RESIDUAL = 0.1  # of the largest residual: pivots taken together need a larger one


class NotPositive(Exception):  # noqa: N818 - the caller names the kernel in its error
    """Raised if a kernel matrix is not positive semidefinite."""


class RankTooLarge(Exception):  # noqa: N818 - a normal answer: the kernel matrix has no low rank
    """Raised if a kernel matrix has no factor of so few columns."""


def pivoted_cholesky(gram: Gram, most: int, poll: Poll) -> Floats:
    """Return V with V V' = K up to rounding, of shape (n, rank).

    Raises RankTooLarge if V would have more than `most` columns, and NotPositive if K is seen not
    to be positive semidefinite.

    Parameters
    ----------
    gram : Gram
        Kernel values of all rows, without a diagonal term.
    most : int
    poll : Poll
    """
    diagonal = gram.diag()
    left = diagonal.copy()
    n, trace, largest = len(left), float(np.abs(left).sum()), float(np.max(left, initial=0.0))
    if np.min(left, initial=0.0) < -_NEGATIVE * max(largest, trace / max(1, n)):
        raise NotPositive
    lines: list[Floats] = []
    rank = 0
    while left.sum() > _ROUNDING * trace:
        if rank >= most:
            raise RankTooLarge
        drawn = np.argsort(-left, kind="stable")[: min(_TOGETHER, n, most - rank)]
        drawn = drawn[left[drawn] > _LEAST_RESIDUAL * left[drawn[0]]]
        block = gram.block(drawn, None, poll=poll)
        for line in lines:
            block -= line[:, drawn].T @ line
        own = block[:, drawn]
        L, order, size, _ = dpstrf(own, lower=True, tol=_LEAST_RESIDUAL * float(left[drawn[0]]))
        order = order[: max(1, size)] - 1
        if not own[order[0], order[0]] > 0:
            break
        new = solve_triangular(np.tril(L[: len(order), : len(order)]), block[order], lower=True)
        left = left - np.einsum("ij,ij->j", new, new)
        if np.min(left) < -_NEGATIVE * largest:
            raise NotPositive
        left[left < _UNITS * diagonal] = 0.0
        left[drawn[order]] = 0.0
        lines.append(new)
        rank += len(order)
    V = np.concatenate(lines).T.copy() if lines else np.zeros((n, 0))
    _compare(gram, V, largest, poll)
    return V


def _compare(gram: Gram, V: Floats, largest: float, poll: Poll) -> None:
    """Raise NotPositive if some columns of V V' are not those of the kernel matrix.

    The factorisation does not detect every matrix that is not positive semidefinite.
    """
    some = np.arange(0, len(V), max(1, len(V) // _COMPARED))
    wrong = np.abs(gram.block(some, None, poll=poll) - V[some] @ V.T)
    if np.max(wrong, initial=0.0) > _NEGATIVE**0.5 * largest:
        raise NotPositive
