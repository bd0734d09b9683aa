"""Kernel values by the core: when float32 will do, and how long and similar rows are treated."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from conftest import TOL
from reference import kernels as reference
from support.native import sample
from widestreet._src.kernels import native
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import RBF, Laplacian, Linear, Poly
from widestreet._src.kernels.native import NativeBackend
from widestreet._src.rows import as_rows

pytestmark = pytest.mark.numeric


def backend(kernel, X) -> NativeBackend:
    rows = as_rows(X)
    return NativeBackend(kernel, rows, rows, 1)


@pytest.mark.parametrize(
    ("kernel", "scale", "fits"),
    [
        (RBF(0.5), 1.0, True),
        (RBF(1e-38), 1.0, False),
        (Laplacian(1e38), 1.0, False),
        (Linear(), 1.0, True),
        (Linear(), 1e16, False),
        (Poly(gamma=1.0, coef0=1.0, degree=9), 1e4, False),
    ],
)
def test_float32_must_hold_values_and_factors(kernel, scale, fits):
    assert backend(kernel, scale * sample(20, 5)).fits_float32 == fits


@pytest.mark.parametrize(("double", "part"), [(False, 1e-3), (True, 1e-12)])
def test_only_distances_of_short_rows_have_a_bound_of_scans(double, part):
    X, every, coef = sample(20, 5), np.arange(20), np.ones(20)
    bound = backend(RBF(0.5), X).scan_bound(every, every, coef, double=double)
    assert bound is not None
    assert (bound[1] < part).all()
    assert backend(RBF(0.5), 1e3 * X).scan_bound(every, every, coef, double=double) is None
    assert backend(Linear(), X).scan_bound(every, every, coef, double=double) is None


def test_one_long_row_does_not_widen_the_bounds_of_the_others():
    X = sample(20, 5)
    one = X.copy()
    one[0] *= 10.0
    every, coef = np.arange(20), np.ones(20)
    short, long = (
        Gram(RBF(0.1), as_rows(rows)).score_errors(None, every, coef) for rows in (X, one)
    )
    assert (long[1:] < 5.0 * short[1:]).all()


@pytest.mark.parametrize("features", [3, 40, 300])
def test_a_long_row_does_not_loosen_the_bounds_of_the_others(features, rng):
    X, every = rng.normal(size=(200, features)), np.arange(200)
    coef = rng.normal(size=200)
    gamma = 0.5 / features
    _, before = Gram(RBF(gamma), as_rows(X)).rough_scan(every, every, coef)
    longer = X.copy()
    longer[0] *= 10.0
    _, after = Gram(RBF(gamma), as_rows(longer)).rough_scan(every, every, coef)
    assert (after[1:] <= 2.0 * before[1:]).all()


@pytest.mark.parametrize("scale", [1.0, 1e3, 1e6])
def test_distances_between_long_rows_keep_their_digits(scale, rng):
    """Rows far from the origin and near each other."""
    X = scale + rng.normal(size=(20, 5))
    out = np.empty((20, 20))
    backend(RBF(0.1), X).fill(None, None, out, None)
    K = reference.matrix("rbf", X, gamma=0.1)
    np.testing.assert_allclose(out, K, rtol=0, atol=TOL.kernel_float64 * native.FAR)


def test_similar_rows_are_put_together(rng):
    """Two patterns of nonzeros in turn: the order has one after the other."""
    X = np.zeros((200, 40))
    X[::2, :5], X[1::2, 5:10] = rng.random((100, 5)) + 1, rng.random((100, 5)) + 1
    found = backend(RBF(0.5), sparse.csr_matrix(X))
    order = found.together(None, 1000)
    assert sorted(order) == list(range(200))
    assert np.count_nonzero(np.diff(order % 2)) == 1
    some = rng.permutation(200)[:100]
    assert np.count_nonzero(np.diff(some[found.together(some, 1000)] % 2)) == 1
    assert found.together(None, 10) is None
    assert found.together(np.arange(10), 1000) is None
    assert backend(RBF(0.5), X[:, :10]).together(None, 1000) is None


def test_few_rows_that_face_others_keep_the_digits_of_combinations(rng):
    """Rows of a shard do, however few; rows of a prediction do not: it takes longer."""
    X, S = 1e6 + rng.random((10, 3)), 1e6 + rng.random((1000, 3))
    coef = rng.standard_normal(1000)
    coef -= coef.mean()
    shard = backend(Linear(), X).facing(as_rows(S))
    prediction = NativeBackend(Linear(), as_rows(X), as_rows(S), 1)
    every = np.arange(1000)
    small, large = (one.score_errors(None, every, coef) for one in (shard, prediction))
    assert (1e3 * small < large).all()


def test_more_columns_cost_more(rng):
    few, many = (backend(RBF(0.5), rng.random((10, d))).cost for d in (5, 50))
    assert few < many
    stored = sparse.random(10, 50, density=0.1, format="csr", random_state=0)
    assert backend(RBF(0.5), stored).cost < many
