"""Factors of kernel matrices: equal up to rounding, refused where there is none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import TOL
from widestreet._src.engines.interior.pivoted_cholesky import (
    NotPositive,
    RankTooLarge,
    pivoted_cholesky,
)
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import RBF, Linear, Precomputed
from widestreet._src.kernels.poll import Poll
from widestreet._src.rows import KernelRows, as_rows


def matrix(K: np.ndarray) -> Gram:
    return Gram(Precomputed(), KernelRows(K, np.arange(len(K))))


@given(st.integers(0, 2**32 - 1), st.integers(1, 150), st.integers(1, 6))
def test_the_factor_has_the_rank_and_the_values_of_the_matrix(seed, n, d):
    X = np.random.default_rng(seed).standard_normal((n, d))
    V = pivoted_cholesky(Gram(Linear(), as_rows(X)), n, Poll())
    assert V.shape[1] <= min(n, d)
    assert np.abs(V @ V.T - X @ X.T).max() <= TOL.kernel_float64 * np.square(X).sum(axis=1).max()


def test_equal_rows_add_nothing_to_the_rank(rng):
    X = np.repeat(rng.standard_normal((5, 2)), 20, axis=0)
    assert pivoted_cholesky(Gram(RBF(1.0), as_rows(X)), 100, Poll()).shape == (100, 5)


def test_a_zero_matrix_has_rank_zero():
    assert pivoted_cholesky(matrix(np.zeros((4, 4))), 4, Poll()).shape == (4, 0)


def test_a_rank_beyond_the_limit_is_refused(rng):
    with pytest.raises(RankTooLarge):
        pivoted_cholesky(Gram(RBF(10.0), as_rows(rng.standard_normal((300, 5)))), 100, Poll())


@pytest.mark.parametrize(
    "K", [np.diag([1.0, -1.0]), np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([[1.0, 2.0], [2, 1]])]
)
def test_a_matrix_that_is_not_positive_semidefinite_is_refused(K):
    with pytest.raises(NotPositive):
        pivoted_cholesky(matrix(K), 2, Poll())
