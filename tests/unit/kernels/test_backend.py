"""What every backend promises: one kernel by both has the same values, sums and diagonal."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from reference import kernels as reference
from support.native import PARAMS, sample
from widestreet._src.kernels.backend import Backend
from widestreet._src.kernels.kernels import NATIVE_KERNELS, Callable
from widestreet._src.kernels.native import NativeBackend
from widestreet._src.kernels.precomputed_and_callable import (
    BlockBackend,
    FunctionBackend,
    MatrixBackend,
)
from widestreet._src.rows import KernelRows, as_rows

M, N = 40, 25
I, J = np.array([7, 0, 33]), np.array([24, 3, 3, 11])


def backend(how: str, name: str) -> tuple[Backend, np.ndarray]:
    """A backend between M rows and the first N of them, and its matrix."""
    X = sample(M, 7)
    K = reference.matrix(name, X, **PARAMS[name])
    rows, right = as_rows(X), as_rows(X[:N])
    if how == "native":
        return NativeBackend(NATIVE_KERNELS[name](**PARAMS[name]), rows, right, 1), K[:, :N]
    if how == "precomputed":
        whole = KernelRows(K, np.arange(M))
        return MatrixBackend(whole, KernelRows(K[:N], np.arange(N))), K[:, :N]
    function = Callable(lambda A, B: reference.matrix(name, A, B, **PARAMS[name]))
    return FunctionBackend(rows, right, function), K[:, :N]


@pytest.fixture(params=["native", "precomputed", "callable"])
def both(request, name) -> tuple[Backend, np.ndarray]:
    return backend(request.param, name)


pytestmark = [pytest.mark.numeric, pytest.mark.parametrize("name", NATIVE_KERNELS)]


def test_a_block_is_written_into_rows_of_a_tile(both):
    found, K = both
    out = np.full((5, 4), np.nan)
    found.fill(I, J, out, np.array([4, 0, 2]))
    np.testing.assert_allclose(out[[4, 0, 2]], K[np.ix_(I, J)], rtol=0, atol=TOL.twin)
    assert np.isnan(out[[1, 3]]).all()
    every = np.empty((M, N))
    found.fill(None, None, every, None)
    np.testing.assert_allclose(every, K, rtol=0, atol=TOL.twin)


def test_a_scan_adds_to_what_is_there_within_its_bounds(both):
    found, K = both
    coef, out = np.array([[1.0, -2.0, 0.5, 0.25]]), np.ones((1, 3))
    found.add_scan(I, J, coef, out, True)
    exact = K[np.ix_(I, J)] @ coef[0]
    np.testing.assert_allclose(out[0] - 1.0, exact, rtol=0, atol=TOL.twin)
    one = np.ones(1)
    overall = found.score_error(4 * one, np.abs(coef).sum() * one, coef.sum() * one)
    assert np.isfinite(overall).all()
    assert (overall > 0).all()
    by_row = found.score_errors(I, J, coef[0])
    if by_row is not None:
        assert by_row.shape == (3,)
        assert (by_row >= 0).all()


def test_the_diagonal_is_that_of_the_left_rows(both, name):
    found, _ = both
    expected = reference.diagonal(name, sample(M, 7), **PARAMS[name])
    np.testing.assert_allclose(found.diag(None), expected, rtol=0, atol=TOL.twin)
    np.testing.assert_array_equal(found.diag(I), found.diag(None)[I])


@pytest.mark.parametrize("double", [False, True])
def test_what_a_backend_says_of_itself(double, both):
    found, _ = both
    assert found.cost > 0
    order = found.together(None, N)
    assert order is None or sorted(order) == list(range(M))
    assert (found.native is None) == isinstance(found, BlockBackend)
    bound = found.scan_bound(np.arange(3), J, np.ones(len(J)), double=double)
    if bound is not None:
        weight, part = bound
        assert weight.shape == (len(J),)
        assert (weight >= 1).all()
        assert part.shape == (3,)
        assert (part > 0).all()


@pytest.mark.parametrize("how", ["native", "precomputed", "callable"])
def test_facing_replaces_the_right_rows(how, name):
    found, _ = backend(how, name)
    X, rest = sample(M, 7), np.arange(N, M)
    K = reference.matrix(name, X, **PARAMS[name])
    right = KernelRows(K[rest], rest) if how == "precomputed" else as_rows(X[rest])
    out = np.empty((M, M - N))
    found.facing(right).fill(None, None, out, None)
    np.testing.assert_allclose(out, K[:, rest], rtol=0, atol=TOL.twin)
