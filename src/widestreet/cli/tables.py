"""Rows from files: CSV, Parquet, Arrow, NumPy and LIBSVM.

Tables with named columns are read by pandas, which keeps columns of text. `.npy` files and text in
the format of LIBSVM need no further package.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

_TEXT = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
_PARQUET, _ARROW = (".parquet", ".pq"), (".arrow", ".feather", ".ipc")
TABLES = (*_TEXT, *_PARQUET, *_ARROW, ".npy")  # all other files are text in the format of LIBSVM
_MOST_NAMES = 10  # columns that a message lists


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of a file.

    Attributes
    ----------
    X : DataFrame, ndarray or CSR
    y : ndarray or None
        Labels or targets.
    weight : ndarray or None
    """

    X: Any
    y: Any
    weight: Any


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments that name columns."""
    add = parser.add_argument
    add("--target", metavar="COLUMN", help="name or number of the column of labels or targets")
    add("--weight", metavar="COLUMN", help="name or number of the column of sample weights")


def read_rows(
    path: str,
    target: str | None = None,
    weight: str | None = None,
    *,
    drop: Sequence[str] = (),
    features: Sequence[str] | None = None,
    width: int | None = None,
) -> Rows:
    """Read all rows of a file.

    Parameters
    ----------
    path : str
        The file; "-" is text with commas from the standard input.
    target, weight : str or None
        Columns of the labels or targets, and of the sample weights.
    drop : sequence of str
        Columns that are left out.
    features : sequence of str or None
        Names of the columns that a model was trained on, which are selected in this order.
    width : int or None
        Number of columns that a model was trained on.
    """
    if path != "-" and not Path(path).is_file():
        raise FileNotFoundError(f"there is no file {path!r}")
    if path != "-" and not path.lower().endswith(TABLES):
        return _libsvm(path, target, weight, drop, width)
    if path.lower().endswith(".npy"):
        return _array(path, target, weight, drop)
    return _frame(path, target, weight, drop, features)


def column(text: str | None) -> str | int | None:
    """Return a column as `widestreet.open_rows` takes it: a number, or a name."""
    return int(text) if text is not None and text.removeprefix("-").isdigit() else text


def pandas(reason: str) -> ModuleType:
    """Return pandas, or raise ValueError that says how to install it."""
    try:
        import pandas
    except ImportError:
        raise ValueError(f"{reason} needs pandas: pip install 'widestreet[cli]'") from None
    found: ModuleType = pandas
    return found


def _libsvm(
    path: str, target: str | None, weight: str | None, drop: Sequence[str], width: int | None
) -> Rows:
    """Read text in the format of LIBSVM."""
    from sklearn.datasets import load_svmlight_file

    for option, given in (("--target", target), ("--weight", weight), ("--drop", drop)):
        if given:
            raise ValueError(
                f"{option}: {path} is read as text in the format of LIBSVM, which begins its lines "
                f"with targets and has no columns with names; tables end with {', '.join(TABLES)}"
            )
    X, y = load_svmlight_file(path)
    if width is not None and X.shape[1] < width:
        X.resize((X.shape[0], width))  # the last columns may be zero in all rows
    return Rows(X, y, None)


def _array(path: str, target: str | None, weight: str | None, drop: Sequence[str]) -> Rows:
    """Read an array, whose columns have numbers."""
    import numpy as np

    values = np.load(path, allow_pickle=False)
    if values.ndim != 2:
        raise ValueError(f"{path} has shape {values.shape}, but must have rows and columns")
    numbers = {
        name: _number(path, name, values.shape[1]) for name in (target, weight, *drop) if name
    }
    kept = np.setdiff1d(np.arange(values.shape[1]), list(numbers.values()))
    found = {name: values[:, number] for name, number in numbers.items()}
    return Rows(
        np.ascontiguousarray(values[:, kept]),
        found.get(target or ""),
        found.get(weight or ""),
    )


def _number(path: str, name: str, width: int) -> int:
    """Return the number of a column, which counts from the last one if it is negative."""
    number = column(name)
    if not isinstance(number, int) or not -width <= number < width:
        raise ValueError(f"{path} has no column {name!r}: its {width} columns count from 0")
    return number % width


def _frame(
    path: str,
    target: str | None,
    weight: str | None,
    drop: Sequence[str],
    features: Sequence[str] | None,
) -> Rows:
    """Read a table with named columns."""
    frame = _read(path)
    if frame.empty:
        raise ValueError(f"{path} has no rows: it must have a line of names and a line per row")
    known = [str(name) for name in frame.columns]
    frame.columns = known
    for option, names in (("--target", [target]), ("--weight", [weight]), ("--drop", drop)):
        for name in names:
            if name is not None and name not in known:
                several = option == "--drop" and set(name.split(",")) <= set(known)
                raise ValueError(
                    f"{option}: {path} has no column {name!r}; it has {_listed(known)}"
                    + "; give each column its own --drop" * several
                )
    y, own_weight = (None if name is None else frame[name].to_numpy() for name in (target, weight))
    X = frame.drop(columns=[name for name in (target, weight, *drop) if name is not None])
    if features is not None:
        missing = [name for name in features if name not in known]
        if missing:
            place = "the standard input" if path == "-" else path
            names = f"column{'s' * (len(missing) > 1)} {_listed(missing)}"
            raise ValueError(
                f"{place} has no {names}, which the model was trained on: unknown values may be "
                "empty, but the columns must be there"
            )
        X = frame[list(features)]
    return Rows(_normalized(X), y, own_weight)


def _normalized(frame: Any) -> Any:
    """Return a data frame whose columns are numbers, dates, or text with NaN for missing values.

    Truth values become 0 and 1. Categories and other objects become text.
    """
    found = {}
    for name, values in frame.items():
        kind = getattr(values.dtype, "kind", "O")
        if kind == "b" and not values.isna().any():
            values = values.astype("float64")
        elif kind not in "iufMm":
            values = values.astype(object).map(str, na_action="ignore")
            values = values.where(values.notna(), float("nan"))
        found[name] = values
    return frame.assign(**found)


def _read(path: str) -> Any:
    """Return a file as a data frame."""
    frames = pandas(f"reading {path}")
    name = path.lower()
    if path == "-" or name.endswith(_TEXT):
        source = sys.stdin if path == "-" else path
        try:
            return frames.read_csv(source, sep="\t" if ".tsv" in name else ",")
        except frames.errors.EmptyDataError:
            return frames.DataFrame()
    try:
        return frames.read_parquet(path) if name.endswith(_PARQUET) else frames.read_feather(path)
    except ImportError:
        raise ValueError(f"reading {path} needs pyarrow: pip install 'widestreet[cli]'") from None


def _listed(names: Sequence[str]) -> str:
    """Return the names of columns as text."""
    more = len(names) - _MOST_NAMES
    return ", ".join(map(repr, names[:_MOST_NAMES])) + (f" and {more} more" if more > 0 else "")
