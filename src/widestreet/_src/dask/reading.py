"""Partitions on the workers: validated as a local fit validates its data, and summarised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from distributed import get_worker
from scipy import sparse

import widestreet
from widestreet._src.arrays import Floats
from widestreet._src.dask.collections import differing
from widestreet._src.estimators import columns, data_checks
from widestreet._src.estimators.model import KernelModel
from widestreet._src.rows.census import Census


@dataclass(frozen=True, eq=False)
class Part:
    """Validated rows of one partition.

    Attributes
    ----------
    rows : ndarray or CSR
    target : ndarray or None
        Labels as the user passed them, or targets.
    weight : ndarray or None
        None for ones.
    """

    rows: Any
    target: Any | None
    weight: Floats | None

    def __sizeof__(self) -> int:
        arrays = [self.rows, self.target, self.weight]
        if sparse.issparse(self.rows):
            arrays += [self.rows.data, self.rows.indices, self.rows.indptr]
        return 200 + sum(int(getattr(array, "nbytes", 0)) for array in arrays)


@dataclass(frozen=True)
class Refusal:
    """Why a partition cannot be trained on: the class of the error and its message."""

    kind: type[Exception]
    message: str


@dataclass(frozen=True, eq=False)
class Reader:
    """Reader of partitions.

    Attributes
    ----------
    estimator : KernelModel
        Validates the rows.
    targets : {"labels", "numbers", "none"}
    names : list or None
        Columns that every partition of a data frame must have.
    version : str
        Version of this package where the fit runs.
    """

    estimator: KernelModel
    targets: str
    names: list[Any] | None
    version: str

    def __call__(self, k: int, X: Any, y: Any, weight: Any) -> Part | Refusal:
        """Return the rows of partition k, or why they are refused."""
        if widestreet.__version__ != self.version:
            return Refusal(RuntimeError, _other_version(widestreet.__version__, self.version))
        for name, value in (("y", y), ("sample_weight", weight)):
            if value is None or isinstance(value, float | int):
                continue
            if _length(X) != _length(value):
                message = differing("X", name, k, _length(X), _length(value))
                return Refusal(ValueError, message)
        try:
            return self._read(X, y, weight)
        except (TypeError, ValueError, OverflowError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            return Refusal(kind, f"partition {k}: {error}")

    def _read(self, X: Any, y: Any, weight: Any) -> Part:
        names = getattr(X, "columns", None)
        if names is not None and self.names is not None and list(names) != self.names:
            raise ValueError(
                f"X has the columns {list(names)}, but the data frame declares {self.names}: let "
                "its meta be that of its partitions"
            )
        size = _length(X)
        if size == 0:
            return Part(None, None, None)
        y = _flat(y)
        if self.targets == "none":
            rows, _ = self.estimator._validated(X)
            target = None
        else:
            options = {"y_numeric": True} if self.targets == "numbers" else {}
            (rows, target), _ = self.estimator._validated(X, y, **options)
        if self.targets == "labels":
            data_checks.check_labels(target)
        elif self.targets == "numbers":
            target = columns.numbers("y", target)
        if weight is not None:
            weight = data_checks.check_weight(_flat(weight), size, may_vanish=True)
        return Part(rows, target, weight)


def _flat(values: Any) -> Any:
    """Return a table of one column as a vector."""
    if values is None or getattr(values, "ndim", 1) != 2 or values.shape[1] != 1:
        return values
    return np.asarray(values).ravel()


def _length(values: Any) -> int:
    shape = getattr(values, "shape", None)
    return len(values) if shape is None else int(shape[0])


def summary(part: Part | Refusal, targets: str) -> Census | Refusal | None:
    """Return what is to be known of a partition; None if it is empty."""
    if isinstance(part, Refusal):
        return part
    if part.rows is None:
        return None
    return Census.of(part.rows, part.target, part.weight, labels=targets == "labels")


def _other_version(there: str, here: str) -> str:
    address = get_worker().address
    return (
        f"worker {address} has widestreet {there}, the client has {here}: install the same version "
        "on every worker"
    )
