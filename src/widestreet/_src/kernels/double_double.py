"""Numbers as unevaluated sums of two float64 numbers, with about 106 binary digits.

Reference: Dekker, A floating-point technique for extending the available precision, Numerische
Mathematik 18 (1971).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from widestreet._src.arrays import Floats

_SPLITTER = 2.0**27 + 1.0  # halves the digits of a float64 number


class Pair(NamedTuple):
    """Arrays of numbers high + low, where low is at most a rounding error of high."""

    high: Floats
    low: Floats

    def plus(self, other: Floats) -> Pair:
        """Return the sum with float64 numbers."""
        total, error = two_sum(self.high, other)
        return Pair(total, error + self.low)

    def times(self, other: Pair) -> Pair:
        """Return the product with other pairs."""
        product, error = two_product(self.high, other.high)
        return Pair(product, error + (self.high * other.low + self.low * other.high))


def two_sum(a: Floats, b: Floats) -> Pair:
    """Return a sum and its rounding error."""
    total = a + b
    other = total - a
    return Pair(total, (a - (total - other)) + (b - other))


def two_product(a: Floats, b: Floats) -> Pair:
    """Return a product and its rounding error."""
    product = a * b
    a_high, a_low = _halves(a)
    b_high, b_low = _halves(b)
    error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return Pair(product, error)


def column_sums(values: Floats, errors: Floats) -> Pair:
    """Return the sums of the columns of a block of pairs."""
    low = errors.sum(axis=0)
    while len(values) > 1:
        half, last = len(values) // 2, values[2 * (len(values) // 2) :]
        values, errors = two_sum(values[:half], values[half : 2 * half])
        low += errors.sum(axis=0)
        values = np.concatenate([values, last]) if len(last) else values
    return Pair(values[0], low)


def _halves(a: Floats) -> tuple[Floats, Floats]:
    """Return two numbers of half the digits, whose sum is a."""
    scaled = _SPLITTER * a
    high = scaled - (scaled - a)
    return high, a - high
