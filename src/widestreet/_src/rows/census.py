"""Summary of all rows before a fit, merged from the summaries of parts.

Rows that are not in one place, such as partitions of a cluster or batches of a file, are summarised
one part at a time. The summary of all rows is the merger of those of the parts. Sums are
compensated, so that figures hardly depend on how rows are divided and in which order parts are
merged.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import fsum
from typing import Any

import numpy as np
from scipy import sparse

from widestreet._src.arrays import Floats, Ints
from widestreet._src.rows.faults import Fault, first_fault
from widestreet._src.rows.labels import Labels

_BLOCK_ROWS = 2048  # rows whose sums are not compensated
_BLOCK_VALUES = 1 << 21  # values of a block at the most


@dataclass(frozen=True, eq=False)
class Moments:
    """Weighted mean and squared deviations of each column.

    Attributes
    ----------
    weight : float
        Sum of the weights of the rows.
    mean, square : ndarray of shape (columns,)
        Mean, and sum of weight * (x - mean)^2.
    """

    weight: float
    mean: Floats
    square: Floats

    @classmethod
    def of(cls, X: Any, weight: Floats) -> Moments:
        """Return the moments of dense or CSR rows."""
        if sparse.issparse(X):
            return cls._of_sparse(X, weight)
        step = max(1, min(_BLOCK_ROWS, _BLOCK_VALUES // max(1, X.shape[1])))
        parts = [
            cls._of_block(np.asarray(X[a : a + step], dtype=np.float64), weight[a : a + step])
            for a in range(0, len(X), step)
        ]
        return cls.merged(parts) if parts else cls(0.0, np.zeros(X.shape[1]), np.zeros(X.shape[1]))

    @classmethod
    def _of_block(cls, X: Floats, weight: Floats) -> Moments:
        total = float(weight.sum())
        mean = weight @ X / total if total > 0 else np.zeros(X.shape[1])
        centred = X - mean
        centred *= centred
        return cls(total, mean, weight @ centred)

    @classmethod
    def _of_sparse(cls, X: Any, weight: Floats) -> Moments:
        total, columns = float(weight.sum()), X.shape[1]
        per_entry = np.repeat(weight, np.diff(X.indptr))
        mean = np.bincount(X.indices, per_entry * X.data, columns) / max(total, 1e-300)
        square = np.bincount(X.indices, per_entry * np.square(X.data - mean[X.indices]), columns)
        stored = np.bincount(X.indices, per_entry, columns)
        return cls(total, mean, square + np.maximum(total - stored, 0.0) * np.square(mean))

    @classmethod
    def merged(cls, parts: Sequence[Moments]) -> Moments:
        """Return the moments of all rows of several parts."""
        if len(parts) == 1:
            return parts[0]
        total = _total(part.weight for part in parts)
        mean = _summed(part.weight * part.mean for part in parts) / max(total, 1e-300)
        square = _summed(
            term
            for part in parts
            for term in (part.square, part.weight * np.square(part.mean - mean))
        )
        return cls(total, mean, square)

    @property
    def variance(self) -> float:
        """Variance of all values, as of one column."""
        count = self.weight * len(self.mean)
        if count <= 0:
            return 0.0
        mean = _total(self.mean) / len(self.mean)
        between = self.weight * np.square(self.mean - mean)
        return (_total(self.square) + _total(between)) / count

    @property
    def square_distance(self) -> float:
        """Mean squared distance of the rows to their mean."""
        return _total(self.square) / self.weight if self.weight > 0 else 0.0


@dataclass(frozen=True)
class Weights:
    """Weights of rows: how many are positive, their sum, the least of all and of the positive."""

    positive: int
    total: float
    least: float
    least_positive: float

    @classmethod
    def of(cls, weight: Floats) -> Weights:
        """Return the figures of some weights."""
        used = weight[weight > 0]
        least = float(np.min(weight, initial=np.inf))
        return cls(len(used), _sum_of(weight), least, float(np.min(used, initial=np.inf)))

    @classmethod
    def merged(cls, parts: Sequence[Weights]) -> Weights:
        """Return the figures of all weights of several parts."""
        return cls(
            sum(part.positive for part in parts),
            _total(part.total for part in parts),
            min(part.least for part in parts),
            min(part.least_positive for part in parts),
        )


@dataclass(frozen=True, eq=False)
class Census:
    """Summary of rows with their labels or targets and their weights.

    Attributes
    ----------
    rows, columns : int
    dtype : numpy.dtype
        float32 or float64.
    sparse : bool
    plain, weighted : Moments
        Of the columns; each row counts once, or by its weight.
    low, high : ndarray of shape (columns,)
        Extremes of the columns; zeros that are not stored do not count.
    stored : ndarray of shape (columns,)
        Values stored in each column.
    stored_square : ndarray of shape (columns,)
        Sum of their squares; zero for dense rows, where it is not needed.
    largest_square : float
        The largest |x|^2 of a row.
    nonzeros : int
    weights : Weights
    labels : Labels or None
        None if the targets are numbers, or there are none.
    target : tuple of float
        The least and the largest target; (inf, -inf) without targets.
    fault : Fault or None
        If there is one, the other figures may be meaningless.
    """

    rows: int
    columns: int
    dtype: np.dtype[Any]
    sparse: bool
    plain: Moments
    weighted: Moments
    low: Floats
    high: Floats
    stored: Ints
    stored_square: Floats
    largest_square: float
    nonzeros: int
    weights: Weights
    labels: Labels | None = None
    target: tuple[float, float] = (np.inf, -np.inf)
    fault: Fault | None = None

    @classmethod
    def of(cls, X: Any, y: Any = None, weight: Any = None, *, labels: bool = True) -> Census:
        """Return the summary of one part.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (rows, columns)
        y : array-like of shape (rows,), optional
        weight : array-like of shape (rows,), optional
            Ones by default.
        labels : bool, default=True
            Whether y are labels of classes rather than numbers.
        """
        X = _as_floats(X)
        ones = np.ones(X.shape[0])
        given = ones if weight is None else np.asarray(weight, dtype=np.float64)
        fault = first_fault(X, y, given, labels=labels)
        seen = X if fault is None else X[:0]
        with np.errstate(over="ignore", invalid="ignore"):  # `largest` tells
            plain = Moments.of(seen, ones[: seen.shape[0]])
            weighted = plain if weight is None else Moments.of(seen, given[: seen.shape[0]])
            figures = _figures(seen)
        found, target = None, (np.inf, -np.inf)
        if y is not None and labels and fault is None:
            found = Labels.of(y, given)
        elif y is not None and not labels:
            value = np.asarray(y, dtype=np.float64)
            target = float(np.min(value, initial=np.inf)), float(np.max(value, initial=-np.inf))
        return cls(
            rows=X.shape[0],
            columns=X.shape[1],
            dtype=X.dtype,
            sparse=sparse.issparse(X),
            plain=plain,
            weighted=weighted,
            **figures,
            weights=Weights.of(given),
            labels=found,
            target=target,
            fault=fault,
        )

    @classmethod
    def merged(cls, parts: Iterable[Census]) -> Census:
        """Return the summary of all rows of several parts; parts without rows are left out."""
        every = list(parts)
        first, used = every[0], [part for part in every if part.rows] or every[:1]
        for part in used:
            if part.columns != used[0].columns:
                raise ValueError(
                    f"X has {used[0].columns} columns in one part and {part.columns} in another"
                )
            if part.sparse != used[0].sparse:
                raise TypeError("X is sparse in one part and dense in another: convert one of them")
        begin, fault = 0, None
        for part in every:
            if fault is None and part.fault is not None:
                fault = replace(part.fault, row=part.fault.row + begin)
            begin += part.rows
        plain = Moments.merged([part.plain for part in used])
        same = all(part.weighted is part.plain for part in used)
        counted = [part.labels for part in used if part.labels is not None]
        return replace(
            first,
            rows=begin,
            columns=used[0].columns,
            dtype=np.result_type(*(part.dtype for part in used)),
            sparse=used[0].sparse,
            plain=plain,
            weighted=plain if same else Moments.merged([part.weighted for part in used]),
            low=np.min([part.low for part in used], axis=0),
            high=np.max([part.high for part in used], axis=0),
            stored=np.sum([part.stored for part in used], axis=0),
            stored_square=_summed(part.stored_square for part in used),
            largest_square=max(part.largest_square for part in used),
            nonzeros=sum(part.nonzeros for part in used),
            weights=Weights.merged([part.weights for part in used]),
            labels=Labels.merged(counted) if counted else None,
            target=(min(p.target[0] for p in used), max(p.target[1] for p in used)),
            fault=fault,
        )

    @cached_property
    def largest(self) -> float:
        """The largest absolute value."""
        return max(0.0, float(np.max(self.high, initial=0.0)), -float(np.min(self.low, initial=0)))

    @property
    def spread(self) -> Floats:
        """Scale of each column: its range, or the root mean square of the stored values."""
        if self.sparse:
            return np.asarray(np.sqrt(self.stored_square / np.maximum(self.stored, 1)))
        return self.high - self.low if self.rows else np.zeros(self.columns)

    @property
    def density(self) -> float:
        """Fraction of the values that are not zero."""
        return self.nonzeros / max(1, self.rows * self.columns)


def _as_floats(X: Any) -> Any:
    """Return rows as float32 or float64, sparse ones as CSR without repeated entries."""
    if sparse.issparse(X):
        X = X.tocsr()
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
    else:
        X = np.asarray(X)
    return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)


def _figures(X: Any) -> dict[str, Any]:
    """Return the figures of the values of one part that need no weights."""
    rows, columns = X.shape
    low, high = np.full(columns, np.inf), np.full(columns, -np.inf)
    if sparse.issparse(X):
        np.minimum.at(low, X.indices, X.data)
        np.maximum.at(high, X.indices, X.data)
        square = np.square(X.data, dtype=np.float64)
        of_rows = np.bincount(np.repeat(np.arange(rows), np.diff(X.indptr)), square, rows)
        return {
            "low": low,
            "high": high,
            "stored": np.bincount(X.indices, minlength=columns),
            "stored_square": np.bincount(X.indices, square, columns).astype(np.float64),
            "largest_square": float(np.max(of_rows, initial=0.0)),
            "nonzeros": int(np.count_nonzero(X.data)),
        }
    largest = 0.0
    for a in range(0, rows, _BLOCK_ROWS):
        block = np.asarray(X[a : a + _BLOCK_ROWS], dtype=np.float64)
        low = np.minimum(low, block.min(axis=0))
        high = np.maximum(high, block.max(axis=0))
        largest = max(largest, float(np.einsum("ij,ij->i", block, block).max()))
    return {
        "low": low,
        "high": high,
        "stored": np.full(columns, rows),
        "stored_square": np.zeros(columns),
        "largest_square": largest,
        "nonzeros": int(np.count_nonzero(X)),
    }


def _sum_of(values: Floats) -> float:
    """Return the sum of an array, which is rounded within blocks and once at the end."""
    return _total(values[a : a + _BLOCK_ROWS].sum() for a in range(0, len(values), _BLOCK_ROWS))


def _total(values: Iterable[float]) -> float:
    """Return the sum of numbers, rounded once; infinity if it overflows."""
    try:
        with np.errstate(over="ignore"):
            return fsum(values)
    except OverflowError:
        return float("inf")


def _summed(terms: Iterable[Floats]) -> Floats:
    """Return the sum of arrays of one shape, compensated (Neumaier's method)."""
    total, lost = np.zeros(()), np.zeros(())
    with np.errstate(over="ignore", invalid="ignore"):
        for term in terms:
            new = total + term
            larger = np.abs(total) >= np.abs(term)
            lost = lost + np.where(larger, (total - new) + term, (term - new) + total)
            total = new
    return np.asarray(total + lost)
