"""Error messages and warnings that name the columns of X and the remedy.

scikit-learn's validation reports the first value that it could not convert, but not its column.
`explained` searches the columns, but only after the validation has failed: for valid data only the
dtypes are checked.
"""

from __future__ import annotations

import re
import reprlib
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import numpy as np
from scipy import sparse

from widestreet._src.arrays import Floats
from widestreet._src.rows.dense import column_figures
from widestreet._src.rows.labels import first_missing

_SCALE_RATIO = 1e3  # a column this many times narrower than another has no influence on the kernel
_SAMPLE_ROWS = 4096  # rows whose columns are compared for that
_NAMED_COLUMNS = 5  # columns that a message names
_DATES = (timedelta, np.datetime64, np.timedelta64)  # others have strftime

_CURES = {
    "text": "encode it, for example with sklearn.preprocessing.OneHotEncoder or OrdinalEncoder in "
    "a sklearn.compose.ColumnTransformer",
    "dates or times": "turn them into numbers, for example into days: "
    "(x - x.min()) / numpy.timedelta64(1, 'D')",
    "complex numbers": "Complex data not supported, so pass the real and the imaginary parts as "
    "separate columns",
    "numbers too large for float64": "scale them, or drop those rows",
    "infinity": "replace it by a finite number, or drop those rows",
    "NaN": "impute the values, for example with sklearn.impute.SimpleImputer, or drop those rows",
}
_CURES_OF_VECTORS = _CURES | {
    "text": "pass numbers",
    "complex numbers": "Complex data not supported, so pass real numbers",
    "NaN": "drop those rows",
}
_FAULTS_OF_LABELS = ("complex numbers", "infinity", "NaN")  # text and dates can be labels


@contextmanager
def explained(X: Any, y: Any = None, *, numeric: bool = False) -> Iterator[None]:
    """Replace validation errors in this block by errors that name the columns and the remedy.

    Parameters
    ----------
    X, y : object
        Rows and targets as the user passed them.
    numeric : bool, default=False
        True if y must be numeric; labels need not be.
    """
    if _has_dates(X) or (numeric and _has_dates(y)):
        raise ValueError(_complaint(X, y, numeric) or "X contains dates or times: pass numbers")
    try:
        yield
    except (ValueError, TypeError, OverflowError) as error:
        said, complaint = str(error), _complaint(X, y, numeric)
        if complaint is not None and "objects of type" in complaint:
            raise TypeError(f"{complaint} ({said})") from None
        if complaint is not None:
            raise ValueError(complaint) from None
        missing = "contains NaN" in said or "value of NA is ambiguous" in said
        if not numeric and missing and _has_missing(y):
            raise ValueError("y contains missing labels (NaN or None): remove those rows") from None
        if re.search(r"\b(X|y)\b", said):
            raise
        raise ValueError(_with_parameter(said)) from None


def _has_missing(y: Any) -> bool:
    """Return whether labels have a value that is NaN, NA or None."""
    return first_missing(np.asarray(y, dtype=object).ravel()) is not None


def _with_parameter(said: str) -> str:
    """Add the parameter and, if it is missing, the remedy to a message of scikit-learn."""
    if "inconsistent numbers of samples" in said:
        return f"X and y: {said}; pass one label or target for each row"
    if "inhomogeneous" in said:
        return f"X: all rows must have the same number of columns: {said}"
    if "Cannot cast array data from dtype([" in said:
        fields = "numpy.lib.recfunctions.structured_to_unstructured(X)"
        return f"X must not be a structured array; pass {fields}"
    return f"X: {said}"


def numbers(name: str, values: Any) -> Floats:
    """Return values as finite float64, or raise an error that describes the invalid ones.

    scikit-learn's validation is not enough for y: None passes it and then becomes NaN.

    Parameters
    ----------
    name : str
        Name of the parameter.
    values : array-like
    """
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "cMm":
            with np.errstate(over="ignore"):
                array = array.astype(np.float64)
            if np.isfinite(array).all():
                return array
    except (TypeError, ValueError, OverflowError):
        pass
    found = _refusal(name, values, _CURES_OF_VECTORS)
    raise ValueError(found or f"{name} must be a list of numbers, got {reprlib.repr(values)}")


def warn_of_scales(spread: Floats, names: Any, stacklevel: int) -> None:
    """Warn if the scales of columns differ so much that some have no effect on the kernel.

    Parameters
    ----------
    spread : ndarray
        Scale of each column.
    names : sequence of str or None
        Names of the columns; their numbers by default.
    stacklevel : int
        Stack level of the warning, relative to the caller.
    """
    if np.max(spread, initial=0.0) <= _SCALE_RATIO * np.min(spread, initial=0.0):
        return
    varying = np.sort(spread[spread > 0])
    if len(varying) < 2 or varying[-1] <= _SCALE_RATIO * varying[0]:
        return
    labels = range(len(spread)) if names is None else list(names)
    median = varying[(len(varying) - 1) // 2]
    wide = np.flatnonzero(spread > _SCALE_RATIO * median)
    if len(wide):
        verb = "varies" if len(wide) == 1 else "vary at least"
        message = (
            f"{_listed(labels[j] for j in wide)} {verb} {spread[wide].min() / median:.2g} times as "
            "much as the median column, so that the other columns hardly affect the kernel"
        )
    else:
        widest = int(np.argmax(spread))
        narrow = np.flatnonzero((spread > 0) & (_SCALE_RATIO * spread < spread[widest]))
        verb = "varies" if len(narrow) == 1 else "varies at least"
        message = (
            f"the kernel is hardly affected by {_listed(labels[j] for j in narrow)}, because "
            f"{_listed([labels[widest]])} {verb} {spread[widest] / spread[narrow].max():.2g} times "
            "as much"
        )
    warnings.warn(
        f"{message}; scale the features first, for example with "
        "sklearn.preprocessing.StandardScaler in a pipeline",
        UserWarning,
        stacklevel=stacklevel + 1,
    )


def spread_of(X: Any) -> Floats:
    """Return the scale of each column: its range, or the root mean square of sparse values."""
    if sparse.issparse(X):
        square = np.bincount(X.indices, np.square(X.data, dtype=np.float64), X.shape[1])
        count = np.bincount(X.indices, minlength=X.shape[1])
        return np.asarray(np.sqrt(square / np.maximum(count, 1)))
    sample = X[:: max(1, X.shape[0] // _SAMPLE_ROWS)]
    if sample.dtype in (np.float32, np.float64):
        _, low, high = column_figures(sample)  # faster than NumPy along this axis
        return high - low
    return np.asarray(np.ptp(sample, axis=0), dtype=np.float64)


# -- search for invalid values ---------------------------------------------------------------------


def _has_dates(values: Any) -> bool:
    """Return whether values have a dtype of dates or times, which NumPy converts silently."""
    while isinstance(values, list | tuple) and values:
        values = values[0]
    frame = hasattr(values, "columns") and hasattr(values, "dtypes")
    dtypes = values.dtypes if frame else [getattr(values, "dtype", None)]
    return any(_is_date(dtype) for dtype in dtypes)


def _is_date(dtype: Any) -> bool:
    if hasattr(dtype, "is_temporal"):  # polars
        return bool(dtype.is_temporal())
    return getattr(dtype, "kind", None) in ("M", "m")


def _complaint(X: Any, y: Any, numeric: bool) -> str | None:
    """Return a message about invalid values of X, or else of y; None if there are none."""
    cures = _CURES_OF_VECTORS
    if not numeric:
        cures = {what: cures[what] for what in _FAULTS_OF_LABELS}
    return _refusal("X", X, _CURES) or _refusal("y", y, cures, others=numeric)


def _refusal(name: str, values: Any, cures: dict[str, str], others: bool = True) -> str | None:
    """Return a message about values that are not finite numbers; None if none are found.

    Parameters
    ----------
    name : str
        Name of the parameter.
    values : object
    cures : dict
        Remedy for each kind of value.
    others : bool, default=True
        If True, values of other kinds are reported as well.
    """
    found: dict[str, list[Any]] = {}
    examples: dict[str, str] = {}
    for label, column in _columns(values):
        what, example = _fault(column)
        if what in cures or (what and others):
            found.setdefault(what, []).append(label)
            examples.setdefault(what, example)
    sentences = [
        f"{name} contains {what}{examples[what]}"
        f"{'' if where == [None] else f' in {_listed(where)}'}: {cures.get(what, 'pass numbers')}"
        for what, where in found.items()
    ]
    return "; ".join(sentences) or None


def _columns(values: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the columns of a table with their names or indices, or a vector with None."""
    if sparse.issparse(values):
        if values.ndim == 2:
            yield from _sparse_columns(values.tocoo())
        return
    if hasattr(values, "columns") and hasattr(values, "dtypes"):
        table = getattr(values, "iloc", values)
        yield from ((name, table[:, j]) for j, name in enumerate(values.columns))
        return
    try:
        array = np.asarray(values)
    except ValueError:  # rows of different lengths
        return
    if array.dtype.names is not None:
        yield from ((name, array[name]) for name in array.dtype.names)
    elif array.ndim == 2:
        yield from enumerate(array.T)
    elif array.ndim == 1:
        yield None, array


def _sparse_columns(X: Any) -> Iterator[tuple[int, Any]]:
    """Yield the columns of a COO matrix that contain values that are not finite."""
    bad = np.flatnonzero(~np.isfinite(X.data) | np.iscomplexobj(X.data))
    bad = bad[np.argsort(X.col[bad], kind="stable")]
    columns, start = np.unique(X.col[bad], return_index=True)
    yield from zip(columns.tolist(), np.split(X.data[bad], start[1:]), strict=False)


def _fault(column: Any) -> tuple[str, str]:
    """Return the kind of invalid values of a column and an example; empty if all are valid."""
    array = np.asarray(column)
    if array.dtype.kind in "Mm":
        return "dates or times", ""
    if array.dtype.kind == "c":
        return "complex numbers", ""
    try:
        with np.errstate(over="ignore"):
            value = array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        return _first_fault(array.ravel().tolist())
    if np.isnan(value).any():
        return "NaN", ""
    return ("infinity", "") if np.isinf(value).any() else ("", "")


def _first_fault(values: list[Any]) -> tuple[str, str]:
    """Return the kind of the first object that is not a number, and an example."""
    missing = False
    for value in values:
        if value is None or type(value).__name__ in ("NAType", "NaTType"):
            missing = True
            continue
        try:
            float(value)
        except OverflowError:
            return "numbers too large for float64", ""
        except (TypeError, ValueError):
            if isinstance(value, str | bytes):
                return "text", f" such as {reprlib.repr(value)}"
            if isinstance(value, _DATES) or hasattr(value, "strftime"):
                return "dates or times", f" such as {value}"
            if isinstance(value, complex | np.complexfloating):
                return "complex numbers", f" such as {value}"
            return f"objects of type {type(value).__name__}", ""
    return ("NaN" if missing else "", "")


def cure_of(name: str, what: str) -> str:
    """Return what to do about invalid values of a kind in X, or in a vector."""
    return (_CURES if name == "X" else _CURES_OF_VECTORS)[what]


def _listed(labels: Iterable[Any]) -> str:
    """Return the names or indices of columns as text."""
    every = list(labels)
    more = f" and {len(every) - _NAMED_COLUMNS} more" if len(every) > _NAMED_COLUMNS else ""
    return f"column{'s' * (len(every) > 1)} {', '.join(map(repr, every[:_NAMED_COLUMNS]))}{more}"
