"""Figures of rows in memory; those of rows in parts are in a `Census`."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from widestreet._src.arrays import Floats
from widestreet._src.device.lent import LentArray
from widestreet._src.rows.dense import column_figures

_BLOCK_ROWS = 1 << 14


def largest_value(X: Any) -> float:
    """Return the largest absolute value of rows."""
    return largest_and_mean(X)[0]


def largest_and_mean(X: Any, threads: int = 1) -> tuple[float, Floats | None]:
    """Return the largest absolute value of rows, and the mean of dense ones in memory."""
    if isinstance(X, LentArray):
        return X.largest(), None
    mean, low, high = None, X, X
    if sparse.issparse(X):
        low = high = X.data
    elif X.shape[0]:
        total, low, high = column_figures(X, threads)
        mean = total / X.shape[0]
    return max(float(np.max(high, initial=0.0)), -float(np.min(low, initial=0.0))), mean


def weighted_variance(X: Any, weight: Floats) -> float:
    """Return the variance of all entries of X, weighted by rows."""
    total = float(weight.sum()) * int(X.shape[1])
    if sparse.issparse(X):
        X = _summed(X)
        per_entry = np.repeat(weight, np.diff(X.indptr))
        mean = float(per_entry @ X.data) / total
        return float(per_entry @ np.square(X.data, dtype=np.float64)) / total - mean**2
    if isinstance(X, LentArray):
        means = X.mean(weight)
        about = np.square(means - means.mean()).sum() * weight.sum()
        return float(X.moments(weight, means)[1].sum() + about) / total
    blocks = [slice(a, a + _BLOCK_ROWS) for a in range(0, X.shape[0], _BLOCK_ROWS)]
    mean = sum(float(weight[b] @ X[b].sum(axis=1, dtype=np.float64)) for b in blocks) / total
    square = 0.0
    for b in blocks:
        centred = np.subtract(X[b], mean, dtype=np.float64)
        square += float(weight[b] @ np.einsum("ij,ij->i", centred, centred))
    return square / total


def mean_square_distance(X: Any, weight: Floats) -> float:
    """Return the weighted mean squared distance of the rows to their mean."""
    share = weight / weight.sum()
    if sparse.issparse(X):
        X = _summed(X)
        mean = np.asarray(share @ X, dtype=np.float64).ravel()
        per_entry = np.repeat(share, np.diff(X.indptr))
        square = float(per_entry @ np.square(X.data - mean[X.indices]))
        sometimes = np.bincount(X.indices, minlength=X.shape[1]) < X.shape[0]
        absent = np.maximum(1.0 - np.bincount(X.indices, per_entry, X.shape[1]), 0.0)
        square += float((absent * np.square(mean))[sometimes].sum())
    elif isinstance(X, LentArray):
        mean = X.mean(weight)
        square = float(X.moments(share, mean)[1].sum())
    else:
        blocks = [slice(a, a + _BLOCK_ROWS) for a in range(0, X.shape[0], _BLOCK_ROWS)]
        mean = sum((share[b] @ X[b] for b in blocks), start=np.zeros(X.shape[1]))
        square = 0.0
        for b in blocks:
            centred = X[b] - mean
            square += float(share[b] @ np.einsum("ij,ij->i", centred, centred))
    rounding = X.shape[0] * float(np.finfo(np.float64).eps)  # of the mean
    return square if square > rounding**2 * float(mean @ mean) else 0.0


def _summed(X: Any) -> Any:
    """Return sparse rows with duplicate entries summed; X itself if it has none."""
    if X.has_canonical_format:
        return X
    X = X.copy()
    X.sum_duplicates()
    return X
