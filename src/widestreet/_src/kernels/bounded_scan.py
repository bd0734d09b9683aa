"""Sums over an RBF kernel of dense rows in float32, with a tight bound on the error of each.

Rows are x' = sqrt(2 gamma log2(e)) (x - centre), rounded once, to float32. The exponent of a value
K = 2^z is z = x'.s' - |x'|^2/2 - |s'|^2/2. The core (core/kernels/bounded_scan.hpp) adds up the
products in parts of 32 features from zero, then the parts, then both norms, and sums the values in
float64. Errors, in units u = 2^-24 of rounding:

norms       They are rounded to a common grid on which their sum is exact. What rounding removes is
            a factor of the coefficient or of the sum, both in float64.
products    Each addition to a partial sum is off by u times the new sum, which is a product x''.s''
            of ranges of features. Without fused multiply-add each product is one more range.
exponent    The last addition is off by u |z|.
rows        z is off by |x' - s'| (e + e'), where e and e' are the norms of what rounding removed.
exponential Its relative error is below `_EXPONENTIAL`, found by visiting every argument.

All of these are relative to K, times log(2) for an exponent. They are added up with weights |c_j|.
With V = sum_j |c_j| K_ij, which the core computes beside the score, and W = sum_j |c_j|:

- -K log(K) and K sqrt(-log(K)) are concave, so by Jensen's inequality
  sum_j |c_j| K_ij |z_ij| <= V log2(W / V), and the same for the square root of |z|. These fall
  where V is near to W, so that log2(W / V) gets what the computed V may be too large by.
- By Cauchy's inequality and K <= 1, sum_j |c_j| K_ij |x''.s''_j| <= sqrt(V x'' M x''), where
  M = sum_j |c_j| s''_j s''_j^T, hence at most |x''| sqrt(V trace(M)). For values far below one
  it is less: at most V |x''| max_j |s''_j|.

Products of errors are part of a factor 1.01: no exponent is off by more than `_LARGEST_ERROR`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import ceil, e, frexp, log, log2, sqrt
from typing import Self

import numpy as np
from numpy.typing import NDArray

from widestreet import _core
from widestreet._src.arrays import Floats, Ints
from widestreet._src.kernels.rounding_bounds import UNIT_FLOAT32
from widestreet._src.rows import DenseRows

_EXPONENTIAL, _EXPONENTIAL_UNFUSED = 6.8e-8, 9.1e-8
_LARGEST_ERROR = 0.02
_SECOND_ORDER = 1.01
_SIZES = 1.026  # factor that covers the error of V: 2^.02 of exponents, 2^(1/64) of norms
_BITS = 0.076  # more than log2 of its square, by which V may be too large
_TINY = float(np.finfo(np.float32).tiny)  # the least kernel value, and more than lost products
_PART = 32  # features that the core adds up in sequence (kTerms)
_VALUES_AT_ONCE = 1 << 20  # of rows in float64
_MOST_FEATURES = 128  # up to which the product with M is small against the scan


@dataclass(frozen=True, eq=False)
class Operands:
    """Rows as the core multiplies them.

    Attributes
    ----------
    features : ndarray of float32, shape (m, d)
        The rows x'.
    start : ndarray of float32, shape (m,)
        -|x'|^2 / 2 on the grid.
    factor : ndarray of shape (m,)
        2 to the power of what the grid leaves of it.
    error : ndarray of shape (m,)
        Norm of what rounding removed from the row.
    """

    features: NDArray[np.float32]
    start: NDArray[np.float32]
    factor: Floats
    error: Floats

    @classmethod
    def of(cls, rows: DenseRows, index: Ints, scale: float, grid: float, threads: int = 1) -> Self:
        """Return some rows, of which `grid` is a power of two: the step of the grid of norms."""
        count = len(index)
        features = np.empty((count, rows.shape[1]), dtype=np.float32)
        found = cls(features, np.empty(count, np.float32), np.empty(count), np.empty(count))
        _core.round_rows(
            rows.native,
            index,
            scale,
            grid,
            features=features,
            start=found.start,
            factor=found.factor,
            error=found.error,
            threads=threads,
        )
        return found


@dataclass(frozen=True, eq=False)
class BoundedScan:
    """Sums over an RBF kernel between dense rows and vectors with coefficients.

    Attributes
    ----------
    gamma : float
    left : DenseRows
    vectors : Operands
    coef : ndarray
    grid : float
        Step of the grid of norms.
    threads : int
    """

    gamma: float
    left: DenseRows
    vectors: Operands
    coef: Floats
    grid: float
    threads: int

    @classmethod
    def of(
        cls,
        gamma: float,
        left: DenseRows,
        right: DenseRows,
        J: Ints,
        coef: Floats,
        *,
        longest: float,
        threads: int,
    ) -> Self | None:
        """Return the scan, or None if rows are so long that there is no bound.

        `longest` bounds |x|^2 of all rows.
        """
        half = gamma * log2(e) * longest
        roundings = sum(map(len, ranges(left.shape[1]).values())) + 4
        if not 2 * half * roundings * UNIT_FLOAT32 <= _LARGEST_ERROR or not coef.any():
            return None
        grid = 2.0 ** (max(frexp(1.01 * half)[1], -60) - 22)
        vectors = Operands.of(right, J, _scale(gamma), grid, threads)
        return cls(gamma, left, vectors, coef, grid, threads)

    @cached_property
    def _size(self) -> Floats:
        """Sizes of the coefficients relative to the largest."""
        size = np.abs(self.coef)
        return np.asarray(size / size.max())

    @cached_property
    def _ranges(self) -> Ranges:
        return Ranges.of(self.vectors.features, self._size)

    def sums(self, I: Ints) -> tuple[Floats, Floats]:
        """Return the sums of some left rows, and bounds on their errors."""
        rows = Operands.of(self.left, I, _scale(self.gamma), self.grid, self.threads)
        found, sizes = np.zeros(len(I)), np.zeros(len(I))
        _core.bounded_scan(
            left=rows.features,
            left_start=rows.start,
            right=self.vectors.features,
            right_start=self.vectors.start,
            coef=self.coef * self.vectors.factor,
            weight=self._size.astype(np.float32),
            sums=found,
            sizes=sizes,
            threads=self.threads,
        )
        return found * rows.factor, float(np.abs(self.coef).max()) * self._errors(rows, sizes)

    def _errors(self, rows: Operands, sizes: Floats) -> Floats:
        """Bound the errors of the sums with coefficients of at most one, given V."""
        total = float(self._size.sum())
        lost = _TINY * (total + len(self._size))
        V = _SIZES * sizes + lost
        bits = np.maximum(np.log2(total / V), 0.0) + _BITS
        exponent = UNIT_FLOAT32 * (self._ranges.bound(rows.features, V, self.threads) + V * bits)
        apart = np.sqrt(2.0 * bits) * (rows.error + self.vectors.error.max())
        power = _EXPONENTIAL if fused() else _EXPONENTIAL_UNFUSED
        relative = power + log(2) * apart
        return np.asarray(_SECOND_ORDER * (log(2) * exponent + V * relative) + lost)


@dataclass(frozen=True, eq=False)
class Ranges:
    """Ranges of features whose products with vectors are partial sums of an exponent.

    Attributes
    ----------
    ends : list
        First feature of each range, and the ends of ranges that begin there.
    longest, traces : list of ndarray
        Largest norm of a vector in each range, and trace of M there.
    moments : ndarray of float32, shape (d, d), or None
        M, its parts above the diagonal doubled and those below it left out.
    """

    ends: list[tuple[int, Ints]]
    longest: list[Floats]
    traces: list[Floats]
    moments: NDArray[np.float32] | None

    @classmethod
    def of(cls, vectors: NDArray[np.float32], size: Floats) -> Self:
        """Return the ranges for vectors and the sizes of their coefficients."""
        d = vectors.shape[1]
        ends = [(a, np.array(b)) for a, b in ranges(d).items()]
        longest, traces = ([np.zeros(len(b)) for _, b in ends] for _ in range(2))
        moments = np.zeros((d, d) if d <= _MOST_FEATURES else 0)
        for part in _parts(vectors):
            x = vectors[part].astype(np.float64)
            for (a, b), norm, trace in zip(ends, longest, traces, strict=True):
                squares = np.cumsum(x[:, a : b[-1]] ** 2, axis=1)[:, b - a - 1]
                np.maximum(norm, np.sqrt(squares.max(axis=0)), out=norm)
                trace += size[part] @ squares
            if moments.size:
                moments += (x.T * size[part]) @ x
        twice = (
            (np.triu(moments) + np.triu(moments, 1)).astype(np.float32) if moments.size else None
        )
        return cls(ends, longest, traces, twice)

    def bound(self, x: NDArray[np.float32], V: Floats, threads: int) -> Floats:
        """Sum sum_j |c_j| K_ij |x''.s''_j| over the ranges, for each row."""
        begin, ends = zip(*self.ends, strict=True)
        return _core.bound_ranges(
            x,
            begin=np.array(begin),
            last=np.cumsum([len(b) for b in ends]),
            end=np.concatenate(ends),
            longest=np.concatenate(self.longest),
            trace=np.concatenate(self.traces),
            moments=self.moments,
            size=V,
            threads=threads,
        )


def ranges(features: int) -> dict[int, list[int]]:
    """Return the ranges of features that are partial sums, as ends by their first feature."""
    ends = {a: list(range(a + 1, min(a + _PART, features) + 1)) for a in range(0, features, _PART)}
    if features > _PART:
        ends[0] += [min(_PART * k, features) for k in range(2, ceil(features / _PART) + 1)]
    if not fused():
        for a in range(features):
            ends[a] = [a + 1, *ends.get(a, [])]
    return ends


def fused() -> bool:
    """Return whether the core multiplies and adds with one rounding."""
    return _core.instruction_set() != "portable"


def _parts(rows: NDArray[np.float32]) -> Iterator[slice]:
    """Yield slices of rows whose values are few enough for arrays of float64."""
    step = max(1, _VALUES_AT_ONCE // max(1, rows.shape[1]))
    for a in range(0, len(rows), step):
        yield slice(a, min(a + step, len(rows)))


def _scale(gamma: float) -> float:
    return sqrt(2.0 * gamma * log2(e))
