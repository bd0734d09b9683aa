"""The format of a journal, and how it is read.

All numbers are little-endian. The checksums are CRC32; those of records begin with that of `base`,
so that a record of another journal does not fit into this one.

=======  ======================================================================================
head     magic (8 bytes), version (4), base (16), number of the first record (8), checksum (4)
record   mark (4), length of the payload (8), number of the record (8), checksum of the payload
         (4), checksum of the 24 bytes before (4), payload
payload  length of a text (8), the text, which is JSON, and arrays in the .npy format
=======  ======================================================================================
"""

from __future__ import annotations

import inspect
import io
import os
import struct
import warnings
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Any, NamedTuple
from uuid import UUID

from widestreet._src.persistence.storage import (
    flatten,
    from_json,
    plain,
    read_npy,
    restore,
    to_json,
    write_npy,
)

VERSION = 1

_MAGIC = b"\x89WSJ\r\n\x1a\n"  # its end notices whoever translates line ends
_MARK = b"\xf5rec"
_HEAD = struct.Struct("<8sI16sQ")
_FRAME = struct.Struct("<4sQQI")
_CHECK = struct.Struct("<I")
_LENGTH = struct.Struct("<Q")
HEAD_SIZE = _HEAD.size + _CHECK.size
_FRAME_SIZE = _FRAME.size + _CHECK.size
_CHUNK = 2**20  # bytes searched at a time


class JournalError(ValueError):
    """A journal that cannot be read or written; the message says why and what to do."""


class JournalWarning(UserWarning):
    """The end of a journal was torn or damaged, and dropped."""


@dataclass(frozen=True, eq=False)
class Record:
    """One entry of a journal.

    Attributes
    ----------
    sequence : int
        Its number; records are numbered through, over restarts too.
    kind : str
    header : dict
    arrays : dict of str to ndarray, csr_matrix or csr_array
    """

    sequence: int
    kind: str
    header: dict[str, Any]
    arrays: dict[str, Any]


class Head(NamedTuple):
    """What the first bytes of a journal say: its identity, and the number of its first record."""

    base: UUID
    first: int

    @property
    def seed(self) -> int:
        """Where the checksums of records begin."""
        return zlib.crc32(self.base.bytes)

    def pack(self) -> bytes:
        """The bytes themselves."""
        return _checked(_HEAD.pack(_MAGIC, VERSION, self.base.bytes, self.first), 0)


def records(
    path: str | os.PathLike[str], base: UUID | str | None = None, start: int | None = None
) -> Iterator[Record]:
    """Read a journal from its beginning.

    Stops before a torn or damaged record at the end, with a JournalWarning. Opening the Journal
    first cuts it off, and keeps others from appending while the records are read; to read a
    journal that somebody else is writing is harmless, but a record that is just being written looks
    torn.

    Parameters
    ----------
    path : str or path-like
    base : UUID or str, optional
        Which journal it has to be.
    start : int, optional
        How many records the archive contains: these are left out, and the journal has to continue
        the archive without a gap.

    Yields
    ------
    Record

    Raises
    ------
    JournalError
        If the file is no journal, not that of `base`, damaged before its end, or begins only after
        `start`.
    """
    path = os.fspath(path)
    with open(path, "rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        head = read_head(stream, path, base, start)
        if head is None:
            warn_of_end(path, size, 0)
            return
        end, following = HEAD_SIZE, head.first
        for sequence, payload, after in walk(stream, size, head, path):
            end, following = after, sequence + 1
            if start is None or sequence >= start:
                yield _decode(sequence, payload, path)
        if end < size:
            warn_of_end(path, size - end, following)


# -- bytes -----------------------------------------------------------------------------------------


def _checked(start: bytes, seed: int) -> bytes:
    """Bytes followed by their checksum."""
    return start + _CHECK.pack(zlib.crc32(start, seed))


def frame(sequence: int, payload: bytes, seed: int) -> bytes:
    """A record as it stands in the file."""
    begin = _FRAME.pack(_MARK, len(payload), sequence, zlib.crc32(payload, seed))
    return _checked(begin, seed) + payload


def encode(kind: str, header: Mapping[str, Any], arrays: Mapping[str, Any]) -> bytes:
    """The payload of a record."""
    layout, parts = flatten(arrays)
    body, sizes = io.BytesIO(), []
    for name, array in parts.items():
        begin = body.tell()
        write_npy(body, array)
        sizes.append([name, body.tell() - begin])
    text = to_json({"kind": str(kind), "header": plain(header), "arrays": layout, "parts": sizes})
    return b"".join((_LENGTH.pack(len(text)), text, body.getbuffer()))


def _decode(sequence: int, payload: bytes, path: str) -> Record:
    """The record of a payload whose checksum is right."""
    stream = io.BytesIO(payload)
    try:
        (length,) = _LENGTH.unpack(stream.read(_LENGTH.size))
        whole = from_json(stream.read(length))
        parts = {name: read_npy(stream, size) for name, size in whole["parts"]}
        arrays = restore(whole["arrays"], parts)
        return Record(sequence, whole["kind"], whole["header"], arrays)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, struct.error) as error:
        raise JournalError(
            f"record {sequence} of {path} is whole but cannot be understood ({error}): update "
            "widestreet, or restore the file from a copy"
        ) from error


# -- reading ---------------------------------------------------------------------------------------


def identity_of(base: UUID | str) -> UUID:
    """`base` as a UUID."""
    try:
        return base if isinstance(base, UUID) else UUID(base)
    except ValueError as error:
        raise ValueError(f"base must be a UUID, such as uuid.uuid4(), got {base!r}") from error


def unfinished(content: bytes) -> bool:
    """Whether these first bytes are what a `create` leaves that did not end: a part, or zeros."""
    if len(content) < HEAD_SIZE and _MAGIC.startswith(content[: len(_MAGIC)]):
        return True
    return len(content) <= HEAD_SIZE and not content.strip(b"\0")


def read_head(
    stream: IO[bytes], path: str, base: UUID | str | None, start: int | None
) -> Head | None:
    """The head, if it is what the caller expects; None if it was never finished. Sets: stream."""
    content = stream.read(HEAD_SIZE + 1)
    if unfinished(content):
        return None
    content = content[:HEAD_SIZE]
    if not content.startswith(_MAGIC):
        raise JournalError(f"{path} is not a journal of widestreet: give the path of one")
    _, version, identity, first = _HEAD.unpack_from(content)
    if version > VERSION:
        raise JournalError(
            f"{path} has version {version} of the format, but this widestreet reads versions up "
            f"to {VERSION}: update widestreet"
        )
    if len(content) < HEAD_SIZE or content != _checked(content[: _HEAD.size], 0):
        raise JournalError(f"the head of {path} is damaged: restore the file from a copy")
    head = Head(UUID(bytes=identity), first)
    if base is not None and head.base != identity_of(base):
        raise JournalError(
            f"{path} continues the archive {head.base}, not {base}: load the archive that it "
            "belongs to, or give another journal"
        )
    if start is not None and first > start:
        raise JournalError(
            f"{path} begins with record {first}, but the archive contains only {start} records: "
            "load the archive that was saved when the journal was restarted"
        )
    return head


def walk(stream: IO[bytes], size: int, head: Head, path: str) -> Iterator[tuple[int, bytes, int]]:
    """Number, payload and end of each intact record; JournalError if one is missing in between."""
    offset, expected = HEAD_SIZE, head.first
    while (found := _intact(stream, offset, size, head.seed)) is not None:
        sequence, payload = found
        if sequence != expected:
            raise JournalError(
                f"in {path}, record {sequence} stands where record {expected} belongs: restore "
                "the file from a copy"
            )
        offset, expected = offset + _FRAME_SIZE + len(payload), expected + 1
        yield sequence, payload, offset
    # one write at a time: a record that is followed by anything at all was whole once
    stated = _read_frame(stream, offset, head.seed)
    if stated is not None and offset + _FRAME_SIZE + stated[0] < size:
        later: int | None = offset + _FRAME_SIZE + stated[0]
    else:
        later = _next_intact(stream, offset + 1, size, head.seed)
    if later is not None:
        raise JournalError(
            f"record {expected} of {path}, at byte {offset:,}, is damaged, but others follow it "
            f"from byte {later:,}: the file was changed, not cut short; restore it from a copy"
        )


def _read_frame(stream: IO[bytes], offset: int, seed: int) -> tuple[int, int, int] | None:
    """Length, number and checksum that the record at `offset` states, if these are intact."""
    stream.seek(offset)
    begin = stream.read(_FRAME_SIZE)
    if not begin.startswith(_MARK) or begin != _checked(begin[: _FRAME.size], seed):
        return None
    _, length, sequence, check = _FRAME.unpack_from(begin)
    return length, sequence, check


def _intact(stream: IO[bytes], offset: int, size: int, seed: int) -> tuple[int, bytes] | None:
    """Number and payload of the record at `offset`, if all of it is intact."""
    stated = _read_frame(stream, offset, seed)
    if stated is None or stated[0] > size - offset - _FRAME_SIZE:
        return None
    length, sequence, check = stated
    payload = stream.read(length)
    whole = len(payload) == length and zlib.crc32(payload, seed) == check
    return (sequence, payload) if whole else None


def _next_intact(stream: IO[bytes], offset: int, size: int, seed: int) -> int | None:
    """Where the next intact record begins at or after `offset`, wherever that may be."""
    while offset < size:
        stream.seek(offset)
        chunk = stream.read(_CHUNK)
        at = chunk.find(_MARK)
        while at >= 0:
            if _intact(stream, offset + at, size, seed) is not None:
                return offset + at
            at = chunk.find(_MARK, at + 1)
        offset += max(1, len(chunk) - len(_MARK) + 1)  # a mark may lie across two chunks
    return None


def warn_of_end(path: str, dropped: int, sequence: int) -> None:
    """Say what is dropped, at the line outside of the package that asked for the journal."""
    frame, level = inspect.currentframe(), 1
    while frame and frame.f_globals.get("__name__", "").startswith("widestreet."):
        frame, level = frame.f_back, level + 1
    warnings.warn(
        f"the end of {path} is torn or damaged: {dropped:,} bytes, from record {sequence} on, are "
        "dropped; unless the disk has failed, they were never acknowledged",
        JournalWarning,
        stacklevel=level,
    )
