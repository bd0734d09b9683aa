"""The Cholesky factor that gains and loses rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from widestreet._core import Factor

pytestmark = pytest.mark.numeric


def lower(factor: Factor) -> np.ndarray:
    L = np.empty((factor.size, factor.size))
    factor.store(L)
    return L.T


def definite(n: int, rng: np.random.Generator) -> np.ndarray:
    Z = rng.normal(size=(n, n))
    return Z @ Z.T + np.eye(n)


@given(seed=st.integers(0, 2**32 - 1), steps=st.integers(1, 120))
def test_any_history_of_rows_leaves_the_factor_of_those_that_are_there(seed, steps):
    rng = np.random.default_rng(seed)
    A, factor, there = definite(20, rng), Factor(), []
    for _ in range(steps):
        missing = np.setdiff1d(np.arange(20), there)
        if there and (rng.random() < 0.45 or len(missing) == 0):
            at = int(rng.integers(len(there)))
            factor.remove(at)
            there.pop(at)
        else:
            row = int(rng.choice(missing))
            pivot = factor.append(np.ascontiguousarray(A[there, row]), A[row, row], 1e-12)
            assert pivot > 0
            there.append(row)
        L = lower(factor)
        np.testing.assert_allclose(L @ L.T, A[np.ix_(there, there)], rtol=0, atol=1e-11)
        assert (np.triu(L, 1) == 0).all()


def test_the_bordered_system_is_that_of_the_dense_solver(rng):
    sigma, factor, group = 0.7, Factor(), np.arange(12, dtype=np.uint8) % 2
    K, A = definite(12, rng), np.array([group == 0, group == 1], dtype=np.float64)
    factor.load(np.ascontiguousarray(np.linalg.cholesky(K + sigma * A.T @ A).T))
    first, second = rng.normal(size=12), rng.normal(size=2)
    x, m = np.empty(12), np.empty(2)
    factor.solve_bordered(first, second, group, sigma, x, m)
    expected = np.linalg.solve(
        np.block([[K, A.T], [A, np.zeros((2, 2))]]), np.concatenate([first, second])
    )
    np.testing.assert_allclose(np.concatenate([x, m]), expected, rtol=0, atol=1e-12)


def test_a_row_that_adds_nothing_is_not_added(rng):
    A, factor = definite(6, rng), Factor()
    factor.load(np.ascontiguousarray(np.linalg.cholesky(A).T))
    assert factor.append(np.ascontiguousarray(A[2]), A[2, 2], 1e-10) <= 1e-10 * A[2, 2]
    assert factor.size == 6


def test_a_copy_goes_its_own_way(rng):
    A, factor = definite(6, rng), Factor()
    factor.load(np.ascontiguousarray(np.linalg.cholesky(A).T))
    other = factor.copy()
    other.remove(0)
    assert (factor.size, other.size) == (6, 5)
    np.testing.assert_allclose(lower(factor), np.linalg.cholesky(A), atol=1e-13)


@pytest.mark.parametrize(
    "call",
    [
        lambda f: f.remove(3),
        lambda f: f.remove(-1),
        lambda f: f.append(np.zeros(2), 1.0, 0.0),
        lambda f: f.load(np.zeros((2, 3))),
        lambda f: f.store(np.zeros((2, 2))),
    ],
)
def test_refuses_what_does_not_fit(call):
    factor = Factor()
    factor.load(np.eye(3))
    with pytest.raises(ValueError, match=r"needed|range|square"):
        call(factor)
