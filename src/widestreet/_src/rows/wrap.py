"""Choice of the storage for an array or a sparse matrix."""

from __future__ import annotations

from typing import Any

from scipy import sparse

from widestreet._src.arrays import Floats
from widestreet._src.device.lent import LentArray
from widestreet._src.rows.base import Vectors
from widestreet._src.rows.csr import CsrRows
from widestreet._src.rows.dense import DenseRows, aligned, column_figures, density_of
from widestreet._src.rows.lent import LentRows
from widestreet._src.rows.levels import grid_of_csr, grid_of_dense

_SPARSE_DENSITY = 0.25  # density below which the core skips the zeros of dense rows


def as_rows(
    X: Any, *, centred: bool = False, centre: Floats | None = None, mean: Floats | None = None
) -> Vectors:
    """Wrap a validated array or sparse matrix.

    Parameters
    ----------
    X : ndarray, sparse matrix or LentArray of float32 or float64
    centred : bool
        If True, the mean of dense rows is subtracted, unless most of their values are zero.
    centre : ndarray, optional
        Point to subtract from dense rows instead of their mean.
    mean : ndarray, optional
        Mean of dense rows, if it is known.
    """
    if sparse.issparse(X):
        X = X.tocsr()
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        return CsrRows(X, grid_of_csr(X))
    if isinstance(X, LentArray):
        skip = centre is None and density_of(X) < _SPARSE_DENSITY
        return LentRows(X, X.mean() if centred and centre is None and not skip else centre, skip)
    X = aligned(X)
    if centre is None and density_of(X) < _SPARSE_DENSITY:
        return DenseRows(X, skip_zeros=True, grid=grid_of_dense(X))
    if centred and centre is None:
        centre = column_figures(X)[0] / len(X) if mean is None else mean
    return DenseRows(X, centre, grid=grid_of_dense(X))
