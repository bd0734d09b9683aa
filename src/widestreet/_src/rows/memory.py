"""Rows held in memory.

No class here copies the data set. Dense rows may be float32 or float64 in any layout, sparse rows
CSR with int32 or int64 indices; the native core converts a row when it loads it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from widestreet import _core
from widestreet._src.arrays import Floats, Ints, Real

_FEW_NONZEROS = 0.25  # of all values: below this, zeros are skipped
_LOOKED_AT = 256  # rows whose zeros are counted to know
_AT_ONCE = 1 << 20  # values whose squares are added up at a time


@dataclass(frozen=True, eq=False)
class DenseRows:
    """Rows of a dense matrix, seen relative to `centre`.

    Subtracting the mean of each column changes no distance, but keeps the norms small from which
    the core computes distances. Rows that are mostly zero are left where they are, so that the
    core can skip the zeros.
    """

    values: Real
    centre: Floats | None = None
    skip_zeros: bool = False

    def __getstate__(self) -> dict[str, Any]:
        return _without_native(self)

    @property
    def shape(self) -> tuple[int, int]:
        return self.values.shape[0], self.values.shape[1]

    @property
    def few_nonzeros(self) -> bool:
        """Whether the core goes by the nonzeros of a row."""
        return self.skip_zeros

    def density(self) -> float:
        """Part of the values that are not zero, more or less."""
        return _density(self.values)

    @cached_property
    def native(self) -> _core.Rows:
        return _core.Rows.dense(self.values, self.centre, self.skip_zeros)

    def largest_square(self, threads: int) -> float:
        """The largest |x|^2 of a row, relative to the centre."""
        return _core.largest_square(self.native, threads)

    def squares(self, index: Ints | None = None) -> Floats:
        """|x|^2 of some rows, relative to the centre."""
        count = self.shape[0] if index is None else len(index)
        square = np.empty(count)
        step = max(1, _AT_ONCE // max(1, self.shape[1]))
        for a in range(0, count, step):
            part = slice(a, a + step)
            x = self.values[part if index is None else index[part]].astype(np.float64)
            if self.centre is not None:
                x -= self.centre
            square[part] = np.einsum("ij,ij->i", x, x)
        return square

    def take(self, index: Ints) -> DenseRows:
        return DenseRows(self.values[index], self.centre, self.skip_zeros)

    @property
    def data(self) -> Real:
        """The rows as the user knows them."""
        return self.values


@dataclass(frozen=True, eq=False)
class CsrRows:
    """Rows of a CSR matrix or array with sorted, distinct column indices."""

    values: Any

    def __getstate__(self) -> dict[str, Any]:
        return _without_native(self)

    @property
    def shape(self) -> tuple[int, int]:
        return self.values.shape[0], self.values.shape[1]

    few_nonzeros = True

    def density(self) -> float:
        """Part of the values that are stored."""
        return float(self.values.nnz) / max(1, self.shape[0] * self.shape[1])

    @cached_property
    def native(self) -> _core.Rows:
        csr = self.values
        indices, indptr = csr.indices, csr.indptr
        if indices.dtype != indptr.dtype:
            wide = np.promote_types(indices.dtype, indptr.dtype)
            indices, indptr = indices.astype(wide), indptr.astype(wide)
        data, indices, indptr = map(np.ascontiguousarray, (csr.data, indices, indptr))
        return _core.Rows.csr(data, indices, indptr, *self.shape)

    def largest_square(self, threads: int) -> float:
        """The largest |x|^2 of a row."""
        return _core.largest_square(self.native, threads)

    def squares(self, index: Ints | None = None) -> Floats:
        """|x|^2 of some rows."""
        count = self.shape[0] if index is None else len(index)
        square = np.empty(count)
        step = max(1, int(_AT_ONCE / max(1.0, self.values.nnz / max(1, self.shape[0]))))
        for a in range(0, count, step):
            x = self.values[slice(a, a + step) if index is None else index[a : a + step]]
            x = x.astype(np.float64)
            square[a : a + step] = np.asarray(x.multiply(x).sum(axis=1)).ravel()
        return square

    def take(self, index: Ints) -> CsrRows:
        return CsrRows(self.values[index])

    @property
    def data(self) -> Any:
        """The rows as the user knows them."""
        return self.values


@dataclass(frozen=True, eq=False)
class KernelRows:
    """Rows of a precomputed kernel matrix; `column` is where a row stands as a support vector."""

    values: Real
    column: Ints

    @property
    def shape(self) -> tuple[int, int]:
        return self.values.shape[0], self.values.shape[1]

    def take(self, index: Ints) -> KernelRows:
        return KernelRows(self.values[index], self.column[index])

    @property
    def data(self) -> Real:
        """The rows as the user knows them."""
        return self.values


Vectors: TypeAlias = DenseRows | CsrRows
Rows: TypeAlias = DenseRows | CsrRows | KernelRows


def _without_native(rows: Vectors) -> dict[str, Any]:
    """Return what is pickled of rows: what the core makes of them is made anew."""
    return {name: value for name, value in vars(rows).items() if name != "native"}


def as_rows(X: Any, *, centred: bool = False, centre: Floats | None = None) -> Vectors:
    """Wrap a validated array or sparse matrix.

    Parameters
    ----------
    X : ndarray or sparse matrix of float32 or float64
    centred : bool
        Look at dense rows relative to their mean, for kernels that allow it, unless most of their
        values are zero.
    centre : ndarray, optional
        Look at dense rows relative to this point instead.
    """
    if sparse.issparse(X):
        X = X.tocsr()
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        return CsrRows(X)
    if any(stride % X.itemsize for stride in X.strides):
        X = X.copy()  # a field of packed records
    if centre is None and _density(X) < _FEW_NONZEROS:
        return DenseRows(X, skip_zeros=True)
    if centred and centre is None:
        centre = np.asarray(X.mean(axis=0, dtype=np.float64))
    return DenseRows(X, centre)


def _density(X: Real) -> float:
    """Part of the values that are not zero, from some rows spread over the data."""
    sample = X[:: max(1, len(X) // _LOOKED_AT)]
    return float(np.count_nonzero(sample)) / max(1, sample.size)
