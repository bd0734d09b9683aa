"""Rows as a bounded scan multiplies them, and bounds on its partial sums, beside NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from support import native
from widestreet import _core

pytestmark = pytest.mark.numeric

GRID = 2.0**-17
every_number = pytest.mark.parametrize("threads", [1, 3])


@every_number
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_are_rounded_once(dtype, threads, rng):
    X, index = rng.normal(size=(1500, 7)).astype(dtype), rng.permutation(1500)[:1100]
    features, start = np.empty((1100, 7), np.float32), np.empty(1100, np.float32)
    factor, error = np.empty((2, 1100))
    _core.round_rows(native.rows(X), index, 1.7, GRID, features, start, factor, error, threads)
    exact = X[index].astype(np.float64) * 1.7
    assert np.array_equal(features, exact.astype(np.float32))
    np.testing.assert_allclose(error, np.linalg.norm(exact - features, axis=1), rtol=TOL.exact)
    half = -0.5 * np.square(features, dtype=np.float64).sum(axis=1)
    on_grid = start / GRID
    assert np.array_equal(on_grid, np.round(on_grid))
    np.testing.assert_allclose(start + np.log2(factor), half, rtol=TOL.exact)


def bound(x, begin, ends, longest, trace, M, V):
    """The bound by its definition, group by group."""
    total, root = np.zeros(len(x)), np.sqrt(V)
    for a, b, long, of_m in zip(begin, ends, longest, trace, strict=True):
        part = x[:, a : b[-1]].astype(np.float64)
        squares = np.cumsum(part**2, axis=1)[:, b - a - 1]
        norms = np.sqrt(squares)
        worst = np.minimum(V * (norms @ long), root * (norms @ np.sqrt(of_m)))
        if M is not None:
            block = M[a : b[-1], a : b[-1]]
            forms = np.cumsum(part * (part @ block), axis=1)[:, b - a - 1]
            forms += 2.0**-23 * (len(block) + 8) * of_m * squares
            worst = np.minimum(worst, root * np.sqrt(forms).sum(axis=1))
        total += worst
    return total


@every_number
@pytest.mark.parametrize("moments", [False, True])
def test_bounds_of_ranges(moments, threads, rng):
    begin, ends = [0, 4], [np.array([1, 2, 4, 9]), np.array([5, 5, 9])]
    x, V = rng.normal(size=(1200, 9)).astype(np.float32), rng.random(1200)
    longest, trace = ([rng.random(len(b)) for b in ends] for _ in range(2))
    S = rng.normal(size=(30, 9))
    M = S.T @ S
    M = (np.triu(M) + np.triu(M, 1)).astype(np.float32) if moments else None
    found = _core.bound_ranges(
        x,
        np.array(begin),
        np.cumsum([len(b) for b in ends]),
        np.concatenate(ends),
        np.concatenate(longest),
        np.concatenate(trace),
        M,
        V,
        threads,
    )
    expected = bound(x, begin, ends, longest, trace, M, V)
    np.testing.assert_allclose(found, expected, rtol=TOL.exact)


def test_malformed_ranges_are_refused(rng):
    x, one = np.ones((2, 3), np.float32), np.ones(1)

    def call(begin, last, end):
        arrays = (np.array(value) for value in (begin, last, end))
        return _core.bound_ranges(x, *arrays, np.ones(len(end)), np.ones(len(end)), None, one, 1)

    for begin, last, end in (
        ([0], [1], [4]),
        ([0], [2], [2, 1]),
        ([-1], [1], [1]),
        ([2], [1], [1]),
    ):
        with pytest.raises(ValueError, match=r"leaves the features|has no range"):
            call(begin, last, end)
    with pytest.raises(ValueError, match="belongs to a group"):
        call([0], [1], [1, 2])
    with pytest.raises(ValueError, match="one size per row"):
        call([0], [1], [1])
