"""Open files of rows: find them, and check that they have the columns that are asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from glob import glob, has_magic
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypeAlias

from widestreet._src.files.formats import Columns, Format, Name, format_of, has_known_suffix
from widestreet._src.files.table import StoredColumn, StoredRows, Table, stamp

_LISTED_NAMES = 10  # columns that an error message lists

Paths: TypeAlias = "str | PathLike[str] | Sequence[str | PathLike[str]]"


def open_rows(
    path: Paths,
    target: Name | None = None,
    columns: Sequence[Name] | None = None,
    weight: Name | None = None,
    dtype: str = "float32",
) -> Any:
    """Open rows in files without reading them, for data larger than memory.

    Estimators read the rows in batches and store them in random order in a temporary file, so that
    `max_memory` bounds all memory of a fit.

    Parameters
    ----------
    path : str, path or sequence of them
        A file, a pattern such as ``"train/*.parquet"``, or a directory: Parquet (.parquet, .pq),
        Arrow and Feather (.arrow, .feather, .ipc), text (.csv, .tsv, also .gz) or NumPy (.npy).
        Files of a pattern or a directory are read in the order of their names.
    target : str or int, default=None
        Column of the labels or targets; in .npy files its number, -1 for the last one.
    columns : sequence of str or int, default=None
        Columns of the features. None: all but `target` and `weight`.
    weight : str or int, default=None
        Column of sample weights.
    dtype : {"float32", "float64"}, default="float32"
        Type of the features. Targets keep theirs.

    Returns
    -------
    X, y : StoredRows and StoredColumn
        Rows and targets; y is None if `target` is None.
    sample_weight : StoredColumn
        Only if `weight` is given.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import numpy as np
    >>> import widestreet as ws
    >>> X, y = ws.datasets.checkerboard(1000, random_state=0)
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> np.save(folder / "rows.npy", np.column_stack([X, y]))
    >>> X, y = ws.open_rows(folder / "rows.npy", target=2)
    >>> X
    <1,000 rows of 2 float32 columns in rows.npy>
    >>> ws.SVC(C=10.0, gamma=20.0, max_memory="1GB").fit(X, y).certificate_.status
    'optimal'
    """
    if dtype not in ("float32", "float64"):
        raise ValueError(f"dtype must be 'float32' or 'float64', got {dtype!r}")
    paths = _found(path)
    kind = format_of(paths[0])
    stamps = tuple(stamp(one) for one in paths)
    known = _kinds(kind, paths[0])
    target, weight = _from_the_left(known, target), _from_the_left(known, weight)
    wanted = _columns(paths[0], known, target, columns, weight, dtype)
    for other in paths[1:]:
        if format_of(other) is not kind:
            raise ValueError(f"path: {paths[0]} and {other} are of different formats")
        _check_same(paths[0], known, other, _kinds(kind, other), wanted, columns is None)
    table = Table(tuple(paths), kind, wanted, stamps)
    X = StoredRows(table)
    y = None if target is None else StoredColumn(table, target)
    return (X, y) if weight is None else (X, y, StoredColumn(table, weight))


def _found(path: Paths) -> list[Path]:
    """Return the files of a path, a pattern, a directory or a sequence of them."""
    if not isinstance(path, str | PathLike):
        paths = [found for one in path for found in _found(one)]
        if not paths:
            raise ValueError("path: the sequence of files is empty")
        return paths
    text = fspath(path)
    if Path(text).is_dir():
        found = sorted(one for one in Path(text).iterdir() if has_known_suffix(one))
    elif has_magic(text) and not Path(text).exists():
        found = [Path(name) for name in sorted(glob(text, recursive=True))]
    else:
        found = [Path(text)] if Path(text).exists() else []
    if not found:
        raise FileNotFoundError(f"path: no file matches {text!r}")
    return found


def _kinds(kind: Format, path: Path) -> Mapping[Name, str]:
    """Return what the columns of a file contain, or raise ValueError that names the file."""
    try:
        return kind.kinds(path)
    except ValueError as error:
        raise ValueError(f"path: {path} cannot be read: {error}") from error


def _from_the_left(known: Mapping[Name, str], name: Name | None) -> Name | None:
    """Return a column that was counted from the last one, in files whose columns are numbers."""
    if isinstance(name, int) and -len(known) <= name < 0 and 0 in known:
        return name + len(known)
    return name


def _columns(
    path: Path,
    known: Mapping[Name, str],
    target: Name | None,
    columns: Sequence[Name] | None,
    weight: Name | None,
    dtype: str,
) -> Columns:
    """Return the columns to read, all of which the first file has and can be used."""
    beside = [name for name in (target, weight) if name is not None]
    features = [name for name in known if name not in beside] if columns is None else list(columns)
    named: dict[str, list[Name | None]] = {
        "target": [target],
        "columns": [*features],
        "weight": [weight],
    }
    for parameter, names in named.items():
        for name in names:
            if name is not None and name not in known:
                raise ValueError(
                    f"{parameter}: {path} has no column {name!r}; it has {_listed(known)}"
                )
    if not features:
        raise ValueError(f"columns: {path} has no column that is not the target or the weight")
    if len(set(features)) < len(features):
        raise ValueError("columns: a column is named twice")
    if set(features) & set(beside):
        raise ValueError("columns must have neither the target nor the weight")
    for name in [*features, *([] if weight is None else [weight])]:
        if known[name]:
            raise ValueError(
                f"{'weight' if name == weight else 'columns'}: column {name!r} of {path} contains "
                f"{known[name]}: leave it out with columns=[...], or turn it into numbers"
            )
    if target is not None and known[target] not in ("", "text"):
        raise ValueError(f"target: column {target!r} of {path} contains {known[target]}")
    return Columns(tuple(features), target, weight, dtype)


def _check_same(
    first: Path,
    known: Mapping[Name, str],
    other: Path,
    found: Mapping[Name, str],
    wanted: Columns,
    all_columns: bool,
) -> None:
    """Raise ValueError if another file lacks columns, has more, or has others in them."""
    for name in wanted.every:
        if name not in found:
            raise ValueError(f"path: {other} has no column {name!r}, but {first} has it")
        if found[name] != known[name]:
            raise ValueError(
                f"path: column {name!r} contains {found[name] or 'numbers'} in {other}, but "
                f"{known[name] or 'numbers'} in {first}"
            )
    more = [name for name in found if name not in known]
    if all_columns and more:
        raise ValueError(f"path: {other} has a column {more[0]!r}, but {first} has none")


def _listed(names: Mapping[Name, str]) -> str:
    """Return the names of columns as text."""
    every = list(names)
    more = len(every) - _LISTED_NAMES
    return ", ".join(map(repr, every[:_LISTED_NAMES])) + (f" and {more} more" if more > 0 else "")
