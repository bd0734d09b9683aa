"""A temporary file of arrays with one entry per row, read and written in parts."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from errno import ENOSPC
from threading import Lock
from typing import Any

import numpy as np

_ALIGNMENT = 4096  # bytes; each array begins at such a multiple


class Scratch:
    """A file without a name, which is gone when it is closed or the process ends.

    Parameters
    ----------
    directory : str or path or None
        Where the file is; None means the directory for temporary files.
    rows : int
    arrays : mapping
        For each array the dtype and the number of values per row.

    Attributes
    ----------
    bytes_read, bytes_written : int
    """

    def __init__(
        self, directory: Any, rows: int, arrays: Mapping[str, tuple[np.dtype[Any], int]]
    ) -> None:
        if not isinstance(directory, str | os.PathLike | None):
            raise TypeError(f"scratch must be the path of a directory or None, got {directory!r}")
        self.directory = tempfile.gettempdir() if directory is None else os.fspath(directory)
        self._arrays: dict[str, tuple[int, np.dtype[Any], int]] = {}
        end = 0
        for name, (dtype, width) in arrays.items():
            self._arrays[name] = end, dtype, width
            end += -(-rows * dtype.itemsize * width // _ALIGNMENT) * _ALIGNMENT
        self.bytes_needed = end
        self.bytes_read = self.bytes_written = 0
        self._lock = Lock()
        if not os.path.isdir(self.directory):
            raise FileNotFoundError(
                f"scratch must be an existing directory, got {self.directory!r}"
            )
        free = shutil.disk_usage(self.directory).free
        if free < end:
            raise OSError(ENOSPC, self._too_small(free))
        self._file = tempfile.TemporaryFile(dir=self.directory, buffering=0)  # noqa: SIM115

    def close(self) -> None:
        """Give back the space on the disk."""
        self._file.close()

    def read(self, name: str, begin: int, end: int) -> Any:
        """Return the values of some rows, of shape (rows,) or (rows, width)."""
        offset, dtype, width = self._arrays[name]
        size = dtype.itemsize * width
        values = np.empty((end - begin) * width, dtype=dtype)
        view = values.view(np.uint8).data
        at, done = offset + begin * size, 0
        while done < len(view):
            done += self._read_into(view[done:], at + done)
        self.bytes_read += len(view)
        return values.reshape(-1, width) if width > 1 else values

    def write(self, name: str, begin: int, values: Any) -> None:
        """Set the values of rows from `begin` on."""
        offset, dtype, width = self._arrays[name]
        view = np.ascontiguousarray(values, dtype=dtype).ravel().view(np.uint8).data
        at, done = offset + begin * dtype.itemsize * width, 0
        try:
            while done < len(view):
                done += self._write_from(view[done:], at + done)
        except OSError as error:
            if error.errno != ENOSPC:
                raise
            free = shutil.disk_usage(self.directory).free
            raise OSError(ENOSPC, self._too_small(free)) from None
        self.bytes_written += len(view)

    def _read_into(self, view: memoryview, at: int) -> int:
        if hasattr(os, "preadv"):
            count = os.preadv(self._file.fileno(), [view], at)
        else:
            with self._lock:
                self._file.seek(at)
                count = self._file.readinto(view) or 0
        if count:
            return count
        view[:] = bytes(len(view))  # never written: a part of the file that is not there yet
        return len(view)

    def _write_from(self, view: memoryview, at: int) -> int:
        if hasattr(os, "pwritev"):
            return os.pwritev(self._file.fileno(), [view], at)
        with self._lock:
            self._file.seek(at)
            return self._file.write(view) or 0

    def _too_small(self, free: int) -> str:
        return (
            f"scratch: {self.directory} has {free:,} bytes free, but the rows need "
            f"{self.bytes_needed:,} bytes; pass scratch= a directory on a larger disk"
        )
