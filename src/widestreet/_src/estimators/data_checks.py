"""Checks of the rows, labels and weights that users pass.

Every error message names the parameter and the remedy.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from widestreet._src.arrays import Floats
from widestreet._src.device.lent import on_host
from widestreet._src.engines.budget import parse_memory
from widestreet._src.estimators import columns
from widestreet._src.kernels import kernels
from widestreet._src.rows import as_rows
from widestreet._src.rows.census import Weights

_LARGEST_VALUE = 1e18  # of X; its square is well within float32
_LARGEST_POWER = 60  # decimal exponent of kernel values beyond which scores are rounding errors
_SMALLEST_VALUE = 1e-140  # of the largest entry of X; its square is well within float64


def refuse_collections(**given: Any) -> None:
    """Raise TypeError for Dask collections, which conversion to an array would compute."""
    for name, value in given.items():
        first = value[0] if isinstance(value, list | tuple) and value else value
        if hasattr(type(first), "__dask_graph__"):
            raise TypeError(
                f"{name} is a Dask collection, and this estimator works in one process: use the "
                f"estimators of widestreet.dask, or pass {name}.compute()"
            )


def check_weight(sample_weight: Any, rows: int, *, may_vanish: bool = False) -> Floats:
    """Return weights as float64, one per row; ones for None. `may_vanish` allows all zeros."""
    if sample_weight is None:
        return np.ones(rows)
    refuse_collections(sample_weight=sample_weight)
    sample_weight = on_host(sample_weight)
    if isinstance(sample_weight, Real):
        sample_weight = np.full(rows, sample_weight)
    weight = columns.numbers("sample_weight", sample_weight)
    if weight.shape != (rows,):
        raise ValueError(
            f"sample_weight must have shape ({rows},), a number for each row, got {weight.shape}"
        )
    with np.errstate(over="ignore"):
        figures = Weights.of(weight)
    check_weights(figures, may_vanish=may_vanish)
    if figures.least < 0:
        raise ValueError(negative_weight(f"row {np.argmax(weight < 0)}"))
    return weight


def negative_weight(place: str) -> str:
    """Return the message about a negative weight."""
    return f"sample_weight must not be negative, but it is in {place}: use 0 to leave a row out"


def check_weights(weights: Weights, *, may_vanish: bool = False) -> None:
    """Raise ValueError if the weights of all rows, none of which is negative, are not usable."""
    total = weights.total
    if total > _LARGEST_VALUE:
        raise ValueError(
            f"sample_weight sums to {total:.3g}, which is too large for float64 arithmetic; divide "
            "the weights by their maximum"
        )
    if not may_vanish and not weights.positive:
        raise ValueError(
            "sample_weight: Invalid input - all samples have zero or negative weights, so there "
            "are no rows to train on"
        )
    if weights.least_positive < np.finfo(np.float64).tiny:
        raise ValueError(
            "sample_weight has values below 1e-307, which lose precision: use 0 or larger values"
        )


def check_kernel_matrix(K: Any) -> None:
    """Raise ValueError if a precomputed kernel matrix is not square and symmetric."""
    if K.shape[0] != K.shape[1]:
        raise ValueError(
            f"X must be a square matrix of kernel values when kernel='precomputed', got "
            f"shape {K.shape}; compute it between the training rows"
        )
    for a in range(0, len(K), 1024):
        part = K[a : a + 1024]
        scale = np.abs(part).max(initial=0.0)
        if np.abs(part - K[:, a : a + 1024].T).max(initial=0.0) > 1e-6 * max(scale, 1e-300):
            raise ValueError(
                "X is not symmetric, but kernel='precomputed' needs a symmetric kernel matrix; "
                "check the kernel, or pass (K + K.T) / 2"
            )


def check_labels(y: Any) -> None:
    """Raise ValueError if labels are continuous or of mixed types."""
    if y.dtype.kind == "O" and any(label is None or label != label for label in y.ravel()):
        raise ValueError("y contains missing labels (NaN or None): remove those rows")
    try:
        check_classification_targets(y)
    except ValueError as error:
        raise ValueError(f"y: {error} Labels must be all text or all integers.") from None


def check_number_of_classes(classes: Any) -> None:
    """Raise ValueError if the rows of positive weight are all of one class."""
    if len(classes) < 2:
        raise ValueError(
            "y: Invalid input - all samples with positive weights belong to the same class: got "
            f"1 class, {classes[0]}, but a classifier needs at least two classes"
        )


def check_sparse(X: Any) -> Any:
    """Check the arrays of a sparse matrix, which SciPy converts without checks.

    Returns the matrix, or a copy without entries stored after its last row.
    """
    if 256 * X.shape[1] > 4 * parse_memory(None):
        raise ValueError(
            f"X has {X.shape[1]} columns, too many for the memory of this machine; drop those that "
            "are empty, or map them to fewer with sklearn.feature_extraction.FeatureHasher"
        )
    if X.format == "coo":
        inside = all(_within(c, size) for c, size in zip((X.row, X.col), X.shape, strict=True))
        fits = len(X.row) == len(X.col) == len(X.data)
    elif X.format in ("csr", "csc", "bsr"):
        height, width = X.blocksize if X.format == "bsr" else (1, 1)
        major, minor = X.shape[0] // height, X.shape[1] // width
        if X.format == "csc":
            major, minor = minor, major
        ends = X.indptr
        fits = ends.shape == (major + 1,) and ends.dtype.kind in "iu" and ends[0] == 0
        fits = fits and bool((ends[1:] >= ends[:-1]).all())
        fits = fits and ends[-1] <= len(X.indices) == len(X.data)
        inside = fits and _within(X.indices[: ends[-1]], minor)
    else:
        return X
    if not fits:
        raise ValueError("X is sparse, and its arrays (indptr, indices, data) are inconsistent")
    if not inside:
        raise ValueError("X is sparse, and one of its indices is not an integer within its shape")
    if X.format != "coo" and len(X.data) > X.indptr[-1]:
        X = X.copy()
        X.prune()
    return X


def _within(index: Any, size: int) -> bool:
    """Return whether indices are integers from 0 to size - 1."""
    if not len(index):
        return True
    return bool(index.dtype.kind in "iu" and index.min() >= 0 and index.max() < size)


def check_powers(kernel: kernels.Kernel, X: Any) -> None:
    """Raise ValueError if values of a polynomial kernel are too large to compute scores.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR
    """
    if not isinstance(kernel, kernels.Poly) or X.shape[0] == 0:
        return
    check_power(kernel, float(as_rows(X).largest_square(1)))


def check_power(kernel: kernels.Kernel, square: float) -> None:
    """Raise ValueError if values of a polynomial kernel are too large; |x|^2 <= square."""
    if not isinstance(kernel, kernels.Poly):
        return
    size = kernel.gamma * square + abs(kernel.coef0)
    power = kernel.degree * np.log10(max(1.0, size))
    if power > _LARGEST_POWER:
        raise ValueError(
            f"degree={kernel.degree}, gamma={kernel.gamma:g} and coef0={kernel.coef0:g} give "
            f"kernel values of 1e{power:.0f}: lower degree or gamma, or scale X, for example with "
            "sklearn.preprocessing.StandardScaler"
        )


def check_magnitude(largest: float) -> None:
    """Raise ValueError if squares of entries of X, `largest` at the most, overflow or underflow."""
    if largest > _LARGEST_VALUE:
        raise ValueError(
            f"X contains values as large as {largest:.3g}, whose kernel values cannot be computed; "
            "scale the features, for example with sklearn.preprocessing.StandardScaler"
        )
    if 0 < largest < _SMALLEST_VALUE:
        raise ValueError(
            f"X contains no value larger than {largest:.3g}, and squares of such values underflow; "
            "scale the features, for example with sklearn.preprocessing.StandardScaler"
        )
