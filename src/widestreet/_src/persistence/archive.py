"""Archives: a header and arrays in one file, without pickle.

An archive is a zip of a ``header.json`` and one ``.npy`` file for each array, three for a CSR
matrix, none of them compressed. Any zip program and `numpy.load` can open what is in it.

    header.json       {"schema": "widestreet", "version": 1, "header": {...}, "arrays": {...}}
    alpha.npy
    rows/data.npy     rows/indices.npy     rows/indptr.npy

Loading executes nothing. Members may not state more bytes than the file has, so a small file
cannot ask for much memory; the checksum of each member is compared as it is read. The version
is that of this layout; what the header and the arrays mean is for the caller to say, and to
version, in the header.

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
_WHEN = (1980, 1, 1, 0, 0, 0)  # of every member: equal models are equal files
_WIDE = 2**30  # bytes from which a member is written with 64-bit sizes
_DAMAGE = (zipfile.BadZipFile, struct.error, ValueError, KeyError, IndexError, TypeError,
           RuntimeError, EOFError, OSError, OverflowError)  # fmt: skip


class ArchiveError(ValueError):
    """A file that cannot be read as an archive; the message says why and what to do."""


def write(
    path: str | os.PathLike[str], header: Mapping[str, Any], arrays: Mapping[str, Any]
) -> None:
    """Save a header and arrays, durably and all at once.

    When this returns, the archive is on the disk; if it raises, or the process ends, whatever
    was at `path` before is still there.

    Parameters
    ----------
    path : str or path-like
    header : mapping
        Numbers, strings, booleans, None, lists and dictionaries with strings as keys. Tuples come
        back as lists and NumPy's numbers as Python's.
    arrays : mapping of str to ndarray, csr_matrix or csr_array
        Names consist of letters, digits, ``_``, ``-`` and ``.``. Arrays hold numbers, booleans,
        strings or times; object arrays either strings, booleans, integers or floats.

    Raises
    ------
    TypeError, ValueError
        If something cannot be stored; nothing has been written.
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
        members.writestr(zipfile.ZipInfo(_HEADER, _WHEN), text)
        for name, array in parts.items():
            info = zipfile.ZipInfo(f"{name}.npy", _WHEN)
            with members.open(info, "w", force_zip64=array.nbytes >= _WIDE) as stream:
                write_npy(stream, array)


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Load what `write` has saved.

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
        If the file is no archive, is damaged, or is from a later version.
    OSError
        If the file cannot be opened.
    """
    name = os.fspath(path)
    with open(name, "rb") as file:
        try:
            return _read(file, name)
        except ArchiveError:
            raise
        except _DAMAGE as error:
            raise ArchiveError(
                f"{name} is damaged ({error}): copy it again from where it came from, or save "
                "the model again"
            ) from error


def _read(file: IO[bytes], path: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """`read` from an open file, with whatever errors a damaged one causes."""
    if file.read(2) != b"PK":
        raise _foreign(path, "it is no zip file")
    if not zipfile.is_zipfile(file):
        raise ValueError("its end is missing")
    with zipfile.ZipFile(file) as members:
        infos = {info.filename: info for info in members.infolist()}
        if _HEADER not in infos:
            raise _foreign(path, f"it is a zip file without a {_HEADER}")
        _check_sizes(members.infolist(), os.fstat(file.fileno()).st_size)
        whole = from_json(members.read(infos[_HEADER]))
        if whole.get("schema") != SCHEMA:
            raise _foreign(path, f"its schema is {whole.get('schema')!r}, not {SCHEMA!r}")
        if whole["version"] > VERSION:
            raise ArchiveError(
                f"{path} has version {whole['version']} of the schema, but this widestreet reads "
                f"versions up to {VERSION}: update widestreet"
            )
        header, layout, parts = whole["header"], whole["arrays"], {}
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
    """Refuse members that state more bytes than there are in the file, or that would inflate."""
    if len({info.filename for info in infos}) < len(infos):
        raise ValueError("it has two members of one name")
    if any(info.compress_type != zipfile.ZIP_STORED for info in infos):
        raise ValueError("its members were compressed afterwards; pack it without compression")
    if any(info.file_size != info.compress_size for info in infos):
        raise ValueError("its members have two sizes")
    if sum(info.file_size for info in infos) > size:
        raise ValueError("its members are larger than the file")


def _foreign(path: str, reason: str) -> ArchiveError:
    return ArchiveError(
        f"{path} is not an archive of widestreet ({reason}): give the path of a saved model"
    )
