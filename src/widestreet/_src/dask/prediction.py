"""Predictions for collections, which are computed when the user asks for them."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

import dask.array as da
import numpy as np
from dask.delayed import delayed

from widestreet._src.arrays import Floats
from widestreet._src.dask.collections import is_frame


def predicted(model: Any, method: str, X: Any) -> Any:
    """Return what a method of a fitted model gives for the rows of a collection, lazily.

    The model is one node of the graph.

    Parameters
    ----------
    model : estimator
        Fitted estimator of the local package.
    method : str
        Name of the method.
    X : collection

    Returns
    -------
    array, series or data frame, or list of Delayed
        An array for an array, a series with the same index for a data frame (a data frame if the
        method returns several values for each row), a list for a list.
    """
    if (is_frame(X) or isinstance(X, da.Array)) and X.ndim != 2:
        raise ValueError(f"X must have two dimensions, got {X.ndim}")
    name = f"widestreet-model-{uuid.uuid4().hex}"
    node = delayed(model, name=name, traverse=False)
    empty = getattr(model, method)(_one_row(model, X))[:0]
    if is_frame(X):
        return _frame_of(X, node, method, empty)
    call = delayed(_of_rows, pure=False)
    if isinstance(X, list | tuple):
        return [call(part, node, method, empty) for part in X]
    if not isinstance(X, da.Array):
        return call(X, node, method, empty)
    blocks = X.rechunk({1: -1}).to_delayed().ravel()
    parts = [
        da.from_delayed(
            call(block, node, method, empty), (size, *empty.shape[1:]), dtype=empty.dtype
        )
        for block, size in zip(blocks, X.chunks[0], strict=True)
    ]
    return da.concatenate(parts, allow_unknown_chunksizes=True)


def _one_row(model: Any, X: Any) -> Any:
    """Return a row that shows the type and the shape of a prediction.

    It has the columns of the collection where they are known: the model refuses wrong ones at once.
    """
    names, columns = getattr(model, "feature_names_in_", None), model.n_features_in_
    if is_frame(X):
        names, columns = None if names is None else list(X.columns), len(X.columns)
    elif isinstance(X, da.Array) and not isnan(X.shape[1]) and X.shape[1] != columns:
        names, columns = None, X.shape[1]
    row = np.zeros((1, columns))
    if names is None:
        return row
    import pandas as pd

    return pd.DataFrame(row, columns=names)


def _frame_of(X: Any, node: Any, method: str, empty: Any) -> Any:
    """Return the predictions for a data frame; map_partitions of old versions takes no Delayed."""
    import dask.dataframe as dd

    call = delayed(_of_frame, pure=False)
    parts = [call(part, node, method, empty) for part in X.to_delayed()]
    divisions = X.divisions if X.known_divisions else None
    return dd.from_delayed(parts, meta=_meta(X, empty), divisions=divisions, verify_meta=False)


def _meta(X: Any, empty: Any) -> Any:
    """Return the series or data frame without rows that Dask describes a result with."""
    import pandas as pd

    index = X._meta.index
    if empty.ndim == 1:
        return pd.Series(empty, index=index)
    return pd.DataFrame(empty, index=index)


def _of_rows(X: Any, model: Any, method: str, empty: Any) -> Any:
    """Return the predictions for one partition."""
    return getattr(model, method)(X) if X.shape[0] else empty


def _of_frame(X: Any, model: Any, method: str, empty: Any) -> Any:
    """Return the predictions for a partition of a data frame, with its index."""
    import pandas as pd

    found = _of_rows(X, model, method, empty)
    return (pd.Series if found.ndim == 1 else pd.DataFrame)(found, index=X.index)


# -- scores ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Score:
    """A score that is a function of sums over the partitions.

    Attributes
    ----------
    of_part : callable
        Returns the sums over one partition: of X, y, weights or None, and the model.
    of_all : callable
        Returns the score from the sums of all partitions.
    """

    of_part: Callable[..., Floats]
    of_all: Callable[[Sequence[Floats]], float]


def hits(X: Any, y: Any, weight: Any, model: Any) -> Floats:
    """Return the weight of the rows of a partition whose class is right, and that of all."""
    y, weight = _vectors(X, y, weight)
    if len(y) == 0:
        return np.zeros(2)
    return np.array([weight @ (model.predict(X) == y), weight.sum()], dtype=np.float64)


def accuracy(parts: Sequence[Floats]) -> float:
    """Return the share of rows whose class is right."""
    right, every = np.sum(parts, axis=0)
    return float(right / every)


def residuals(X: Any, y: Any, weight: Any, model: Any) -> Floats:
    """Return sums over a partition: weights, squared errors, mean of y, squared deviations."""
    y, weight = _vectors(X, y, weight)
    total = float(weight.sum())
    if total == 0:
        return np.zeros(4)
    y = np.asarray(y, dtype=np.float64)
    mean = float(weight @ y) / total
    error = weight @ np.square(y - model.predict(X))
    return np.array([total, error, mean, weight @ np.square(y - mean)])


def determination(parts: Sequence[Floats]) -> float:
    """Return the coefficient of determination R^2."""
    total, error, mean, square = np.array([part for part in parts if part[0] > 0]).T
    centre = float(total @ mean) / float(total.sum())
    spread = float(square.sum() + total @ np.square(mean - centre))
    if spread == 0:
        return 1.0 if error.sum() == 0 else 0.0
    return 1.0 - float(error.sum()) / spread


def _vectors(X: Any, y: Any, weight: Any) -> tuple[Any, Floats]:
    """Return targets and weights of the rows of a partition."""
    y = np.asarray(y).ravel()
    if len(y) != X.shape[0]:
        raise ValueError(f"a partition of X has {X.shape[0]} rows, and that of y has {len(y)}")
    if weight is None:
        return y, np.ones(len(y))
    return y, np.broadcast_to(np.asarray(weight, dtype=np.float64).ravel(), y.shape)


ACCURACY = Score(hits, accuracy)
DETERMINATION = Score(residuals, determination)
