"""The rows of a fitted SVM among given rows, and its coefficients over all of them."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from widestreet._src.arrays import Floats, Ints
from widestreet._src.estimators.scoring import check_shapes, dense_coef

_DIGITS_OF_FILES = (6, 8)  # of vectors in text models: those of streams of C++, and of LIBSVM


def coefficients_over(
    name: str, model: Any, X: Any, target: Floats, box: Floats, *, labels: bool
) -> Floats:
    """Return the lines of `dual_coef_` of a fitted SVM over all rows.

    The rows may be in another order than in training. Rows that are equal share coefficients so
    that the dual objective is as large as possible. Support vectors from a file that has rounded
    them are found by the digits that they have.

    Parameters
    ----------
    name : str
        Name of the model in error messages.
    model : object
        Fitted SVM with the attributes of scikit-learn.
    X : ndarray or CSR
        Validated rows, or the kernel matrix of a model with kernel="precomputed".
    target : ndarray
        Class index or target of each row.
    box : ndarray
        Width of the box of each row.
    labels : bool
        True if targets are indices of classes.

    Raises
    ------
    ValueError
        If a support vector is not among the rows.
    """
    check_shapes(name, model)
    coef, support = dense_coef(model.dual_coef_), np.asarray(model.support_, dtype=np.int64)
    own = None
    if labels and hasattr(model, "compaction_"):  # signs mean nothing there
        own = np.repeat(np.arange(len(model.n_support_)), model.n_support_)
    elif labels:
        own = classes_of(coef, np.asarray(model.n_support_))
    if isinstance(model.kernel, str) and model.kernel == "precomputed":
        if tuple(model.shape_fit_) != tuple(X.shape):
            raise ValueError(
                f"{name}: X has shape {X.shape}, but the model was trained on a kernel matrix of "
                f"shape {tuple(model.shape_fit_)}"
            )
        at = support
    elif _are_rows(X, support, model.support_vectors_) and (
        own is None or np.array_equal(target[support], own)
    ):
        at = support
    else:
        at = _found(model.support_vectors_, coef, X, target, box, own)
        if (at < 0).any():
            at = _found_rounded(model.support_vectors_, coef, X, target, box, own, at)
        _require_all(name, at)
    if own is not None and not np.array_equal(target[at], own):
        raise ValueError(f"{name}: y has other labels for the support vectors than the model")
    lines = np.zeros((len(coef), X.shape[0]))
    lines[:, at] = coef
    return lines


def classes_of(coef: Floats, n_support: Ints) -> Ints:
    """Return the class of each support vector.

    They stand class by class; scikit-learn-intelex leaves those of two classes in the order of the
    rows, where the sign of a coefficient tells its class.
    """
    if len(n_support) == 2 and int(np.count_nonzero(coef[0] > 0)) == n_support[1]:
        second: Ints = (coef[0] > 0).astype(np.int64)
        return second
    return np.repeat(np.arange(len(n_support)), n_support)


def _are_rows(X: Any, support: Ints, vectors: Any) -> bool:
    """Return whether support vectors are the rows of these indices."""
    if vectors.shape != (len(support), X.shape[1]) or support.max(initial=-1) >= X.shape[0]:
        return False
    rows = X[support]
    if sparse.issparse(rows) or sparse.issparse(vectors):
        return bool((sparse.csr_matrix(rows) != sparse.csr_matrix(vectors)).nnz == 0)
    return np.array_equal(rows, vectors)


def _found(
    vectors: Any, coef: Floats, X: Any, target: Floats, box: Floats, own: Ints | None
) -> Ints:
    """Return the index of the row of each support vector, found by its values, or -1."""
    rows, wanted = defaultdict[Any, list[int]](list), defaultdict[Any, list[int]](list)
    classes = np.zeros(X.shape[0]) if own is None else target
    for i, key in enumerate(_keys(X)):
        if box[i] > 0:
            rows[key, float(classes[i])].append(i)
    for s, key in enumerate(_keys(vectors)):
        wanted[key, 0.0 if own is None else float(own[s])].append(s)
    at = np.full(coef.shape[1], -1, dtype=np.int64)
    for key, some in wanted.items():
        there = rows.get(key, [])
        if own is None:  # the largest coefficients belong to the largest targets
            there = sorted(there, key=lambda i: -target[i])
            positive = sorted((s for s in some if coef[0, s] > 0), key=lambda s: -coef[0, s])
            negative = sorted((s for s in some if coef[0, s] <= 0), key=lambda s: coef[0, s])
        else:
            there = sorted(there, key=lambda i: -box[i])
            positive, negative = sorted(some, key=lambda s: -np.abs(coef[:, s]).sum()), []
        if len(some) <= len(there):
            at[positive], at[negative] = there[: len(positive)], there[::-1][: len(negative)]
    return at


def _found_rounded(
    vectors: Any,
    coef: Floats,
    X: Any,
    target: Floats,
    box: Floats,
    own: Ints | None,
    at: Ints,
) -> Ints:
    """Return the rows of support vectors that a file has rounded; `at` if it has not."""
    for digits in _DIGITS_OF_FILES:
        if _is_rounded(vectors, digits):
            return _found(vectors, coef, _rounded(X, digits), target, box, own)
    return at


def _rounded(X: Any, digits: int) -> Any:
    """Return rows with as many digits as a text has that was written with so many."""
    values = X.data if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
    text = [f"{value:.{digits}g}" for value in values.ravel().tolist()]
    found = np.array(text, dtype=np.float64).reshape(values.shape)
    if sparse.issparse(X):
        return sparse.csr_matrix((found, X.indices, X.indptr), shape=X.shape)
    return found


def _is_rounded(vectors: Any, digits: int) -> bool:
    """Return whether all values have at most so many digits."""
    values = vectors.data if sparse.issparse(vectors) else vectors
    other = _rounded(vectors, digits)
    return np.array_equal(values, other.data if sparse.issparse(other) else other)


def _require_all(name: str, at: Ints) -> None:
    """Raise ValueError if a support vector has no row."""
    missing = int(np.count_nonzero(at < 0))
    if missing:
        raise ValueError(
            f"{name}: {missing} of the {len(at)} support vectors are not among the rows of X with "
            "their class and a positive weight: pass the rows that the model was trained on, "
            "scaled in the same way"
        )


def _keys(X: Any) -> list[bytes]:
    """Return the values of each row as bytes, which are equal for equal rows, dense or sparse."""
    if not sparse.issparse(X):
        X = np.asarray(X, dtype=np.float64) + 0.0  # without negative zeros
        return [_key(np.flatnonzero(row), row[row != 0]) for row in X]
    X = sparse.csr_matrix(X, dtype=np.float64, copy=True)
    X.sum_duplicates()
    X.eliminate_zeros()
    ends = X.indptr.tolist()
    return [_key(X.indices[a:b], X.data[a:b]) for a, b in pairwise(ends)]


def _key(columns: Ints, values: Floats) -> bytes:
    return bytes(columns.astype(np.int64).tobytes() + values.tobytes())
