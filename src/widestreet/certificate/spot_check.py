"""Scores of a few rows by NumPy alone, to compare with those of the native core.

No code is shared with the scan: a core that was compiled wrongly cannot certify itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from widestreet.arrays import Floats, Ints
from widestreet.gram import Gram
from widestreet.kernels import RBF, Kernel, Laplacian, Linear, Poly, Sigmoid

_ROWS = 8  # of either precision that are compared in an examination
_LARGE = 1_000_000  # kernel values from which on an examination is worth it
_AT_ONCE = 1 << 20  # features of differences held at a time
_AMPLE = 8.0  # times the bound: the plain computation rounds as well, in another order


def disagrees(gram: Gram, J: Ints, coef: Floats, I: Ints, score: Floats, error: Floats) -> bool:
    """Tell whether scores of rows differ from plain ones by more than rounding explains.

    Parameters
    ----------
    gram : Gram
    J : ndarray
        Support vectors, among the right rows of the Gram.
    coef : ndarray
        Their coefficients.
    I : ndarray
        Rows that were scored, among the left rows of the Gram; some are drawn.
    score, error : ndarray
        Their scores and bounds on the errors of these beyond the rounding of float64.
    """
    if gram.native is None or len(I) * len(J) < _LARGE:
        return False
    rng = np.random.default_rng(len(J))
    kinds = np.flatnonzero(error > 0), np.flatnonzero(error == 0)  # float32 and float64
    drawn = np.concatenate([rng.permutation(kind)[:_ROWS] for kind in kinds])
    bound = float(gram.score_error(len(coef), float(np.abs(coef).sum()), float(coef.sum())))
    for at in drawn:
        plain = plain_score(gram, int(I[at]), J, coef)
        if not abs(plain - score[at]) <= error[at] + _AMPLE * bound:
            return True
    return False


def plain_score(gram: Gram, i: int, J: Ints, coef: Floats) -> float:
    """Sum K(i, j) coef_j over j, one row against all others."""
    values, centre = gram.left.data, getattr(gram.left, "centre", None)
    x = _dense(values[[i]])[0]
    if centre is not None:
        x = x - centre
    total = 0.0
    step = max(1, _AT_ONCE // len(x))
    for a in range(0, len(J), step):
        part = _dense(gram.right.data[J[a : a + step]])
        if centre is not None:
            part = part - centre
        total += float(plain_values(gram.kernel, x, part) @ coef[a : a + step])
    return total


def plain_values(kernel: Kernel, x: Floats, S: Floats) -> Floats:
    """Kernel values of one row with others by their textbook formulas."""
    match kernel:
        case Linear():
            values = S @ x
        case RBF(gamma):
            values = np.exp(-gamma * np.square(S - x).sum(axis=1))
        case Laplacian(gamma):
            values = np.exp(-gamma * np.abs(S - x).sum(axis=1))
        case Poly(gamma, coef0, degree):
            values = (gamma * (S @ x) + coef0) ** degree
        case Sigmoid(gamma, coef0):
            values = np.tanh(gamma * (S @ x) + coef0)
        case _:
            raise TypeError(f"{kernel} has no formula")
    return np.asarray(values)


def _dense(rows: Any) -> Floats:
    return np.asarray(rows.toarray() if sparse.issparse(rows) else rows, dtype=np.float64)
