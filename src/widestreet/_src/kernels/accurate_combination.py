"""Linear combinations of rows, with nearly all digits.

The scores of a linear kernel are x.w with w = sum_j coef_j s_j: one vector takes the place of all
kernel values. If most coefficients are at their bounds, w is much smaller than its terms. Products
and sums are therefore computed as pairs of float64 numbers, so that w has no other error than its
last rounding: those of dense rows in blocks (double_double.py), those of sparse rows one nonzero
after the other (core/kernels/sparse_combination), in parts between which signals are handled.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import fsum, sqrt

import numpy as np

from widestreet import _core
from widestreet._src.arrays import Floats, Ints
from widestreet._src.kernels.double_double import Pair, column_sums, two_product
from widestreet._src.kernels.rounding_bounds import TINY, UNIT
from widestreet._src.rows import Vectors

_VALUES_AT_ONCE = 1 << 15  # of a block of dense rows: all arrays of it stay in the cache
_LEAST_ROWS = 16  # of a block
_NONZEROS_AT_ONCE = 1 << 24  # of sparse rows in one call, which takes some hundredths of a second
_ROUNDINGS_OF_TERM = 32  # operations with a product and its sum, at most
_ERROR_OF_PAIRS = 2.0**-80  # of the sum of absolute terms: far above that of sums of pairs
_ERROR_OF_TERM = 2.0**-103  # that each nonzero of a column may add


def combination(rows: Vectors, index: Ints | None, coef: Floats) -> Floats:
    """Return sum_j coef_j (row_j - centre), rounded to float64.

    Parameters
    ----------
    rows : Vectors
    index : ndarray or None
        The rows j; None means all.
    coef : ndarray
    """
    data, used = rows.data, np.flatnonzero(coef)
    index, coef = (used if index is None else index[used]), coef[used]
    terms = [Pair(np.zeros(data.shape[1]), np.zeros(data.shape[1]))]
    for part in _parts(rows, len(index)):
        if rows.sparse:
            more = Pair(*_core.sparse_combination(rows.native, index[part], coef[part]))
            terms = [_sum_of([*terms, more])]  # of as many columns as there are words
        else:
            block = np.asarray(data[index[part]], dtype=np.float64)
            terms.append(column_sums(*two_product(block, coef[part, None])))
    removed = getattr(rows, "low", None)
    if removed is not None:
        terms.append(Pair(removed[index].T @ coef, np.zeros(data.shape[1])))
    if rows.centre is not None:
        high = fsum(coef.tolist())
        low = fsum([*coef.tolist(), -high])
        terms.append(two_product(rows.centre, np.array(-high)))
        terms.append(two_product(rows.centre, np.array(-low)))
    total = _sum_of(terms)
    return total.high + total.low


def _sum_of(terms: list[Pair]) -> Pair:
    """Return the sum of pairs."""
    return column_sums(*map(np.array, zip(*terms, strict=True)))


def _parts(rows: Vectors, count: int) -> list[slice]:
    """Return the parts of so many rows whose terms are added up in one call."""
    most, per_row = _VALUES_AT_ONCE, float(rows.shape[1])
    if rows.sparse:
        most, per_row = _NONZEROS_AT_ONCE, rows.data.nnz / max(1, rows.shape[0])
    step = max(_LEAST_ROWS, int(most / max(1.0, per_row)))
    return [slice(a, a + step) for a in range(0, count, step)]


def combination_error(rows: Vectors, terms: int) -> float:
    """Bound the error of a combination of so many rows, without its last rounding.

    The bound is relative to the sum of absolute terms.
    """
    return _ERROR_OF_PAIRS + (terms * _ERROR_OF_TERM if rows.sparse else 0.0)


def combination_underflow(terms: int) -> float:
    """Bound the error of each value of a combination of so many rows by underflow."""
    return _ROUNDINGS_OF_TERM * (terms + 4) * TINY


@dataclass(frozen=True, eq=False)
class Combinations:
    """Combinations of the same rows; the last ones are remembered."""

    rows: Vectors
    _last: list[tuple[Ints | None, Floats, Floats]] = field(default_factory=list)

    def of(self, index: Ints | None, coef: Floats) -> Floats:
        """Return one combination for each line of `coef`. Sets: the last ones."""
        for before, lines, found in self._last[:]:
            same = before is index
            if before is not None and index is not None:
                same = np.array_equal(before, index)
            if same and np.array_equal(lines, coef):
                return found
        found = np.array([combination(self.rows, index, line) for line in coef])
        self._last[:] = [(None if index is None else index.copy(), coef.copy(), found)]
        return found

    def error(self, index: Ints | None, coef: Floats, size: float, additions: float) -> float:
        """Bound the error of x.w for |x| = 1, where w is a combination.

        Parameters
        ----------
        index : ndarray or None
        coef : ndarray
        size : float
            Sum of the lengths of all terms of w, relative to the centre.
        additions : float
            Longest chain of additions of an inner product.
        """
        length = float(np.linalg.norm(self.of(index, coef[None])))
        product = (additions + 6) * UNIT * length
        removed = self.rows.centre  # subtracted from sums of uncentred rows, or from the rows
        removed = getattr(self.rows, "origin", None) if removed is None else removed
        if removed is not None:
            size += 2.0 * float(np.linalg.norm(removed) * np.abs(coef).sum())
        underflow = combination_underflow(len(coef)) * sqrt(self.rows.shape[1])
        return 1.01 * (product + combination_error(self.rows, len(coef)) * size) + underflow
