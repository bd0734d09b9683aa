"""Arrays and headers as plain bytes, for archives and journals, and files replaced atomically.

A dictionary of arrays is flattened into parts, which are ndarrays of numbers or characters, and a
layout in JSON, which describes the parts:

===============  =========================================  =======================================
value            parts                                      value read back
===============  =========================================  =======================================
ndarray          ``name``                                   the same type, byte order, shape and
                                                            memory order
object ndarray   ``name``, as unicode, bool, int64 or       an object array of str, bool, int or
                 float64                                    float
CSR              ``name/data``, ``name/indices``,           the same class and types
                 ``name/indptr``
===============  =========================================  =======================================

Parts are stored in the .npy format. Nothing is pickled, and reading executes no code. Memory is
allocated only after the stated sizes have been compared with the number of bytes.
"""

from __future__ import annotations

import errno
import io
import json
import math
import os
import re
import sys
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import IO, Any, Literal, TypeAlias

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray
from scipy import sparse

try:
    import fcntl
except ImportError:  # not POSIX
    fcntl = None  # type: ignore[assignment]

__all__ = [
    "Layout",
    "Parts",
    "flatten",
    "from_json",
    "names_of_parts",
    "plain",
    "read_npy",
    "replacing",
    "restore",
    "to_json",
    "write_npy",
]

Layout: TypeAlias = dict[str, dict[str, Any]]
Parts: TypeAlias = dict[str, NDArray[Any]]

_KINDS = "biufcSUMm"  # kinds of NumPy types, without objects and structures
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")  # no slash, which separates the parts of CSR
_CSR = {"csr_matrix": sparse.csr_matrix, "csr_array": sparse.csr_array}
_CSR_PARTS = ("data", "indices", "indptr")
_TYPES_OF_OBJECTS = {str: np.str_, bool: np.bool_, int: np.int64, float: np.float64}
_CHUNK_SIZE = 2**20  # bytes read at a time

# -- headers ---------------------------------------------------------------------------------------


def plain(value: Any, where: str = "header") -> Any:
    """Return `value` in types that JSON preserves.

    Numbers of NumPy become numbers of Python, and tuples become lists. Any other value that JSON
    changes or refuses, such as a number as a key, raises a TypeError that names its place `where`.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, list | tuple):
        return [plain(entry, f"{where}[{i}]") for i, entry in enumerate(value)]
    if not isinstance(value, Mapping):
        raise TypeError(
            f"{where} is of type {type(value).__name__}, which JSON cannot hold; use numbers, "
            "strings, lists and dictionaries there, and put arrays among the arrays"
        )
    for key in value:
        if not isinstance(key, str):
            raise TypeError(
                f"{where} has the key {key!r}, but keys of JSON are strings; store a list of pairs"
            )
    return {str(key): plain(entry, f"{where}[{key!r}]") for key, entry in value.items()}


def to_json(value: Any, indent: int | None = None) -> bytes:
    """Return JSON as bytes, with infinities and NaN in the notation of Python."""
    return json.dumps(value, indent=indent).encode("ascii")


def from_json(text: bytes) -> dict[str, Any]:
    """Return the dictionary in `text`, or raise ValueError."""
    try:
        value = json.loads(text)
    except RecursionError as error:
        raise ValueError("JSON that is nested too deeply") from error
    if not isinstance(value, dict):
        raise ValueError("JSON that is not a dictionary")
    return value


# -- arrays ----------------------------------------------------------------------------------------


def flatten(arrays: Mapping[str, Any]) -> tuple[Layout, Parts]:
    """Return the layout of `arrays`, as JSON, and their parts."""
    layout: Layout = {}
    parts: Parts = {}
    for name, value in arrays.items():
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ValueError(
                f"the name of an array consists of letters, digits, _, - and ., got {name!r}"
            )
        if isinstance(value, sparse.csr_matrix | sparse.csr_array) and value.ndim == 2:
            kind = "csr_array" if isinstance(value, sparse.csr_array) else "csr_matrix"
            layout[name] = {"kind": kind, "shape": [int(n) for n in value.shape]}
            parts |= {f"{name}/{part}": getattr(value, part) for part in _CSR_PARTS}
            continue
        if not isinstance(value, np.ndarray | np.generic) or np.ma.isMaskedArray(value):
            raise TypeError(
                f"array {name!r} must be an ndarray or a CSR matrix, got {type(value).__name__}; "
                "convert it with numpy.asarray, or with .tocsr() if it is sparse"
            )
        array = np.asarray(value)
        objects = array.dtype.kind in "OT"
        if not objects and array.dtype.kind not in _KINDS:
            raise TypeError(
                f"array {name!r} has type {array.dtype}; only numbers, strings and times can be "
                "stored: store its fields one by one"
            )
        layout[name] = {"kind": "object" if objects else "array"}
        parts[name] = _of_objects(array, name) if objects else array
    return layout, parts


def restore(layout: Layout, parts: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """Return the arrays of a layout and its parts; raise ValueError if they are inconsistent."""
    arrays: dict[str, Any] = {}
    for name, entry in layout.items():
        match entry:
            case {"kind": "array"}:
                arrays[name] = parts[name]
            case {"kind": "object"}:
                arrays[name] = parts[name].astype(object)
            case {"kind": "csr_matrix" | "csr_array" as kind, "shape": [int(rows), int(columns)]}:
                data, indices, indptr = (parts[f"{name}/{part}"] for part in _CSR_PARTS)
                if indices.dtype.kind + indptr.dtype.kind != "ii" or indptr.shape != (rows + 1,):
                    raise ValueError(f"the indices of {name!r} are not those of a CSR matrix")
                matrix = _CSR[kind]((data, indices, indptr), shape=(rows, columns))
                # the constructor converts 64-bit indices to 32 bits if possible
                matrix.indices, matrix.indptr = indices, indptr
                matrix.check_format(full_check=True)  # native code trusts indices
                arrays[name] = matrix
            case _:
                raise ValueError(f"array {name!r} is of an unknown kind")
    return arrays


def names_of_parts(layout: Layout) -> list[str]:
    """Return the names of the parts of a layout."""
    names = []
    for name, entry in layout.items():
        if isinstance(entry, dict) and entry.get("kind") in _CSR:
            names += [f"{name}/{part}" for part in _CSR_PARTS]
        else:
            names.append(name)
    return names


def write_npy(stream: IO[bytes], array: NDArray[Any]) -> None:
    """Append `array` to a stream in version 1.0 of the .npy format. Sets: stream."""
    npy.write_array(stream, array, version=(1, 0), allow_pickle=False)


def read_npy(stream: IO[bytes], size: int) -> NDArray[Any]:
    """Read an array from the next `size` bytes of a stream, or raise ValueError. Sets: stream."""
    prefix = stream.read(npy.MAGIC_LEN + 2)
    version = npy.read_magic(io.BytesIO(prefix))
    if version != (1, 0):
        raise ValueError(f"an array in version {version} of the .npy format, not 1.0")
    length = int.from_bytes(prefix[npy.MAGIC_LEN :], "little")
    text = stream.read(min(length, size))
    try:
        header = io.BytesIO(prefix[npy.MAGIC_LEN :] + text)
        shape, fortran, dtype = npy.read_array_header_1_0(header)
    except (MemoryError, RecursionError, SyntaxError, TypeError) as error:
        raise ValueError("an array whose header cannot be read") from error
    if dtype.kind not in _KINDS or any(n < 0 for n in shape):
        raise ValueError(f"an array of type {dtype} and shape {shape}, which is never stored")
    needed, there = math.prod(shape) * dtype.itemsize, size - len(prefix) - length
    if needed != there:
        raise ValueError(f"an array with {there} bytes where its shape needs {needed}")
    order: Literal["C", "F"] = "F" if fortran else "C"
    if needed == 0:
        return np.empty(shape, dtype, order)
    raw = np.empty(needed, np.uint8)
    _fill(raw, stream)
    return raw.view(dtype).reshape(shape, order=order)


def _fill(raw: NDArray[np.uint8], stream: IO[bytes]) -> None:
    """Fill an array from a stream in chunks, without a second copy. Sets: raw, stream."""
    room, filled = raw.data, 0
    while filled < len(room):
        piece = stream.read(min(_CHUNK_SIZE, len(room) - filled))
        if not piece:
            raise ValueError("an array that ends early")
        room[filled : filled + len(piece)] = piece
        filled += len(piece)


def _of_objects(array: NDArray[Any], name: str) -> NDArray[Any]:
    """Convert an object array to one of strings, booleans, integers or floats."""
    values = [v.item() if isinstance(v, np.generic) else v for v in array.ravel().tolist()]
    kinds = {type(v) for v in values} or {str}
    kind = kinds.pop()
    if kinds or kind not in _TYPES_OF_OBJECTS:
        found = ", ".join(sorted(k.__name__ for k in kinds | {kind}))
        raise TypeError(
            f"array {name!r} holds objects of type {found}; only str, bool, int and float can be "
            "stored, one of them at a time: convert it with .astype(str)"
        )
    if kind is str and any(v.endswith("\0") for v in values):
        raise ValueError(f"array {name!r} has strings that end in a null character, which is lost")
    try:
        return np.array(values, dtype=_TYPES_OF_OBJECTS[kind]).reshape(array.shape)
    except OverflowError as error:
        raise ValueError(
            f"array {name!r} has integers of more than 64 bits: convert it with .astype(str)"
        ) from error


# -- durable files ---------------------------------------------------------------------------------


def sync(descriptor: int) -> None:
    """Wait until everything written to an open file would survive a loss of power."""
    if sys.platform == "darwin":  # its fsync stops at the cache of the drive
        with suppress(OSError):
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
            return
    os.fsync(descriptor)


def sync_directory(path: str) -> None:
    """Make the entry of a file in its folder durable, where folders can be synchronised."""
    if os.name == "nt":
        return
    descriptor = os.open(os.path.dirname(path) or ".", os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # not supported by some file systems
            raise
    finally:
        os.close(descriptor)


@contextmanager
def replacing(path: str) -> Iterator[IO[bytes]]:
    """Yield a new file that replaces `path` atomically and durably at the end of the block.

    At any time `path` is either the old file or the complete new one. If the block raises, the new
    file is removed; a process that is killed may leave a file ``.street-*.tmp``.
    """
    path = os.path.realpath(path)  # a link stays a link
    temporary = os.path.join(os.path.dirname(path), f".street-{uuid.uuid4().hex}.tmp")
    try:
        file = open(temporary, "x+b")  # noqa: SIM115 - closed before it is renamed
    except OSError as error:
        reason = (
            f"{error.strerror}: a new file is written beside it first, so its folder must exist "
            "and be writable"
        )
        raise OSError(error.errno, reason, path) from error
    try:
        with file:
            yield file
            file.flush()
            sync(file.fileno())
        with suppress(OSError):  # there is no old file, or the file system has no modes
            os.chmod(temporary, os.stat(path).st_mode & 0o7777)
        os.replace(temporary, path)
    except BaseException as error:
        with suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError) and error.errno is not None:
            error.filename, error.filename2 = path, None
        raise
    sync_directory(path)
