"""Damaged model files: each may only be refused with a clear error, or be a model that predicts.

`case(seed, index)` draws a saved model and changes its file: single bytes, its length, or, with
correct checksums, the values of its header and its arrays. A part of the files are text models of
LIBSVM.
"""

from __future__ import annotations

import copy
import io
import json
import os
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

import widestreet as ws
from support.fitted_models import fitted, names, online_names
from widestreet.io import ArchiveError, from_libsvm, to_libsvm

VALUES = (
    None,
    True,
    -1,
    0,
    1,
    2,
    3,
    1e300,
    float("nan"),
    float("inf"),
    "",
    "rbf",
    "x",
    [],
    {},
    [1],
)
WORDS = (b"", b"-1", b"0", b"1", b"7", b"1e400", b"nan", b"1:2", b"0:1", b"rbf", b"SV", b"9" * 30)
TEXTS = 0.2  # part of the cases
TEXT_MODELS = [
    name for name in names() if not name.startswith("ensemble") and "laplacian" not in name
]
TYPES = ("<f8", "<f4", ">f8", "<i4", "<i8", "<u8", "|b1", "<c16", "<U3", "|S2", "<M8[s]")


@dataclass
class Case:
    """A file, the rows that its model was trained for, and what was changed."""

    name: str
    content: bytes
    rows: Any
    text: bool = False


@cache
def _file(name: str, *, text: bool = False) -> bytes:
    """Content of the file of a model."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.street")
        if text:
            to_libsvm(fitted(name).model, path)
        else:
            model = copy.copy(fitted(name).model)
            model.trace_ = ws.Trace(replace(r, seconds=0.0, timings={}) for r in model.trace_)
            model.save(path)
        with open(path, "rb") as file:
            return file.read()


def case(seed: int, index: int) -> Case:
    """Draw a damaged file."""
    rng = np.random.default_rng([seed, index])
    text = bool(rng.random() < TEXTS)
    every, changes = (TEXT_MODELS, TEXT_CHANGES) if text else (names() + online_names(), CHANGES)
    name = every[int(rng.integers(len(every)))]
    change = changes[int(rng.integers(len(changes)))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        content = change(_file(name, text=text), rng)
        return Case(f"{name} {change.__name__}", content, fitted(name).new, text)


def run(seed: int, index: int) -> tuple[str, str | None]:
    """Load a damaged file; return how it ended and, if that is wrong, what happened."""
    one = case(seed, index)
    handle, path = tempfile.mkstemp()
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(one.content)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _judged(one, path)
    finally:
        os.unlink(path)


def _judged(one: Case, path: str) -> tuple[str, str | None]:
    try:
        model = from_libsvm(path) if one.text else ws.load(path)
    except ArchiveError as error:
        clear = path in str(error) and len(str(error)) < 2000
        return "refused", None if clear else f"{one.name}: {error}"
    except ValueError as error:
        if path in str(error):  # an empty file, which may become a journal
            return "refused", None
        return "wrong", f"{one.name}: {error!r}"
    except Exception as error:
        return "wrong", f"{one.name}: {error!r}"
    try:
        model.predict(one.rows)
    except (ValueError, TypeError):  # of other columns, or of values that overflow
        return "loaded", None
    except Exception as error:
        return "wrong", f"{one.name}: predict: {error!r}"
    return "loaded", None


# -- changes ---------------------------------------------------------------------------------------


def some_bytes(content: bytes, rng: np.random.Generator) -> bytes:
    changed = bytearray(content)
    for _ in range(int(rng.integers(1, 9))):
        changed[int(rng.integers(len(changed)))] = int(rng.integers(256))
    return bytes(changed)


def cut(content: bytes, rng: np.random.Generator) -> bytes:
    return content[: int(rng.integers(len(content)))]


def moved(content: bytes, rng: np.random.Generator) -> bytes:
    """Remove or repeat a piece."""
    a, b = np.sort(rng.integers(len(content), size=2)).tolist()
    return content[:a] + content[b:] if rng.random() < 0.5 else content[:b] + content[a:]


def other_values(content: bytes, rng: np.random.Generator) -> bytes:
    """Change the header, with a correct checksum."""
    members = _members(content)
    header = json.loads(members["header.json"])
    for _ in range(int(rng.integers(1, 4))):
        _change_value(header, rng)
    return _packed(members | {"header.json": json.dumps(header).encode()})


def other_arrays(content: bytes, rng: np.random.Generator) -> bytes:
    """Change, exchange or remove arrays, with correct checksums."""
    members = _members(content)
    arrays = [name for name in members if name.endswith(".npy")]
    for _ in range(int(rng.integers(1, 4))):
        name, other = rng.choice(arrays, size=2)
        draw = rng.random()
        if draw < 0.15:
            members[name], members[other] = members[other], members[name]
        elif draw < 0.2:
            members.pop(name, None)
            arrays = [one for one in arrays if one in members]
        else:
            members[name] = _npy(_changed(np.load(io.BytesIO(members[name])), rng))
    return _packed(members)


def stated_shape(content: bytes, rng: np.random.Generator) -> bytes:
    """State another shape than that of the data."""
    members = _members(content)
    name = str(rng.choice([name for name in members if name.endswith(".npy")]))
    old = members[name]
    size = int(10 ** rng.integers(1, 15))
    new = old.replace(b"(", b"(%d, " % size, 1)
    return _packed(members | {name: new})


def compressed(content: bytes, rng: np.random.Generator) -> bytes:
    members = _members(content)
    members["header.json"] += b" " * int(rng.integers(1 << 20))
    return _packed(members, zipfile.ZIP_DEFLATED)


CHANGES: tuple[Callable[[bytes, np.random.Generator], bytes], ...] = (
    *(some_bytes, cut, moved, stated_shape, compressed),
    *(other_values, other_values, other_arrays, other_arrays),
)


def other_words(content: bytes, rng: np.random.Generator) -> bytes:
    """Exchange or change words of a text."""
    lines = content.split(b"\n")
    for _ in range(int(rng.integers(1, 4))):
        at = int(rng.integers(len(lines)) if rng.random() < 0.3 else rng.integers(12))
        words = lines[min(at, len(lines) - 1)].split(b" ")
        words[int(rng.integers(len(words)))] = WORDS[int(rng.integers(len(WORDS)))]
        lines[min(at, len(lines) - 1)] = b" ".join(words)
    return b"\n".join(lines)


TEXT_CHANGES = (some_bytes, cut, moved, other_words, other_words)


def _members(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as members:
        return {name: members.read(name) for name in members.namelist()}


def _packed(members: dict[str, bytes], kind: int = zipfile.ZIP_STORED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", kind) as file:
        for name, content in members.items():
            info = zipfile.ZipInfo(name)  # without the time
            info.compress_type = kind
            file.writestr(info, content)
    return stream.getvalue()


def _npy(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, version=(1, 0), allow_pickle=False)
    return stream.getvalue()


def _changed(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    draw = int(rng.integers(6))
    if draw == 0 and array.size:
        array = array.copy()
        special = [np.nan, np.inf, -1.0, 1e18, 2.0**30, 0.0]
        at = np.unravel_index(int(rng.integers(array.size)), array.shape)
        if array.dtype.kind in "fi":
            value = special[int(rng.integers(len(special)))]
            array[at] = value if array.dtype.kind == "f" else int(min(np.nan_to_num(value), 2**30))
        return array
    if draw == 1:
        return array[..., : max(0, array.shape[-1] - 1)] if array.ndim else array
    if draw == 2:
        return np.concatenate([array, array]) if array.ndim else array[None]
    if draw == 3:
        return array.reshape(-1) if array.ndim != 1 else array[None]
    if draw == 4:
        return np.zeros(array.shape, TYPES[int(rng.integers(len(TYPES)))])
    return rng.permutation(array.reshape(-1)).reshape(array.shape)


def _change_value(tree: Any, rng: np.random.Generator) -> None:
    """Change one value somewhere in a tree. Sets: tree."""
    while True:
        keys = list(tree) if isinstance(tree, dict) else list(range(len(tree)))
        if not keys:
            return
        key = keys[int(rng.integers(len(keys)))]
        if isinstance(tree[key], dict | list) and tree[key] and rng.random() < 0.8:
            tree = tree[key]
            continue
        draw = rng.random()
        if draw < 0.7:
            tree[key] = copy.deepcopy(VALUES[int(rng.integers(len(VALUES)))])
        elif draw < 0.85 and isinstance(tree, dict):
            del tree[key]
        elif isinstance(tree, dict):
            tree[str(key) + "_"] = tree.pop(key)
        return
