"""The Newton system of an interior point, reduced to rank + groups unknowns.

A step db of the variables, with the steps dl of the biases, satisfies

    (E'(V V' + D) E + Th^-1) db - A' dl = rhs,        A db = 0

    E      sums the variables of a row             A     sums the variables of a group
    D      diagonal term of the rows               Th    (zl / sl + zu / su)^-1, by variable

With M = E' D E + Th^-1, which has one block per row, and u = V'E db,

    [ I + V'WV   -V'G ] [ u  ]   [ V'E M^-1 rhs    ]      W = E M^-1 E',   G = E M^-1 A'
    [ -G'V        H   ] [ dl ] = [ -A M^-1 rhs     ]      H = A M^-1 A'

    db = M^-1 (rhs - E'V u + A' dl)

The matrix is positive definite. It is scaled to a unit diagonal before it is factorised.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from widestreet._src.arrays import Bytes, Floats
from widestreet._src.engines.interior.low_rank_factor import Factor
from widestreet._src.problems.dual import Dual

_RIDGE = 1e-15  # of the diagonal: added before the factorisation, raised until it succeeds
_MOST_RIDGE = 1e-6
_REFINEMENTS = 2


def group_sums(values: Floats, group: Bytes, groups: int) -> Floats:
    """Return the sum of the values of each group."""
    if groups == 1:
        return np.array([values.sum()])
    return np.array([values[group == g].sum() for g in range(groups)])


@dataclass(frozen=True, eq=False)
class NewtonSystem:
    """The factorised system at one interior point.

    Attributes
    ----------
    factor : Factor
    dual : Dual
    theta : ndarray of shape (layers, n)
        Th, zero for variables that cannot move.
    A : ndarray
        Matrix of the system.
    scale : ndarray
        Square roots of its inverse diagonal.
    cholesky : tuple
        Factor of the scaled matrix.
    """

    factor: Factor
    dual: Dual
    theta: Floats
    A: Floats
    scale: Floats
    cholesky: tuple[Floats, bool]

    @classmethod
    def of(cls, factor: Factor, dual: Dual, theta: Floats) -> NewtonSystem:
        """Assemble and factorise the system; raise LinAlgError if that is impossible."""
        groups, rank = dual.groups, factor.rank
        ones = [_inverse(dual, theta, (dual.group == g).astype(np.float64)) for g in range(groups)]
        G = np.stack([one.sum(axis=0) for one in ones], axis=1)
        A = np.empty((rank + groups, rank + groups))
        A[:rank, :rank], VG = factor.normal(G.sum(axis=1), G)
        A[np.arange(rank), np.arange(rank)] += 1.0
        A[:rank, rank:], A[rank:, :rank] = -VG, -VG.T
        for g, one in enumerate(ones):
            A[rank + g, rank:] = group_sums(one, dual.group, groups)
            A[rank + g, rank + g] += not one.any()  # a group in which nothing can move
        scale = 1.0 / np.sqrt(np.maximum(A.diagonal(), np.finfo(float).tiny))
        scaled = A * scale * scale[:, None]
        return cls(factor, dual, theta, A, scale, _factorised(scaled))

    def solve(self, rhs: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the steps of the variables, of the multipliers of the sums, and of V'c."""
        dual, rank = self.dual, self.factor.rank
        part = _inverse(dual, self.theta, rhs)
        b = np.concatenate(
            [
                self.factor.transposed(part.sum(axis=0)),
                -group_sums(part, dual.group, dual.groups),
            ]
        )
        x = self._solved(b)
        for _ in range(_REFINEMENTS):
            x += self._solved(b - self.A @ x)
        u, step = x[:rank], x[rank:]
        rest = rhs - self.factor.times(u) + step[dual.group]
        return _inverse(dual, self.theta, rest), step, u

    def _solved(self, b: Floats) -> Floats:
        found: Floats = self.scale * cho_solve(self.cholesky, self.scale * b, check_finite=False)
        return found


def _inverse(dual: Dual, theta: Floats, values: Floats) -> Floats:
    """Return M^-1 values; no difference of nearly equal numbers occurs."""
    if dual.diagonal is None:
        return theta * values
    d = dual.diagonal
    found: Floats = theta / (1.0 + d * theta.sum(axis=0))
    if dual.layers == 1:
        return found * values
    found *= values + d * theta[::-1] * (values - values[::-1])
    return found


def _factorised(scaled: Floats) -> tuple[Floats, bool]:
    """Return the Cholesky factor of a matrix with a unit diagonal."""
    if not np.isfinite(scaled).all():
        raise np.linalg.LinAlgError("the system overflows")
    ridge = _RIDGE
    while True:
        try:
            attempt = scaled.copy()
            attempt[np.diag_indices_from(attempt)] += ridge
            factor: tuple[Floats, bool] = cho_factor(
                attempt, lower=True, overwrite_a=True, check_finite=False
            )
        except np.linalg.LinAlgError:
            if ridge >= _MOST_RIDGE:
                raise
            ridge *= 10.0
        else:
            return factor
