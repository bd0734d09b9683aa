"""Arithmetic with pairs: errors of sums and products are kept."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from widestreet._src.kernels.double_double import Pair, column_sums, two_product, two_sum

numbers = st.floats(-1e60, 1e60).filter(lambda x: x == 0 or abs(x) > 1e-60)


def exact(pair: Pair) -> Fraction:
    return Fraction(float(pair.high)) + Fraction(float(pair.low))


@given(numbers, numbers)
def test_a_sum_and_its_error_are_exact(a, b):
    assert exact(two_sum(np.array(a), np.array(b))) == Fraction(a) + Fraction(b)


@given(numbers, numbers)
def test_a_product_and_its_error_are_exact(a, b):
    assert exact(two_product(np.array(a), np.array(b))) == Fraction(a) * Fraction(b)


@given(st.lists(numbers, min_size=3, max_size=3))
def test_operations_with_pairs_have_a_hundred_digits(values):
    a, b, c = map(np.array, values)
    product = two_product(a, b)
    wide = Fraction(float(a)) * Fraction(float(b))
    small = Fraction(2) ** -100
    total = product.plus(c)
    size = abs(wide) + abs(Fraction(float(c)))
    assert abs(exact(total) - wide - Fraction(float(c))) <= small * size
    square = product.times(product)
    if np.isfinite(square.high) and abs(wide) > Fraction(1, 10**40):
        assert abs(exact(square) - wide**2) <= small * wide**2


@given(st.lists(numbers, min_size=1, max_size=33))
def test_sums_of_columns_keep_what_cancels(values):
    column = np.array([*values, *(-x for x in values), 1.0])[:, None]
    high, low = column_sums(column, np.zeros_like(column))
    size = 2 * sum(abs(Fraction(x)) for x in values)
    assert abs(exact(Pair(high[0], low[0])) - 1) <= Fraction(2) ** -90 * size
