"""Real data: files in the folder WIDESTREET_DATA, or downloads of scikit-learn.

A file is found by its name in that folder or in a subfolder, packed or not (.xz, .bz2, .gz).
"""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from sklearn.datasets import load_svmlight_file

from widestreet._src.environment import DATA, data_folder, downloads_allowed

OPENERS: dict[str, Any] = {"": open, ".xz": lzma.open, ".bz2": bz2.open, ".gz": gzip.open}


def find(name: str) -> Path | None:
    """Return the path of a file, or None."""
    root = data_folder()
    if root is None:
        return None
    for folder in ("", "*/"):
        for suffix in OPENERS:
            for path in sorted(Path(root).glob(f"{folder}{name}{suffix}")):
                return path
    return None


def present(names: Sequence[str], fetched: bool) -> str | None:
    """Return None if all files exist or can be downloaded, else what to do."""
    absent = [name for name in names if find(name) is None]
    if not absent or (fetched and downloads_allowed()):
        return None
    hint = f"set {DATA}" if data_folder() is None else f"not in {DATA}"
    if fetched:
        hint += ", or --download"
    return f"needs {', '.join(absent)}: {hint}"


def opened(name: str) -> IO[bytes]:
    """Open a file to read, unpacked."""
    path = find(name)
    if path is None:
        raise FileNotFoundError(f"{name} is not in {DATA}")
    suffix = path.suffix if path.name != name else ""
    file: IO[bytes] = OPENERS[suffix](path, "rb")
    return file


def svmlight(name: str, features: int) -> tuple[Any, Any]:
    """Read rows in the text format of LIBSVM as CSR with 32-bit indices."""
    with opened(name) as file:
        X, y = load_svmlight_file(file, n_features=features)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X, y.astype(np.int64)


def table(name: str, header: bool = True) -> tuple[Any, Any]:
    """Numbers separated by commas; the target is the column "y", without a header the last one."""
    with opened(name) as file:
        names = file.readline().decode().strip().split(",") if header else []
        values = np.loadtxt(file, delimiter=",", ndmin=2)
    target = names.index("y") if header else values.shape[1] - 1
    return np.delete(values, target, axis=1), values[:, target]


def images(name: str) -> Any:
    """Read an array in the idx format of MNIST."""
    with opened(name) as file:
        raw = file.read()
    shape = np.frombuffer(raw, ">i4", raw[3], 4)
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * raw[3]).reshape(shape)
