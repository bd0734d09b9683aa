"""Name the columns that a machine cannot use, and say what to do about them.

scikit-learn's validation reports the first value that it could not convert, but not its column.
`explained` searches the columns, but only after the validation has failed: valid data costs a look
at the dtypes.
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

_SCALE_RATIO = 1e3  # a column this many times narrower than another has no influence on the kernel
_SAMPLE_ROWS = 4096  # rows whose columns are compared for that
_NAMED = 5  # columns named in a message
_DATES = (timedelta, np.datetime64, np.timedelta64)  # others have strftime

_CURES = {
    "text": "encode it, for example with sklearn.preprocessing.OneHotEncoder or OrdinalEncoder in "
    "a sklearn.compose.ColumnTransformer",
    "dates or times": "turn them into numbers, for example into days: "
    "(x - x.min()) / numpy.timedelta64(1, 'D')",
    "complex numbers": "Complex data not supported, so pass the real and the imaginary parts as "
    "columns of their own",
    "numbers too large for float64": "scale them, or drop those rows",
    "infinity": "replace it by a finite number, or drop those rows",
    "NaN": "fill the gaps, for example with sklearn.impute.SimpleImputer, or drop those rows",
}
_CURES_OF_VECTORS = _CURES | {
    "text": "pass numbers",
    "complex numbers": "Complex data not supported, so pass real numbers",
    "NaN": "drop those rows",
}
_FAULTS_OF_LABELS = ("complex numbers", "infinity", "NaN")  # text and dates can be labels


@contextmanager
def explained(X: Any, y: Any = None, *, numeric: bool = False) -> Iterator[None]:
    """Replace errors of the validation in this block by ones that name the columns and the cure.

    Parameters
    ----------
    X, y : object
        Rows and targets as they were given.
    numeric : bool, default=False
        Whether y must be numbers; labels need not.
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
        if re.search(r"\b(X|y)\b", said):
            raise
        raise ValueError(_with_parameter(said)) from None


def _with_parameter(said: str) -> str:
    """Put the parameter and, where it is missing, the cure into a message of scikit-learn."""
    if "inconsistent numbers of samples" in said:
        return f"X and y: {said}; pass one label or target for each row"
    if "inhomogeneous" in said:
        return f"X: all rows must have the same number of columns: {said}"
    if "Cannot cast array data from dtype([" in said:
        fields = "numpy.lib.recfunctions.structured_to_unstructured(X)"
        return f"X must not be a structured array; pass {fields}"
    return f"X: {said}"


def numbers(name: str, values: Any) -> Floats:
    """Return values as finite float64, or raise an error that says what else they are.

    scikit-learn's validation is not enough for y: None passes it and then becomes NaN.

    Parameters
    ----------
    name : str
        Of the parameter.
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


def warn_of_scales(X: Any, names: Any, stacklevel: int) -> None:
    """Warn if some columns vary so much, or so little, that the kernel does not see all of them.

    Parameters
    ----------
    X : ndarray or CSR
        Validated rows.
    names : sequence of str or None
        Names of the columns; their numbers by default.
    stacklevel : int
        Of the warning, seen from the caller.
    """
    spread = _spread(X)
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
            "much as the median column, so that the kernel hardly sees the others"
        )
    else:
        widest = int(np.argmax(spread))
        narrow = np.flatnonzero((spread > 0) & (_SCALE_RATIO * spread < spread[widest]))
        verb = "varies" if len(narrow) == 1 else "varies at least"
        message = (
            f"the kernel hardly sees {_listed(labels[j] for j in narrow)}, because "
            f"{_listed([labels[widest]])} {verb} {spread[widest] / spread[narrow].max():.2g} times "
            "as much"
        )
    warnings.warn(
        f"{message}; scale the features first, for example with "
        "sklearn.preprocessing.StandardScaler in a pipeline",
        UserWarning,
        stacklevel=stacklevel + 1,
    )


def _spread(X: Any) -> Floats:
    """How wide each column is: its range, or for sparse data the size of what is stored."""
    if sparse.issparse(X):
        square = np.bincount(X.indices, np.square(X.data, dtype=np.float64), X.shape[1])
        count = np.bincount(X.indices, minlength=X.shape[1])
        return np.asarray(np.sqrt(square / np.maximum(count, 1)))
    sample = X[:: max(1, X.shape[0] // _SAMPLE_ROWS)]
    return np.asarray(np.ptp(sample, axis=0), dtype=np.float64)


# -- the search ----------------------------------------------------------------------------------


def _has_dates(values: Any) -> bool:
    """Whether a dtype is one of dates or times, which NumPy would convert silently."""
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
    """What is wrong with the values of X or, if nothing is, of y."""
    cures = _CURES_OF_VECTORS
    if not numeric:
        cures = {what: cures[what] for what in _FAULTS_OF_LABELS}
    return _refusal("X", X, _CURES) or _refusal("y", y, cures, others=numeric)


def _refusal(name: str, values: Any, cures: dict[str, str], others: bool = True) -> str | None:
    """Which values are no finite numbers, and what to do; None if all are or none can be told.

    Parameters
    ----------
    name : str
        Of the parameter.
    values : object
    cures : dict
        What to do about each kind of value.
    others : bool, default=True
        Whether to report values of other kinds, too.
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
    """The columns of a table with their names or numbers, or a vector with None."""
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
    """The columns of a COO matrix that hold values which are no finite numbers."""
    bad = np.flatnonzero(~np.isfinite(X.data) | np.iscomplexobj(X.data))
    bad = bad[np.argsort(X.col[bad], kind="stable")]
    columns, start = np.unique(X.col[bad], return_index=True)
    yield from zip(columns.tolist(), np.split(X.data[bad], start[1:]), strict=False)


def _fault(column: Any) -> tuple[str, str]:
    """What a column holds beside finite numbers, with an example; nothing if there is nothing."""
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
    """What the first of some objects is that is no number."""
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


def _listed(labels: Iterable[Any]) -> str:
    """Some columns by name or number."""
    every = list(labels)
    more = f" and {len(every) - _NAMED} more" if len(every) > _NAMED else ""
    return f"column{'s' * (len(every) > 1)} {', '.join(map(repr, every[:_NAMED]))}{more}"
