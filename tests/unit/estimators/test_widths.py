"""Widths of kernels."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from conftest import TOL
from support.machines import data
from widestreet._src.estimators.widths import best_width, coarse_gammas


def test_gammas_lie_around_the_inverse_squared_distances(rng):
    X, _ = data("svc")
    gammas = np.array(coarse_gammas(X, rng))
    square = np.square(X[:, None] - X).sum(axis=2)
    inverse = 1.0 / square[square > 0]
    assert gammas.min() < np.quantile(inverse, 0.1)
    assert gammas.max() > np.quantile(inverse, 0.9)
    np.testing.assert_allclose(gammas[1:] / gammas[:-1], 4.0, atol=TOL.twin)


@pytest.mark.parametrize("factor", [1e-3, 1e3])
def test_gammas_follow_the_scale_of_the_rows(factor):
    X, _ = data("svc")
    one, other = (coarse_gammas(scale * X, np.random.default_rng(1)) for scale in (1.0, factor))
    np.testing.assert_allclose(np.array(one) / factor**2, other, rtol=TOL.twin)


def test_gammas_of_sparse_and_of_equal_rows():
    X, _ = data("svc")
    dense = coarse_gammas(X, np.random.default_rng(1))
    np.testing.assert_allclose(
        coarse_gammas(sparse.csr_matrix(X), np.random.default_rng(1)), dense, rtol=TOL.twin
    )
    assert coarse_gammas(np.ones((5, 2)), np.random.default_rng(1)) == (1.0,)


def test_gammas_of_few_rows_do_not_depend_on_their_order():
    X, _ = data("svc", 40)
    one = coarse_gammas(X, np.random.default_rng(1))
    other = coarse_gammas(X[::-1], np.random.default_rng(2))
    np.testing.assert_allclose(one, other, rtol=TOL.twin)


def test_gammas_of_the_laplacian_kernel_lie_around_the_inverse_distances(rng):
    X, _ = data("svc")
    for rows in (X, sparse.csr_matrix(X)):
        gammas = np.array(coarse_gammas(rows, rng, absolute=True))
        distance = np.abs(X[:, None] - X).sum(axis=2)
        inverse = 1.0 / distance[distance > 0]
        assert gammas.min() < np.quantile(inverse, 0.1)
        assert gammas.max() > np.quantile(inverse, 0.9)


def distance_from(centre):
    return lambda gamma: abs(np.log2(gamma / centre))


def test_the_best_width_is_refined():
    best, errors = best_width(distance_from(9.0), [0.25, 1.0, 4.0, 16.0])
    assert best == 8.0
    assert set(errors) == {0.25, 1.0, 4.0, 8.0, 16.0, 32.0, 64.0}  # 16 was the end of the range


@pytest.mark.parametrize("centre", [100.0, 0.01])
def test_the_range_is_extended(centre):
    best, errors = best_width(distance_from(centre), [0.25, 1.0, 4.0])
    assert 0.5 < best / centre < 2.0
    assert errors[best] == min(errors.values())


def test_of_equal_widths_the_smoothest_is_taken():
    best, _ = best_width(lambda gamma: 1.0, [1.0])
    assert best == 0.5


def test_a_search_that_ends_early_has_the_best_so_far():
    def error(gamma):
        if gamma > 2.0:
            raise StopIteration
        return 1.0 / gamma

    assert best_width(error, [0.5, 1.0, 2.0, 4.0, 8.0])[0] == 2.0
    with pytest.raises(StopIteration):
        best_width(error, [4.0])
