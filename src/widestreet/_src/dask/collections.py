"""Partitions of the collections that users pass to a fit on a cluster.

Dask arrays, data frames and series, and lists of Delayed objects or futures, become lists of
Delayed objects: one for each partition. Errors that can be found without computing anything are
raised here; the rest is found where the partitions are read (reading.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from math import isnan
from numbers import Real
from typing import Any

import dask.array as da
from dask.base import is_dask_collection
from dask.delayed import Delayed, delayed
from distributed import Future


@dataclass(frozen=True, eq=False)
class Partitions:
    """Partitions of rows, with those of their labels or targets and of their weights.

    Attributes
    ----------
    X : list of Delayed
    y : list of Delayed or None
    weight : list of Delayed, a number for all rows, or None
    names : list or None
        Columns of a data frame.
    """

    X: list[Any]
    y: list[Any] | None
    weight: list[Any] | float | None
    names: list[Any] | None

    def __len__(self) -> int:
        return len(self.X)

    @classmethod
    def of(cls, X: Any, y: Any = None, sample_weight: Any = None) -> Partitions:
        """Return the partitions of a fit, or raise an error that says which parameter is wrong."""
        given = {"X": X, "y": y, "sample_weight": sample_weight}
        given = {name: value for name, value in given.items() if value is not None}
        weight = sample_weight
        if isinstance(weight, Real):
            del given["sample_weight"]
            weight = float(weight)
        _require_one_kind(given)
        parts = {name: _delayed(name, value) for name, value in given.items()}
        lengths = {name: _lengths(value, len(parts[name])) for name, value in given.items()}
        for name in parts:
            _require_same_lengths(name, lengths["X"], lengths[name])
        if not isinstance(weight, Real):
            weight = parts.get("sample_weight")
        names = list(X.columns) if is_frame(X) else None
        return cls(parts["X"], parts.get("y"), weight, names)


def is_collection(value: Any) -> bool:
    """Return whether a value is a Dask collection, or a list of Delayed objects or futures."""
    if isinstance(value, list | tuple) and value:
        return all(_is_one(part) for part in value)
    return _is_one(value)


def is_frame(value: Any) -> bool:
    """Return whether a value is a Dask data frame or series."""
    if isinstance(value, Delayed | Future | da.Array):  # a Delayed object has every attribute
        return False
    return all(hasattr(value, name) for name in ("to_delayed", "npartitions", "divisions"))


def _is_one(value: Any) -> bool:
    return isinstance(value, Future) or is_dask_collection(value)


def _require_one_kind(given: dict[str, Any]) -> None:
    """Raise TypeError if some parameters are Dask collections and others are not."""
    for name, value in given.items():
        if not is_collection(value):
            far = next((other for other, one in given.items() if is_collection(one)), "X")
            raise TypeError(
                f"{name} is of type {type(value).__name__} and {far} is a Dask collection: pass "
                f"Dask collections with the same partitions for all, or arrays for all; "
                f"dask.array.from_array({name}, chunks=...) makes one"
            )


def _delayed(name: str, value: Any) -> list[Any]:
    """Return a Delayed object for each partition."""
    if isinstance(value, list | tuple):
        return [delayed(part) for part in value]
    if isinstance(value, Future | Delayed):
        return [delayed(value)]
    if isinstance(value, da.Array):
        if value.ndim not in ((2,) if name == "X" else (1, 2)):
            raise ValueError(
                f"{name} must have {'two dimensions' if name == 'X' else 'one dimension'}, got "
                f"{value.ndim}"
            )
        if value.ndim == 2 and value.numblocks[1] > 1:
            value = value.rechunk({1: -1})
        parts: list[Any] = value.to_delayed().ravel().tolist()
        return parts
    if is_frame(value):
        if name == "X" and value.ndim != 2:
            raise TypeError("X is a Dask series: pass a data frame, such as df[['a', 'b']]")
        return list(value.to_delayed())
    raise TypeError(
        f"{name} is of type {type(value).__name__}: pass a Dask array, a Dask data frame or a list "
        "of Delayed objects"
    )


def _lengths(value: Any, parts: int) -> list[int | None]:
    """Return how many rows each partition has; None where that is not known."""
    if not isinstance(value, da.Array):
        return [None] * parts
    return [None if isnan(size) else int(size) for size in value.chunks[0]]


def _require_same_lengths(
    name: str, rows: Sequence[int | None], others: Sequence[int | None]
) -> None:
    """Raise ValueError if two parameters are known to be partitioned differently."""
    for k, (a, b) in enumerate(zip_longest(rows, others, fillvalue=-1)):
        if None not in (a, b) and a != b and -1 not in (a, b):
            raise ValueError(differing("X", name, k, int(a or 0), int(b or 0)))
    if len(rows) != len(others):
        raise ValueError(
            f"X and {name} are partitioned differently: X has {len(rows)} partitions and {name} "
            f"has {len(others)}; repartition one of them, for example with rechunk or repartition"
        )


def differing(one: str, other: str, k: int, a: int, b: int) -> str:
    """Return the message about the first partition whose lengths differ."""
    return (
        f"{one} and {other} are partitioned differently: partition {k} has {a} rows of {one} and "
        f"{b} of {other}; repartition one of them, for example with rechunk or repartition"
    )
