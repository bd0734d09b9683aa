"""Scores of a few rows computed by NumPy, to compare with those of the native core.

This code shares nothing with the core, so that a core that was compiled wrongly cannot certify
itself.
"""

from __future__ import annotations

from typing import Any
from zlib import crc32

import numpy as np
from scipy import sparse

from widestreet._src.arrays import Floats, Ints
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import NativeKernel
from widestreet._src.kernels.poll import Poll

_COMPARED_ROWS = 8  # rows of either precision that are compared in an examination
_COMPARISON_VALUES = 1_000_000  # kernel values of an examination from which on it is checked
_SAMPLED_ROWS = 4096  # among which they are looked for first
_BLOCK_VALUES = 1 << 17  # features of a block: its arrays stay in the cache
_ROUNDING_FACTOR = 8.0  # of the bound: NumPy rounds as well, in another order


def disagrees(
    gram: Gram,
    J: Ints,
    coef: Floats,
    score: Floats,
    error: Floats,
    rows: int,
    poll: Poll | None = None,
) -> bool:
    """Return whether scores of rows differ from those of NumPy by more than rounding.

    Parameters
    ----------
    gram : Gram
        Kernel values between the rows (left) and the support vectors (right).
    J : ndarray
        Positions of the support vectors among the right rows.
    coef : ndarray
        Coefficients of the support vectors.
    score, error : ndarray
        Scores of all left rows, of which some are compared, and bounds on their errors in addition
        to float64 rounding.
    rows : int
        Number of rows of the examination, of which these may be a part.
    poll : Poll, optional
        Checks the time limit.
    """
    if not isinstance(gram.kernel, NativeKernel) or rows * len(J) < _COMPARISON_VALUES:
        return False
    drawn = _drawn(error, np.random.default_rng([len(J), crc32(coef.tobytes())]))
    bound = float(gram.score_error(len(coef), float(np.abs(coef).sum()), float(coef.sum())))
    plain = plain_scores(gram, drawn, J, coef, poll)
    return not (np.abs(plain - score[drawn]) <= error[drawn] + _ROUNDING_FACTOR * bound).all()


def plain_scores(gram: Gram, I: Ints, J: Ints, coef: Floats, poll: Poll | None = None) -> Floats:
    """Sum K(i, j) coef_j over j for each of a few rows i.

    Columns in which neither the rows nor the vectors have an entry are left out.
    """
    assert isinstance(gram.kernel, NativeKernel)
    values, centre = gram.left.data, getattr(gram.left, "centre", None)
    total = np.zeros(len(I)) + gram.diagonal_times(I, J, coef)
    I, J = gram.left_index(I), gram.right_index(J)
    some, step = values[I], max(1, _BLOCK_VALUES // max(1, _entries(values)))
    for a in range(0, len(J), step):
        if poll is not None:
            poll.look()
        X, S = _dense_columns(some, gram.right.data[J[a : a + step]])
        if centre is not None:
            X, S = X - centre, S - centre
        total += gram.kernel.plain(X, S) @ coef[a : a + step]
    return total


def _drawn(error: Floats, rng: np.random.Generator) -> Ints:
    """Draw rows with float32 and with float64 scores, which have no error."""
    sample = rng.choice(len(error), min(_SAMPLED_ROWS, len(error)), replace=False)
    drawn = []
    for exact in (False, True):
        kind = sample[(error[sample] == 0) == exact]
        if len(kind) < _COMPARED_ROWS < len(error):  # it is rare
            kind = rng.permutation(np.flatnonzero((error == 0) == exact))
        drawn.append(kind[:_COMPARED_ROWS])
    return np.concatenate(drawn)


def _entries(values: Any) -> int:
    """Return the number of columns that a row takes in a block; fewer if it is sparse."""
    if sparse.issparse(values):
        return int(min(values.shape[1], 64 * (1 + values.nnz // max(1, values.shape[0]))))
    return int(values.shape[1])


def _dense_columns(X: Any, S: Any) -> tuple[Floats, Floats]:
    """Return two blocks of rows as float64 arrays, without columns that are empty in both."""
    if sparse.issparse(X):
        used = np.union1d(X.indices, S.indices)
        X, S = X[:, used].toarray(), S[:, used].toarray()
    return np.asarray(X, dtype=np.float64), np.asarray(S, dtype=np.float64)
