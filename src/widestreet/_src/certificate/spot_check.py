"""Scores of a few rows computed by NumPy, to compare with those of the native core.

This code shares nothing with the core, so that a core that was compiled wrongly cannot certify
itself.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
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
_BLOCK_VALUES, _LEAST_VECTORS = 1 << 17, 1024  # features and vectors of a block
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
    step = min(_BLOCK_VALUES // max(1, _entries(values)), len(J) // gram.threads)
    step = max(_LEAST_VECTORS, step)
    parts = [slice(a, a + step) for a in range(0, len(J), step)]
    scores = partial(_scores, gram, values[I], J, coef, centre)
    workers = max(1, min(gram.threads, len(parts)))
    with ThreadPoolExecutor(workers) as pool:
        for a in range(0, len(parts), workers):
            if poll is not None:
                poll.look()
            total += sum(pool.map(scores, parts[a : a + workers]))
    return total


def _scores(
    gram: Gram, X: Any, J: Ints, coef: Floats, centre: Floats | None, part: slice
) -> Floats:
    """Sum K(x, j) coef_j over a part of the vectors for each row x."""
    assert isinstance(gram.kernel, NativeKernel)
    X, S = _dense_columns(X, gram.right.data[J[part]])
    if centre is not None:
        X, S = X - centre, S - centre
    return np.array([gram.kernel.plain(x, S) @ coef[part] for x in X])


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
