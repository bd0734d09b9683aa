"""The same rows in every form that estimators take."""

from __future__ import annotations

import numpy as np
from scipy import sparse


def _wide_index(X):
    csr = sparse.csr_matrix(X)
    csr.indices, csr.indptr = csr.indices.astype(np.int64), csr.indptr.astype(np.int64)
    return csr


def _read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


def _strided(X):
    wide = np.full((2 * X.shape[0], 3 * X.shape[1]), np.nan, dtype=X.dtype)
    wide[::2, ::3] = X
    return wide[::2, ::3]


def _duplicated(X):
    """CSR whose entries each come twice, halved, in descending order of columns."""
    csr = sparse.csr_matrix(X)
    csr.sort_indices()
    indices = [np.repeat(csr.indices[a:b][::-1], 2) for a, b in _spans(csr)]
    data = [np.repeat(csr.data[a:b][::-1] / 2, 2) for a, b in _spans(csr)]
    arrays = (np.concatenate(data), np.concatenate(indices), 2 * csr.indptr)
    return sparse.csr_matrix(arrays, shape=X.shape)


def _spans(csr):
    return list(zip(csr.indptr[:-1], csr.indptr[1:], strict=True))


def _pandas(X):
    import pandas as pd

    return pd.DataFrame(X, columns=[f"c{k}" for k in range(X.shape[1])])


def _polars(X):
    import polars as pl

    return pl.DataFrame({f"c{k}": X[:, k] for k in range(X.shape[1])})


DENSE = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "strided": _strided,
    "reversed": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "read only": _read_only,
    "pandas": _pandas,
    "polars": _polars,
}
SPARSE = {
    "csr": sparse.csr_matrix,
    "csr int64": _wide_index,
    "csr array": sparse.csr_array,
    "csc": sparse.csc_matrix,
    "coo": sparse.coo_matrix,
    "repeated entries": _duplicated,
}
