"""Rows that stay in their files, and the columns beside them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from os import stat
from pathlib import Path
from typing import Any

import numpy as np

from widestreet._src.arrays import Ints
from widestreet._src.files.formats import BATCH_ROWS, Batch, Columns, Format

_SHOWN_FILES = 2  # files that a repr names
_AS_A_WHOLE = (
    "X was opened by open_rows: only fit and the predictions of SVC, NuSVC, SVR, NuSVR and "
    "OneClassSVM read such rows in batches. Pass X.to_numpy() for anything else; to validate a "
    "model, hold out some of the files and open them on their own"
)


@dataclass(frozen=True, eq=False)
class Table:
    """Files of one format that are read one after the other.

    Attributes
    ----------
    paths : tuple of Path
    kind : Format
    columns : Columns
    stamps : tuple
        Size and time of last change of each file when it was opened.
    """

    paths: tuple[Path, ...]
    kind: Format
    columns: Columns
    stamps: tuple[tuple[int, int], ...]

    @cached_property
    def ends(self) -> Ints:
        """Number of the row behind the last one of each file."""
        self.check_unchanged()
        return np.cumsum([self.kind.count(path) for path in self.paths])

    @property
    def rows(self) -> int:
        return int(self.ends[-1])

    def batches(self, size: int = BATCH_ROWS) -> Iterator[Batch]:
        """Yield all rows in order, about `size` at a time.

        Raises
        ------
        RuntimeError
            A file is not as it was when it was opened.
        ValueError
            A file cannot be read.
        """
        self.check_unchanged()
        begin = 0
        for path, end in zip(self.paths, self.ends.tolist(), strict=True):
            try:
                for batch in self.kind.batches(path, self.columns, size):
                    begin += len(batch[0])
                    if begin > end:
                        raise _changed(path)
                    yield batch
            except (ValueError, KeyError, IndexError, OSError) as error:
                self.check_unchanged()  # a change causes all kinds of errors
                raise ValueError(f"{path} cannot be read: {error}") from error
            if begin < end:
                raise _changed(path)
        self.check_unchanged()

    def place(self, row: int) -> str:
        """Return a row as text: its file, and its number there."""
        k = int(np.searchsorted(self.ends, row, side="right"))
        begin = int(self.ends[k - 1]) if k else 0
        return f"row {row - begin} of {self.paths[k]}"

    def check_unchanged(self) -> None:
        """Raise RuntimeError if a file is not as it was when it was opened."""
        for path, before in zip(self.paths, self.stamps, strict=True):
            if not path.exists() or stamp(path) != before:
                raise _changed(path)

    def describe(self) -> str:
        """Return the names of the files."""
        names = ", ".join(path.name for path in self.paths[:_SHOWN_FILES])
        more = len(self.paths) - _SHOWN_FILES
        return names + (f" and {more} more" if more > 0 else "")


def _changed(path: Path) -> RuntimeError:
    return RuntimeError(
        f"{path} has changed since it was opened: call open_rows again, and do not write to files "
        "while a model is fitted"
    )


def stamp(path: Path) -> tuple[int, int]:
    """Return the size of a file and when it was changed, in nanoseconds."""
    found = stat(path)
    return found.st_size, found.st_mtime_ns


class StoredRows:
    """Rows that stay in their files until they are needed; made by `open_rows`.

    Iteration yields them in batches, as arrays.

    Attributes
    ----------
    shape : tuple of int
    dtype : numpy.dtype
        What values are converted to.
    feature_names : list of str or None
        None for .npy files, whose columns have no names.
    """

    ndim = 2

    def __init__(self, table: Table) -> None:
        self.table = table
        self.dtype = np.dtype(table.columns.dtype)
        names = table.columns.features
        self.feature_names = None if isinstance(names[0], int) else [str(name) for name in names]

    @property
    def shape(self) -> tuple[int, int]:
        return self.table.rows, len(self.table.columns.features)

    @property
    def nbytes(self) -> int:
        """Size of all values in memory."""
        return self.shape[0] * self.shape[1] * self.dtype.itemsize

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (X for X, _, _ in self.table.batches())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise TypeError(_AS_A_WHOLE)

    def __getitem__(self, at: Any) -> Any:
        raise TypeError(_AS_A_WHOLE)

    def to_numpy(self) -> Any:
        """Return all rows in memory."""
        every = np.empty(self.shape, dtype=self.dtype)
        begin = 0
        for X in self:
            every[begin : begin + len(X)] = X
            begin += len(X)
        return every

    def __repr__(self) -> str:
        rows, columns = self.shape
        return f"<{rows:,} rows of {columns:,} {self.dtype} columns in {self.table.describe()}>"


class StoredColumn:
    """Labels, targets or weights beside stored rows. Iteration yields them in batches.

    Attributes
    ----------
    table : Table
        That of the rows.
    name : str or int
        Name of the column.
    """

    ndim = 1

    def __init__(self, table: Table, name: str | int) -> None:
        self.table, self.name = table, name

    @property
    def shape(self) -> tuple[int]:
        return (self.table.rows,)

    def __len__(self) -> int:
        return self.table.rows

    def __iter__(self) -> Iterator[Any]:
        position = 1 if self.name == self.table.columns.target else 2
        return (batch[position] for batch in self.table.batches())

    def to_numpy(self) -> Any:
        """Return all values in memory."""
        return np.concatenate(list(self))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(self.to_numpy(), dtype=dtype)

    def __repr__(self) -> str:
        return f"<column {self.name!r} of {len(self):,} rows in {self.table.describe()}>"
