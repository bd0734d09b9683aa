"""Journals: an append-only table of records, each on the disk before its `append` returns.

A journal continues an archive. The archive holds a model and states which journal continues it
(`base`, a UUID) and how many records of the journal it already contains (`start`). Loading both
replays the records since.

A journal is an SQLite database of three tables: ``journal`` holds `base`; ``record`` the number,
kind and header of each record; ``piece`` the arrays of a record in the .npy format, one after the
other, cut into pieces because SQLite limits a value to 10**9 bytes. SQLite undoes a commit that a
crash has interrupted, but has no checksums. The CRC32 of a record finds bytes that have changed on
the disk. The settings of the connection:

==========================  =======================================================================
``journal_mode=TRUNCATE``   Between two commits the one file is complete and can be copied; WAL
                            keeps the latest commits in a second file. During a commit the old pages
                            are in ``<name>-journal``, which is then emptied and removed by `close`.
``synchronous=FULL``        Before COMMIT returns, SQLite synchronises the database and then the
                            emptied file beside it, which makes the commit final. EXTRA only adds a
                            synchronised folder, where ``journal_mode=DELETE`` removes that file.
``fullfsync=ON``            The fsync of macOS stops at the cache of the drive.
``locking_mode=EXCLUSIVE``  One process at a time; a second one is refused.
``secure_delete=ON``        A deleted record is overwritten with zeros.
==========================  =======================================================================

The locks of POSIX belong to a process and end when the process closes any
descriptor of the file. Therefore this module never opens a file that is already open as a journal
here, and `append` checks that no other process has written.
"""

from __future__ import annotations

import errno
import io
import os
import sqlite3
import threading
import warnings
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID, uuid4

from widestreet._src.persistence import storage
from widestreet._src.stacklevel import level_of_caller

__all__ = ["VERSION", "Journal", "JournalError", "JournalWarning", "Record", "is_journal"]

VERSION = 1

_APPLICATION = int.from_bytes(b"wsjl", "big")
_SETTINGS = (
    *("locking_mode=EXCLUSIVE", "journal_mode=TRUNCATE", "synchronous=FULL"),
    *("fullfsync=ON", "secure_delete=ON"),
)
_TABLES = (
    "CREATE TABLE journal (base TEXT NOT NULL)",
    "CREATE TABLE record (number INTEGER PRIMARY KEY, kind TEXT NOT NULL, header TEXT NOT NULL, "
    "checksum INTEGER NOT NULL)",
    "CREATE TABLE piece (record INTEGER NOT NULL, position INTEGER NOT NULL, "
    "content BLOB NOT NULL, PRIMARY KEY (record, position)) WITHOUT ROWID",
)
_PIECE_SIZE = 2**26
_HEAD_SIZE = 100  # bytes of the file header, which changes with the first commit of a connection
_DATABASE = b"SQLite format 3\0"
_ROLLBACK = bytes.fromhex("d9d505f920a163d7")  # the first bytes of <name>-journal
_BAD_CONTENT = (ValueError, KeyError, TypeError, AttributeError, OverflowError)
_NOT_WRITABLE = "a journal and its folder must be writable"
_SYSTEM_ERRORS = {
    sqlite3.SQLITE_FULL: (errno.ENOSPC, "the journal cannot grow"),
    sqlite3.SQLITE_IOERR: (errno.EIO, "the journal cannot be read or written"),
    sqlite3.SQLITE_READONLY: (errno.EACCES, _NOT_WRITABLE),
    sqlite3.SQLITE_CANTOPEN: (errno.EACCES, _NOT_WRITABLE),
}

_held: set[tuple[int, int, int]] = set()  # process, device and inode of the open journals


class JournalError(ValueError):
    """Error for a journal that cannot be read or written; the message names the remedy."""


class JournalWarning(UserWarning):
    """Warning that the last record of a journal was damaged and is deleted."""


class Record(NamedTuple):
    """One entry of a journal; `number` counts from 0."""

    number: int
    kind: str
    header: dict[str, Any]
    arrays: dict[str, Any]


class Journal:
    """An open journal, which no other process can open.

    With `create`, a new journal with a new `base` is made if there is no file or an empty one. An
    existing journal must have the given `base`, if any, and at least `start` records. Otherwise, or
    if the file is not a journal, is damaged, or is open elsewhere, JournalError is raised.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        base: str | None = None,
        start: int = 0,
        *,
        create: bool = False,
    ) -> None:
        self.path = os.path.realpath(path)
        self._process, self._turn = os.getpid(), threading.Lock()
        _check_files(self.path, create)
        with _errors_of(self.path):
            uri = f"{Path(self.path).as_uri()}?mode={'rwc' if create else 'rw'}"
            self._connection: sqlite3.Connection | None = sqlite3.connect(
                uri, uri=True, timeout=0.0, isolation_level=None, check_same_thread=False
            )
        try:
            with _errors_of(self.path):
                self.base = _lock(self._connection, self.path, create)
            self._check_history(base, start)
            self._file = open(self.path, "rb", buffering=0)  # noqa: SIM115 - closed by close()
        except BaseException:
            self._connection.close()
            raise
        self._head: bytes | None = self._read_head()  # after the last commit
        status = os.fstat(self._file.fileno())
        self._key = (self._process, status.st_dev, status.st_ino)
        _held.add(self._key)

    def _check_history(self, base: str | None, start: int) -> None:
        if base is not None and self.base != base:
            raise JournalError(
                f"{self.path} continues the archive {self.base}, not {base}: load the archive that "
                "it belongs to, or give another journal"
            )
        if self.sequence < start:
            raise JournalError(
                f"{self.path} has {self.sequence} records, but the archive contains {start}: this "
                "is an older copy of the journal; give the latest one"
            )

    @property
    def sequence(self) -> int:
        """Number of the next record."""
        ((last,),) = self._execute("SELECT max(number) FROM record")
        return 0 if last is None else int(last) + 1

    def append(self, kind: str, header: Mapping[str, Any], arrays: Mapping[str, Any]) -> int:
        """Add a record and return its number; when this returns, the record is on disk.

        If it raises, the record is not in the journal, and the next call can succeed. `header` and
        `arrays` may hold the same values as in `widestreet._src.persistence.archive.write`.
        """
        layout, parts = storage.flatten(arrays)
        stream, sizes = io.BytesIO(), []
        for name, array in parts.items():
            begin = stream.tell()
            storage.write_npy(stream, array)
            sizes.append([name, stream.tell() - begin])
        text = storage.to_json({"header": storage.plain(header), "arrays": layout, "parts": sizes})
        body = stream.getbuffer()
        with self._turn:
            number = self.sequence  # this makes SQLite undo a failed commit, if any
            self._check_undisturbed()
            checksum = self._checksum(number, kind.encode(), text, body)
            with self._transaction():
                self._execute(
                    "INSERT INTO record VALUES (?, ?, ?, ?)", number, kind, text.decode(), checksum
                )
                for position, at in enumerate(range(0, len(body), _PIECE_SIZE)):
                    piece = body[at : at + _PIECE_SIZE]
                    self._execute("INSERT INTO piece VALUES (?, ?, ?)", number, position, piece)
            return number

    def records(self, start: int = 0) -> Iterator[Record]:
        """Read all records, and yield those from number `start` on.

        A damaged record raises JournalError. If it is the last one, and not before `start`, it is
        deleted with a JournalWarning instead.
        """
        count = self.sequence
        for number in range(count):
            record = self._read(number)
            if record is None and (number + 1 < count or number < start):
                raise JournalError(
                    f"record {number} of {self.path} is damaged: restore the file from a copy"
                )
            if record is None:
                self._drop(number)
            elif number >= start:
                yield record

    def close(self) -> None:
        """Close the journal, so that another process can open it."""
        if self._process != os.getpid():  # SQLite connections must not be used after a fork
            return
        with self._turn:
            connection, self._connection = self._connection, None
            if connection is None:
                return
            if self._in_place():
                with suppress(sqlite3.Error):  # this removes the empty file beside the journal
                    connection.execute("PRAGMA locking_mode=NORMAL").fetchall()
                    connection.execute("PRAGMA journal_mode=DELETE").fetchall()
            connection.close()
            self._file.close()
            _held.discard(self._key)

    def _execute(self, statement: str, *values: Any) -> list[Any]:
        """Execute a statement and return all rows of the result."""
        if self._connection is None:
            raise JournalError(f"{self.path} has been closed: open it again")
        if self._process != os.getpid():
            raise JournalError(
                f"{self.path} was opened before this process was forked: only the parent process "
                "can use it"
            )
        with _errors_of(self.path):
            return self._connection.execute(statement, values).fetchall()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Execute the statements of the block in one transaction."""
        self._head = None  # not known until the transaction has ended
        try:
            self._execute("BEGIN IMMEDIATE")
            yield
            self._execute("COMMIT")
        except BaseException:
            with suppress(JournalError, OSError):  # the next statement undoes it otherwise
                self._execute("ROLLBACK")
            raise
        self._head = self._read_head()

    def _read(self, number: int) -> Record | None:
        """Read a record; None if it is missing or its checksum is wrong."""
        rows = self._execute("SELECT kind, header, checksum FROM record WHERE number = ?", number)
        pieces = self._execute(
            "SELECT content FROM piece WHERE record = ? ORDER BY position", number
        )
        try:
            ((kind, text, checksum),) = rows
            body = b"".join(piece for (piece,) in pieces)
            if self._checksum(number, kind, text, body) != checksum:
                return None
        except _BAD_CONTENT:
            return None
        try:
            whole, stream = storage.from_json(text), io.BytesIO(body)
            parts = {name: storage.read_npy(stream, size) for name, size in whole["parts"]}
            arrays = storage.restore(whole["arrays"], parts)
            return Record(number, kind.decode(), whole["header"], arrays)
        except _BAD_CONTENT as error:
            raise JournalError(
                f"record {number} of {self.path} is complete but cannot be understood ({error}): "
                "update widestreet, or restore the file from a copy"
            ) from error

    def _checksum(self, number: int, kind: bytes, text: bytes, body: bytes | memoryview) -> int:
        """Return the CRC32 of a record, which differs between journals."""
        start = b"\n".join([self.base.encode(), str(number).encode(), kind, text])
        return zlib.crc32(body, zlib.crc32(start))

    def _drop(self, number: int) -> None:
        """Delete the last record with a warning that points at user code."""
        warnings.warn(
            f"the last record of {self.path}, number {number}, is damaged and is deleted: the "
            "model is that before the recorded call",
            JournalWarning,
            stacklevel=level_of_caller(),
        )
        with self._transaction():
            self._execute("DELETE FROM piece WHERE record = ?", number)
            self._execute("DELETE FROM record WHERE number = ?", number)

    def _in_place(self) -> bool:
        """Return whether the path still refers to the open file."""
        with suppress(FileNotFoundError):
            return os.path.samestat(os.stat(self.path), os.fstat(self._file.fileno()))
        return False

    def _read_head(self) -> bytes:
        self._file.seek(0)
        return self._file.read(_HEAD_SIZE)

    def _check_undisturbed(self) -> None:
        """Raise JournalError if the file was changed since the last commit."""
        if not self._in_place():
            change = "moved, deleted or replaced"
        elif self._head is not None and self._head != self._read_head():
            change = "written by another process"
        else:
            return
        raise JournalError(
            f"{self.path} was {change} while it was open: save the model and begin a new journal"
        )


def is_journal(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is an SQLite database or empty, like a journal being created."""
    head = _head_of_file(os.path.realpath(path))
    return not head or head.startswith(_DATABASE)


def _head_of_file(path: str) -> bytes:
    """Return the first bytes of a file, unless it is open as a journal in this process."""
    status = os.stat(path)
    if (os.getpid(), status.st_dev, status.st_ino) in _held:
        raise _busy(path)
    with open(path, "rb") as file:
        return file.read(_HEAD_SIZE)


def _check_files(path: str, create: bool) -> None:
    """Raise an error if a file is not a journal or not writable, before SQLite opens it."""
    folder, beside = os.path.dirname(path), f"{path}-journal"
    if not os.path.isdir(folder):
        raise FileNotFoundError(errno.ENOENT, "the folder of a journal must exist", path)
    if os.path.exists(path) or not create:
        head = _head_of_file(path)
        version, application = (int.from_bytes(head[at : at + 4], "big") for at in (60, 68))
        if head and not (head.startswith(_DATABASE) and application == _APPLICATION):
            raise JournalError(f"{path} is not a journal of widestreet: give the path of one")
        if version > VERSION:
            raise JournalError(
                f"{path} has version {version} of the format, but this widestreet reads versions "
                f"up to {VERSION}: update widestreet"
            )
    if not all(os.access(p, os.W_OK) for p in (folder, path) if os.path.exists(p)):
        raise PermissionError(errno.EACCES, _NOT_WRITABLE, path)
    with suppress(FileNotFoundError), open(beside, "rb") as file:
        begin = file.read(len(_ROLLBACK))
        if begin != _ROLLBACK and begin.strip(b"\0"):
            raise JournalError(
                f"{beside} exists, but SQLite needs a file of this name beside {path}; move it, or "
                "give the journal another name"
            )


def _lock(connection: sqlite3.Connection, path: str, create: bool) -> str:
    """Lock a journal, which makes SQLite undo an interrupted commit, and return its base."""
    connection.text_factory = bytes  # damaged text need not be UTF-8
    for setting in _SETTINGS:
        connection.execute(f"PRAGMA {setting}").fetchall()
    connection.execute("BEGIN EXCLUSIVE")
    tables = connection.execute("SELECT sql FROM sqlite_master").fetchall()
    if not tables and not create:
        raise JournalError(f"{path} is empty: no call that wrote to it has returned")
    if not tables:
        for table in _TABLES:
            connection.execute(table)
        connection.execute("INSERT INTO journal VALUES (?)", (str(uuid4()),))
        connection.execute(f"PRAGMA application_id={_APPLICATION}")
        connection.execute(f"PRAGMA user_version={VERSION}")
    elif tables != [(table.encode(),) for table in _TABLES]:  # a trigger would be executed
        raise sqlite3.DatabaseError("its tables are not those of a journal")
    connection.execute("COMMIT")
    found = connection.execute("PRAGMA quick_check(1)").fetchall()
    if found != [(b"ok",)]:
        raise sqlite3.DatabaseError(str(found[0][0], errors="replace"))
    try:
        ((base,),) = connection.execute("SELECT base FROM journal").fetchall()
        return str(UUID(base.decode()))
    except _BAD_CONTENT as error:
        raise sqlite3.DatabaseError("its base is not a UUID") from error


@contextmanager
def _errors_of(path: str) -> Iterator[None]:
    """Convert errors of SQLite into JournalError or OSError."""
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError) as error:  # from messages that quote damaged text
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
        if code == sqlite3.SQLITE_BUSY:
            raise _busy(path) from error
        if code in _SYSTEM_ERRORS:
            number, reason = _SYSTEM_ERRORS[code]
            raise OSError(number, f"{reason} ({error})", path) from error
        raise JournalError(
            f"{path} is damaged ({error}): restore it from a copy; if it was copied after a crash, "
            f"copy {path}-journal with it"
        ) from error


def _busy(path: str) -> JournalError:
    return JournalError(f"{path} is open for appending elsewhere: close it there first")
