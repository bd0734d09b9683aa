"""Archives: a header and arrays in one file, without pickle.

An archive is a zip of a ``header.json`` and one ``.npy`` file for each array, three for a CSR
matrix, without compression. Any zip program and `numpy.load` can read it.

    header.json       {"schema": "widestreet", "version": 1, "header": {...}, "arrays": {...}}
    alpha.npy
    rows/data.npy     rows/indices.npy     rows/indptr.npy

Loading executes nothing. Members may not state more bytes than the file has, so a small file cannot
request much memory. The checksum of each member is compared when it is read. The version is that of
this layout; callers define and version the content of the header and the arrays themselves.

>>> import os, tempfile
>>> import numpy as np
>>> from widestreet._src.persistence import archive
>>> with tempfile.TemporaryDirectory() as folder:
...     path = os.path.join(folder, "model.street")
...     archive.write(path, {"kernel": "rbf"}, {"alpha": np.arange(3.0)})
...     header, arrays = archive.read(path)
>>> header, arrays["alpha"]
({'kernel': 'rbf'}, array([0., 1., 2.]))
"""

from __future__ import annotations

import os
import struct
import zipfile
from collections.abc import Mapping
from typing import IO, Any

from widestreet._src.persistence.storage import (
    flatten,
    from_json,
    names_of_parts,
    plain,
    read_npy,
    replacing,
    restore,
    to_json,
    write_npy,
)

__all__ = ["SCHEMA", "VERSION", "ArchiveError", "read", "write"]

SCHEMA = "widestreet"
VERSION = 1

_HEADER = "header.json"
_TIME_STAMP = (1980, 1, 1, 0, 0, 0)  # of every member, so that equal models are equal files
_ZIP64_SIZE = 2**30  # bytes from which on a member is written with 64-bit sizes
_LONGEST_REASON = 200  # characters
_READ_ERRORS = (zipfile.BadZipFile, struct.error, ValueError, KeyError, IndexError, TypeError,
                RuntimeError, EOFError, OSError, OverflowError)  # fmt: skip


class ArchiveError(ValueError):
    """Error for a file that cannot be read as an archive; the message names the remedy."""


def write(
    path: str | os.PathLike[str], header: Mapping[str, Any], arrays: Mapping[str, Any]
) -> None:
    """Save a header and arrays durably and atomically.

    When this returns, the archive is on disk. If it raises, or the process ends, the previous file
    at `path` is unchanged.

    Parameters
    ----------
    path : str or path-like
    header : mapping
        Numbers, strings, booleans, None, lists and dictionaries with strings as keys. Tuples are
        read back as lists, and numbers of NumPy as numbers of Python.
    arrays : mapping of str to ndarray, csr_matrix or csr_array
        Names consist of letters, digits, ``_``, ``-`` and ``.``. Arrays hold numbers, booleans,
        strings or times; object arrays either strings, booleans, integers or floats.

    Raises
    ------
    TypeError, ValueError
        If a value cannot be stored; nothing is written.
    OSError
        If the file cannot be written.
    """
    layout, parts = flatten(arrays)
    text = to_json(
        {"schema": SCHEMA, "version": VERSION, "header": plain(header), "arrays": layout}, indent=1
    )
    with (
        replacing(os.fspath(path)) as file,
        zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as members,
    ):
        members.writestr(zipfile.ZipInfo(_HEADER, _TIME_STAMP), text)
        for name, array in parts.items():
            info = zipfile.ZipInfo(f"{name}.npy", _TIME_STAMP)
            with members.open(info, "w", force_zip64=array.nbytes >= _ZIP64_SIZE) as stream:
                write_npy(stream, array)


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Load a header and arrays saved by `write`.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    header : dict
    arrays : dict of str to ndarray, csr_matrix or csr_array

    Raises
    ------
    ArchiveError
        If the file is not an archive, is damaged, or is from a later version.
    OSError
        If the file cannot be opened.
    """
    name = os.fspath(path)
    with open(name, "rb") as file:
        try:
            return _read(file, name)
        except ArchiveError:
            raise
        except _READ_ERRORS as error:
            reason = str(error)[:_LONGEST_REASON]  # it may quote the file
            raise ArchiveError(
                f"{name} is damaged ({reason}): copy it again from its source, or save the model "
                "again"
            ) from error


def _read(file: IO[bytes], path: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read an archive from an open file; a damaged one raises any of `_READ_ERRORS`."""
    head = file.read(8)
    if head == b"svm_type":
        raise ArchiveError(
            f"{path} is a text model of LIBSVM: read it with widestreet.io.from_libsvm"
        )
    if not head.startswith(b"PK") and str(path).endswith(".onnx"):
        raise ArchiveError(
            f"{path} is a model for ONNX runtimes, which widestreet writes but does not read: load "
            "the .street or .skops file that it was made from"
        )
    if not head.startswith(b"PK"):
        raise _foreign(path, "it is not a zip file")
    if not zipfile.is_zipfile(file):
        raise ValueError("its end is missing")
    with zipfile.ZipFile(file) as members:
        infos = {info.filename: info for info in members.infolist()}
        if "schema.json" in infos:
            raise ArchiveError(
                f"{path} is a file of skops: read it with skops.io.load(path, "
                "trusted=widestreet.trusted_types())"
            )
        if _HEADER not in infos:
            raise _foreign(path, f"it is a zip file without a {_HEADER}")
        _check_sizes(members.infolist(), os.fstat(file.fileno()).st_size)
        whole = from_json(members.read(infos[_HEADER]))
        if whole.get("schema") != SCHEMA:
            raise _foreign(path, f"its schema is {whole.get('schema')!r}, not {SCHEMA!r}")
        header, layout, parts = whole["header"], whole["arrays"], {}
        if whole["version"] > VERSION:
            made = header.get("widestreet") if isinstance(header, dict) else None
            raise ArchiveError(
                f"{path} has version {whole['version']} of the format, but this widestreet reads "
                f"versions up to {VERSION}: "
                + (f"install widestreet>={made}" if made else "update widestreet")
            )
        if not isinstance(header, dict) or not isinstance(layout, dict):
            raise ValueError(f"its {_HEADER} is not that of an archive")
        for name in names_of_parts(layout):
            info = infos.get(f"{name}.npy")
            if info is None:
                raise ArchiveError(
                    f"{path} lacks the array {name!r}: it was changed after it was saved; save "
                    "the model again"
                )
            with members.open(info) as stream:
                parts[name] = read_npy(stream, info.file_size)
    return header, restore(layout, parts)


def _check_sizes(infos: list[zipfile.ZipInfo], size: int) -> None:
    """Raise ValueError if members are compressed or state more bytes than the file has."""
    if len({info.filename for info in infos}) < len(infos):
        raise ValueError("it has two members of the same name")
    if any(info.compress_type != zipfile.ZIP_STORED for info in infos):
        raise ValueError("its members were compressed afterwards; pack it without compression")
    if any(info.file_size != info.compress_size for info in infos):
        raise ValueError("its members have inconsistent sizes")
    if sum(info.file_size for info in infos) > size:
        raise ValueError("its members are larger than the file")


def _foreign(path: str, reason: str) -> ArchiveError:
    return ArchiveError(
        f"{path} is not an archive of widestreet ({reason}): give the path of a saved model"
    )
