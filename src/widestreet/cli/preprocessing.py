"""Preprocessing by the kinds of the columns, as a scikit-learn pipeline and as Python code.

Numbers: missing values become the median, then columns are scaled to mean 0 and variance 1. Text:
each value gets a column of its own, and missing values get one as well. Sparse rows are scaled by
the largest absolute value of each column, which keeps their zeros.
"""

from __future__ import annotations

import re
from typing import Any

MOST_CATEGORIES = 50  # values of a column of text that have columns of their own
_ALL_DIFFERENT = 0.5  # part of the rows with a value of its own, from which on it is no category
_DATE = re.compile(r"(\d{4}([-/.])\d{1,2}\2\d{1,2}|\d{1,2}([-/.])\d{1,2}\3\d{4})(\D|$)")
_UNLIMITED = 10**9  # characters


def transformer_for(X: Any) -> Any:
    """Return an unfitted transformer for rows, by the kinds of their columns."""
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, StandardScaler

    if hasattr(X, "tocsr"):
        return MaxAbsScaler()
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    if not hasattr(X, "columns"):
        return numbers
    numeric, textual = _kinds(X)
    if not textual:
        return numbers
    text = OneHotEncoder(
        handle_unknown="infrequent_if_exist", max_categories=MOST_CATEGORIES, sparse_output=False
    )
    parts = [("numbers", numbers, numeric), ("text", text, textual)]
    return ColumnTransformer([part for part in parts if part[2]])


def doubts_about(X: Any) -> list[str]:
    """Return remarks about columns that seem to be no categories, or numbers of rows."""
    if not hasattr(X, "columns"):
        return []
    numeric, textual = _kinds(X)
    numbers = [
        f"column {name!r} has another whole number in every row: if it numbers the rows, leave it "
        f"out with --drop {name}"
        for name in numeric
        if X[name].dtype.kind in "iu" and len(X) > 1 and X[name].is_unique
    ]
    return numbers + [
        f"column {name!r} has {X[name].nunique()} different values in {len(X)} rows: if it is no "
        f"category, leave it out with --drop {name}"
        for name in textual
        if X[name].nunique() > max(MOST_CATEGORIES, _ALL_DIFFERENT * len(X))
    ]


def as_python(model: Any) -> str:
    """Return Python code that makes an unfitted model: imports, and an assignment to `model`."""
    homes: dict[str, set[str]] = {}
    for part in _parts(model):
        home = type(part).__module__.partition("._")[0]
        homes.setdefault(home, set()).add(type(part).__name__)
    imports = [f"from {home} import {', '.join(sorted(homes[home]))}" for home in sorted(homes)]
    return "\n".join([*imports, "", f"model = {model.__repr__(N_CHAR_MAX=_UNLIMITED)}"])


def _kinds(frame: Any) -> tuple[list[str], list[str]]:
    """Return the columns of numbers and those of text."""
    numeric = frame.select_dtypes("number").columns.tolist()
    dates = frame.select_dtypes(["datetime", "datetimetz", "timedelta"]).columns.tolist()
    dates += [name for name in frame.columns if name not in numeric and _all_dates(frame[name])]
    if dates:
        plural = len(dates) > 1
        raise ValueError(
            f"{'columns' if plural else 'column'} {', '.join(map(repr, dates))} "
            f"{'contain' if plural else 'contains'} dates or times: leave out with "
            f"{' '.join(f'--drop {name}' for name in dates)}, or turn into numbers, such as days"
        )
    return numeric, [name for name in frame.columns if name not in numeric]


def _all_dates(values: Any) -> bool:
    """Return whether all values that are not missing are text that begins with a date."""
    known = values.dropna()
    return len(known) > 0 and all(_DATE.match(str(value)) for value in known)


def _parts(model: Any) -> list[Any]:
    """Return a model and all estimators that are parameters of it."""
    from sklearn.base import BaseEstimator

    inner = model.get_params(deep=True).values()
    return [model, *(value for value in inner if isinstance(value, BaseEstimator))]
