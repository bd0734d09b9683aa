"""Combinations of rows: exact up to a last rounding, in every storage."""

from __future__ import annotations

import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from widestreet._src.kernels import accurate_combination
from widestreet._src.kernels.accurate_combination import (
    Combinations,
    combination,
    combination_error,
    combination_underflow,
)
from widestreet._src.kernels.rounding_bounds import UNIT
from widestreet._src.rows import DenseRows, as_rows


def exact(X, centre, coef) -> list[Fraction]:
    return [
        sum(
            (Fraction(float(c)) * (Fraction(float(x)) - Fraction(float(a))))
            for c, x in zip(coef, column, strict=True)
        )
        for column, a in zip(X.T, centre, strict=True)
    ]


def assert_within(found, rows, X, centre, coef) -> None:
    for value, true, x in zip(found, exact(X, centre, coef), X.T, strict=True):
        size = float(np.abs(coef) @ (np.abs(x) + np.abs(centre).max()))
        bound = combination_error(rows, len(coef)) * size + UNIT * abs(float(true))
        assert abs(Fraction(float(value)) - true) <= Fraction(bound)


@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.sampled_from([1.0, 1e12]))
def test_sums_that_cancel_have_all_digits(seed, n, C):
    rng = np.random.default_rng(seed)
    X = 1e3 + rng.standard_normal((n, 3))
    coef = C * rng.standard_normal(n)
    coef[-1] -= coef.sum() * rng.integers(2)  # sums that are zero, and others
    for rows in (as_rows(X), as_rows(X, centred=True), as_rows(sparse.csr_array(X))):
        centre = np.zeros(3) if rows.centre is None else rows.centre
        assert_within(combination(rows, None, coef), rows, X, centre, coef)


def test_some_rows_are_those_of_a_selection(rng):
    X, coef = rng.standard_normal((50, 4)), rng.standard_normal(7)
    index = rng.permutation(50)[:7]
    rows = as_rows(X, centred=True)
    some = as_rows(X[index], centre=rows.centre)
    assert np.array_equal(combination(rows, index, coef), combination(some, None, coef))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_parts_are_added_up(rng, monkeypatch, form):
    X = 1e3 + rng.standard_normal((70, 3))
    rows, coef = as_rows(form(X)), rng.standard_normal(70)
    coef[0] -= coef.sum()
    for name in ("_NONZEROS_AT_ONCE", "_VALUES_AT_ONCE"):
        monkeypatch.setattr(accurate_combination, name, 90)  # 30 rows
    assert_within(combination(rows, None, coef), rows, X, np.zeros(3), coef)


def test_parts_of_sparse_rows_take_the_memory_of_few_columns(monkeypatch):
    columns, rows = 100_000, as_rows(sparse.random_array((400, 100_000), density=1e-4).tocsr())
    monkeypatch.setattr(accurate_combination, "_NONZEROS_AT_ONCE", 200)
    tracemalloc.start()
    try:
        combination(rows, None, np.ones(400))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 16 * 8 * columns


def test_what_rounding_removed_from_the_rows_is_added():
    rows = DenseRows(np.array([[1.0], [1.0]]), low=np.array([[1e-20], [0.0]]))
    assert combination(rows, None, np.array([1.0, -1.0])) == [1e-20]


@pytest.mark.parametrize("X", [np.ones((3, 2)), sparse.csr_array(np.ones((3, 2)))])
def test_no_coefficients_give_zero(X):
    assert not combination(as_rows(X), None, np.zeros(3)).any()


def test_the_last_combinations_are_remembered(rng):
    rows, index, coef = as_rows(rng.standard_normal((9, 2))), np.array([3, 1]), np.ones((1, 2))
    kept = Combinations(rows)
    first = kept.of(index, coef)
    assert kept.of(index.copy(), coef.copy()) is first
    assert kept.of(index[::-1].copy(), 2 * coef) is not first
    assert np.array_equal(kept.of(None, np.ones((1, 9)))[0], combination(rows, None, np.ones(9)))


def test_products_with_a_combination_are_within_their_error(rng):
    X = 1e3 + rng.standard_normal((40, 3))
    coef = rng.standard_normal(40)
    coef[0] -= coef.sum()
    kept = Combinations(as_rows(X))
    size = float(np.abs(coef) @ np.linalg.norm(X, axis=1))
    w = kept.of(None, coef[None])[0]
    for x in X[:5]:
        true = sum(
            Fraction(float(a)) * b for a, b in zip(x, exact(X, np.zeros(3), coef), strict=True)
        )
        bound = kept.error(None, coef, size, 3) * float(np.linalg.norm(x))
        assert abs(Fraction(float(x @ w)) - true) <= Fraction(bound)


MAGNITUDES = st.sampled_from([5e-324, 1e-320, 1e-308, 1e-300, 1e-160, 1e-100, 1.0, 1e100, 1e290])


@given(st.integers(0, 2**32 - 1), st.integers(1, 30), MAGNITUDES, MAGNITUDES)
def test_bounds_hold_for_numbers_that_are_tiny_or_huge(seed, n, large, C):
    rng = np.random.default_rng(seed)
    X, coef = large * rng.standard_normal((n, 2)), C * rng.standard_normal(n)
    for rows in (as_rows(X), as_rows(X, centred=True), as_rows(sparse.csr_array(X))):
        centre = np.zeros(2) if rows.centre is None else rows.centre
        with np.errstate(all="ignore"):
            found = combination(rows, None, coef)
        for value, true, x, a in zip(found, exact(X, centre, coef), X.T, centre, strict=True):
            if not np.isfinite(value):
                assert large * C * n > 1e300
                continue
            size = sum(
                abs(Fraction(float(c))) * (abs(Fraction(float(v))) + abs(Fraction(float(a))))
                for c, v in zip(coef, x, strict=True)
            )
            bound = Fraction(combination_error(rows, n)) * size + Fraction(UNIT) * abs(true)
            bound += Fraction(combination_underflow(n))
            assert abs(Fraction(float(value)) - true) <= bound
