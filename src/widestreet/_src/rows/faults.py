"""Values that no SVM can be trained on: NaN, infinity, missing labels, negative weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from widestreet._src.arrays import Floats
from widestreet._src.rows.labels import first_missing

_BLOCK_ROWS = 2048  # rows that are tested at a time


@dataclass(frozen=True)
class Fault:
    """The first value that no SVM can be trained on.

    Attributes
    ----------
    name : str
        Parameter: "X", "y" or "sample_weight".
    what : str
        "NaN" or "infinity"; "a missing label" of labels; "a negative value" of weights.
    row : int
        Counted from zero, through all parts that were merged.
    column : int or None
        None for vectors.
    """

    name: str
    what: str
    row: int
    column: int | None = None


def first_fault(X: Any, y: Any = None, weight: Any = None, *, labels: bool = False) -> Fault | None:
    """Return the first invalid value of X, else of the weights, else of y; None if all are valid.

    Parameters
    ----------
    X : ndarray or CSR
    y, weight : array-like, optional
    labels : bool, default=False
        Whether y are labels of classes rather than numbers.
    """
    found = _fault_of(X)
    if found is None and weight is not None:
        found = _fault_of_weights(np.asarray(weight, dtype=np.float64))
    if found is None and y is not None and labels:
        missing = first_missing(y)
        return None if missing is None else Fault("y", "a missing label", missing)
    if found is None and y is not None:
        found = _fault_of_vector("y", np.asarray(y, dtype=np.float64))
    return found


def _fault_of(X: Any) -> Fault | None:
    """Return the first value of X, row by row, that is not finite."""
    if sparse.issparse(X):
        bad = np.flatnonzero(~np.isfinite(X.data))
        if len(bad) == 0:
            return None
        row = int(np.searchsorted(X.indptr, bad[0], side="right")) - 1
        return Fault("X", _kind(X.data[bad[0]]), row, int(X.indices[bad[0]]))
    for a in range(0, X.shape[0], _BLOCK_ROWS):
        block = X[a : a + _BLOCK_ROWS]
        finite = np.isfinite(block)
        if not finite.all():
            row, column = divmod(int(np.argmin(finite)), X.shape[1])
            return Fault("X", _kind(block[row, column]), a + row, column)
    return None


def _fault_of_vector(name: str, values: Floats) -> Fault | None:
    bad = np.flatnonzero(~np.isfinite(values))
    return Fault(name, _kind(values[bad[0]]), int(bad[0])) if len(bad) else None


def _fault_of_weights(values: Floats) -> Fault | None:
    negative = np.flatnonzero(values < 0)
    if len(negative) == 0:
        return _fault_of_vector("sample_weight", values)
    return Fault("sample_weight", "a negative value", int(negative[0]))


def _kind(value: Any) -> str:
    return "NaN" if np.isnan(value) else "infinity"
