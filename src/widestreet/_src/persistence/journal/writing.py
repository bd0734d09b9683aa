"""How a journal is written: one writer, whole records, and what happens when one fails."""

from __future__ import annotations

import errno
import io
import os
import threading
from collections.abc import Mapping
from contextlib import suppress
from types import TracebackType
from typing import IO, Any, NamedTuple
from uuid import UUID

from widestreet._src.persistence.journal.reading import (
    HEAD_SIZE,
    Head,
    JournalError,
    encode,
    frame,
    identity_of,
    read_head,
    unfinished,
    walk,
    warn_of_end,
)
from widestreet._src.persistence.storage import replacing, sync, sync_directory

try:
    import fcntl
except ImportError:  # not POSIX: nobody is kept from writing to the same journal
    fcntl = None  # type: ignore[assignment]

_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL)


class _Tip(NamedTuple):
    """How far a journal goes: set at once, so that an interrupt finds both or neither."""

    size: int
    sequence: int


class Journal:
    """A journal that is open for appending; `create` makes a new one.

    A torn record at the end is cut off, with a JournalWarning. Only one Journal at a time can be
    open for a file, where the system has locks (POSIX); readers are not kept out.

    Parameters
    ----------
    path : str or path-like
        An existing journal.
    base : UUID or str, optional
        Which journal it has to be.
    start : int, optional
        How many records the archive contains. The journal has to continue it without a gap.

    Attributes
    ----------
    path : str
    base : UUID
    first : int
        Number of the first record in the file.

    Raises
    ------
    JournalError
        If the file is no journal, not that of `base`, damaged before its end, or open elsewhere.

    Examples
    --------
    >>> import tempfile, uuid
    >>> import numpy as np
    >>> from widestreet._src.persistence.journal import Journal, records
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Journal.create(folder + "/model.journal", uuid.uuid4()) as journal:
    ...         journal.append("forget", {"why": "asked to"}, {"ids": np.array([3, 5])})
    ...     for record in records(journal.path):
    ...         print(record.sequence, record.kind, record.header, record.arrays["ids"])
    0
    0 forget {'why': 'asked to'} [3 5]
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        base: UUID | str | None = None,
        start: int | None = None,
    ) -> None:
        self.path = os.path.realpath(path)
        self._process, self._turn = os.getpid(), threading.Lock()
        self._file = _open_locked(self.path)
        try:
            self.base, self.first = self._open(base, start)
        except BaseException:
            self._file.close()
            raise

    def _open(self, base: UUID | str | None, start: int | None) -> Head:
        """Read the file to its end, and cut off what is torn. Sets: the tip, and the file."""
        size = os.fstat(self._file.fileno()).st_size
        with open(self._file.fileno(), "rb", closefd=False) as stream:
            head = read_head(stream, self.path, base, start)
            if head is None:
                raise JournalError(
                    f"{self.path} was being created when its process ended, and holds nothing: "
                    "begin it again with Journal.create"
                )
            self._tip = _Tip(HEAD_SIZE, head.first)
            for sequence, _, end in walk(stream, size, head, self.path):
                self._tip = _Tip(end, sequence + 1)
        if start is not None and self.sequence < start:
            raise JournalError(
                f"{self.path} ends before record {self.sequence}, but the archive contains {start} "
                "records, so that nothing in it is needed: delete it and create a new one with "
                f"first={start}"
            )
        self._sound = self.size == size
        if not self._sound:
            warn_of_end(self.path, size - self.size, self.sequence)
        self._repair()
        sync(self._file.fileno())  # what is done again after a crash must not vanish in the next
        return head

    @classmethod
    def create(cls, path: str | os.PathLike[str], base: UUID | str, first: int = 0) -> Journal:
        """Make a new journal and open it.

        Parameters
        ----------
        path : str or path-like
            Where there is no file yet, or one that another `create` did not finish.
        base : UUID or str
            The identity that the archive states as well, such as ``uuid.uuid4()``.
        first : int, default=0
            Number of the first record: how many the archive contains.

        Returns
        -------
        Journal

        Raises
        ------
        FileExistsError
            If there is a file.
        """
        if first < 0:
            raise ValueError(f"first must be the number of a record, 0 or more, got {first}")
        path, head = os.path.realpath(path), Head(identity_of(base), first)
        with _open_locked(path, create=True) as file:
            if not unfinished(file.read(HEAD_SIZE + 1)):
                raise FileExistsError(
                    errno.EEXIST, "there is a file already: open it with Journal, or move it", path
                )
            file.seek(0)
            file.truncate()
            _write(file, head.pack())
            sync(file.fileno())
            sync_directory(path)
        return cls(path, base)

    @classmethod
    def resume(cls, path: str | os.PathLike[str], base: UUID | str, start: int = 0) -> Journal:
        """Open the journal that continues an archive, or create it if there is none yet.

        Parameters
        ----------
        path : str or path-like
        base : UUID or str
            The identity that the archive states.
        start : int, default=0
            How many records the archive contains.

        Returns
        -------
        Journal
        """
        try:
            return cls.create(path, base, first=start)
        except FileExistsError:
            return cls(path, base, start)

    @property
    def sequence(self) -> int:
        """Number of the record that comes next: how many there have been, over restarts too."""
        return self._tip.sequence

    @property
    def size(self) -> int:
        """Bytes in the file."""
        return self._tip.size

    def append(self, kind: str, header: Mapping[str, Any], arrays: Mapping[str, Any]) -> int:
        """Add a record; when this returns, it is on the disk.

        If it raises, an interrupt included, the record is not in the journal.

        Parameters
        ----------
        kind : str
        header : mapping
            As in `widestreet._src.persistence.archive.write`.
        arrays : mapping of str to ndarray, csr_matrix or csr_array
            As in `widestreet._src.persistence.archive.write`.

        Returns
        -------
        sequence : int
            The number of the record.
        """
        payload = encode(kind, header, arrays)
        with self._turn:
            self._check_mine()
            self._check_undisturbed()
            size, sequence = self._tip
            record = frame(sequence, payload, Head(self.base, self.first).seed)
            self._sound = False
            try:
                _write(self._file, record)
                sync(self._file.fileno())
            except BaseException:
                with suppress(OSError):  # if that fails as well, the next append tries again
                    self._repair()
                raise
            self._tip = _Tip(size + len(record), sequence + 1)
            self._sound = True
            return sequence

    def restart(self) -> None:
        """Begin the file anew, without records, where the numbers are now.

        For use after an archive that contains all records was saved. The old file is replaced by
        the new one all at once.
        """
        with self._turn:
            self._check_mine()
            self._check_undisturbed()
            head = Head(self.base, self.sequence)
            if fcntl is None:
                self._file.close()  # Windows does not replace files that are open
            fresh = None
            try:
                with replacing(self.path) as file:
                    file.write(head.pack())
                    if fcntl is not None:  # locked before anybody else can see it
                        _lock(file, self.path)
                        fresh = io.FileIO(os.dup(file.fileno()), "r+b")
                if fresh is None:
                    fresh = _open_locked(self.path)
            except BaseException:
                if fresh is not None:
                    fresh.close()
                raise
            self._file.close()
            self._file, self.first = fresh, head.first
            self._tip = _Tip(HEAD_SIZE, head.first)

    def close(self) -> None:
        """Let others write to the file."""
        self._file.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Journal({self.path!r}, base={str(self.base)!r}, sequence={self.sequence})"

    def _check_mine(self) -> None:
        if self._file.closed:
            raise JournalError(f"{self.path} has been closed: open it again")
        if self._process != os.getpid():
            raise JournalError(
                f"{self.path} was opened by another process, of which this one is a copy: only "
                "that one can append"
            )

    def _check_undisturbed(self) -> None:
        """Raise if the file is not as we left it: what goes to a deleted one would be lost."""
        try:
            there = os.stat(self.path)
        except FileNotFoundError:
            there = None
        if there is None or not os.path.samestat(there, os.fstat(self._file.fileno())):
            raise JournalError(
                f"{self.path} was moved, deleted or replaced while it was open: save the model "
                "and create a new journal"
            )
        self._repair()
        if os.fstat(self._file.fileno()).st_size != self.size:
            raise JournalError(
                f"{self.path} was written by somebody else while it was open: close both, and "
                "open it again in one place"
            )

    def _repair(self) -> None:
        """Cut off what was not acknowledged, and stand at the end. Sets: the file."""
        if not self._sound:
            self._file.truncate(self.size)
            self._sound = True
        self._file.seek(self.size)


def _open_locked(path: str, create: bool = False) -> io.FileIO:
    """A file that nobody else has open for appending."""
    flags = os.O_RDWR | getattr(os, "O_BINARY", 0) | (os.O_CREAT if create else 0)
    try:
        file = io.FileIO(os.open(path, flags, 0o666), "r+b")
    except OSError as error:
        cure = "its folder must exist, and both be writable"
        if not create and error.errno == errno.ENOENT:
            cure = "Journal.create makes a new one"
        raise OSError(error.errno, f"{error.strerror}: {cure}", path) from error
    try:
        _lock(file, path)
        if not os.path.samestat(os.fstat(file.fileno()), os.stat(path)):
            raise _busy(path)  # restarted by somebody else between the opening and the lock
    except BaseException:
        file.close()
        raise
    return file


def _lock(file: IO[bytes] | io.FileIO, path: str) -> None:
    if fcntl is None:
        return
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise _busy(path) from error
    except OSError as error:
        if error.errno not in _NO_LOCKS:  # of some network file systems
            raise


def _busy(path: str) -> JournalError:
    return JournalError(f"{path} is open for appending elsewhere: close it there first")


def _write(file: io.FileIO, data: bytes) -> None:
    """Write everything, at once where the system can. Sets: file."""
    rest = memoryview(data)
    while len(rest) > 0:
        rest = rest[file.write(rest) :]
