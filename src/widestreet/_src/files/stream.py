"""Rows, targets and weights of a fit as one sequence of batches."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from typing import Any

import numpy as np

from widestreet._src.files.formats import BATCH_ROWS, Batch
from widestreet._src.files.table import StoredColumn, StoredRows, Table


class Stream:
    """Rows from files or from a memory map, with targets and weights beside them.

    Parameters
    ----------
    X : StoredRows or numpy.memmap
    y, weight : StoredColumn, array-like or None
        Columns of the same files, or arrays.

    Attributes
    ----------
    shape : tuple of int
    dtype : numpy.dtype
    names : list of str or None
        Names of the columns.
    weighted : bool
        Whether rows have weights.
    """

    def __init__(self, X: Any, y: Any = None, weight: Any = None) -> None:
        self._X = X
        self.shape: tuple[int, int] = X.shape
        stored = isinstance(X, StoredRows)
        self.table: Table | None = X.table if stored else None
        self.names: list[str] | None = X.feature_names if stored else None
        narrow = X.dtype == np.float32
        self.dtype = np.dtype(np.float32 if narrow else np.float64)
        self._y = self._beside("y", y)
        self._weight = self._beside("sample_weight", weight)
        self.weighted = weight is not None

    def _beside(self, name: str, values: Any) -> Any:
        """Return targets or weights as an array, unless they are read with the rows."""
        if values is None:
            return None
        if isinstance(values, StoredColumn):
            if values.table is not self.table:
                raise ValueError(
                    f"X and {name} must be opened by one call of open_rows; for a column of other "
                    f"files pass np.asarray({name})"
                )
            return values
        found = np.asarray(values)
        if found.ndim == 0 and name == "sample_weight":
            found = np.full(self.shape[0], found)
        if found.shape != (self.shape[0],):
            raise ValueError(
                f"{name} must have shape ({self.shape[0]},), a value for each row of X, got "
                f"{found.shape}"
            )
        return found

    def batches(self, size: int = BATCH_ROWS) -> Iterator[Batch]:
        """Yield the rows in order, about `size` at a time."""
        if self.table is not None:
            begin = 0
            for X, y, weight in self.table.batches(size):
                at = slice(begin, begin + len(X))
                yield X, _part(self._y, at, y), _part(self._weight, at, weight)
                begin += len(X)
            return
        for a in range(0, self.shape[0], size):
            at = slice(a, a + size)
            X = np.array(self._X[at], dtype=self.dtype, order="C")
            _release(self._X)
            yield X, _part(self._y, at, None), _part(self._weight, at, None)

    def place(self, row: int) -> str:
        """Return a row as text: where it is."""
        return f"row {row}" if self.table is None else self.table.place(row)


def _release(X: Any) -> None:
    """Free the pages of a map that are stored in its file; modified pages are kept."""
    mapped = getattr(X, "_mmap", None)
    if mapped is not None and X.mode != "c" and hasattr(mmap, "MADV_DONTNEED"):
        mapped.madvise(mmap.MADV_DONTNEED)


def _part(values: Any, at: slice, read: Any) -> Any:
    """Return targets or weights of a batch: those read with the rows, or a part of an array."""
    return read if isinstance(values, StoredColumn) else None if values is None else values[at]
