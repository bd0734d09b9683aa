"""Long rows in the core: how long they are, distances by differences; and the copy of a tile."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from conftest import TOL
from reference import kernels, slots
from widestreet import _core
from widestreet._src.rows import as_rows

pytestmark = pytest.mark.numeric

FORMS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "csr": sparse.csr_matrix,
    "csr array": sparse.csr_array,
}
DTYPES = (np.float32, np.float64)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sizes", [(1, 1), (7, 33), (49, 100)])
@pytest.mark.parametrize("d", [1, 3, 54])
def test_far_rbf_is_rbf(form, dtype, sizes, d, rng):
    """Scan and tile; on data where both ways to a distance have their digits."""
    m, n = sizes
    X, S = rng.normal(size=(m, d)), rng.normal(size=(n, d))
    gamma = 1.0 / d
    left, right = as_rows(FORMS[form](X)).native, as_rows(FORMS[form](S)).native
    kernel = _core.Kernel(_core.KernelKind.far_rbf, gamma, 0.0, 1)
    exact = kernels.matrix("rbf", X, S, gamma=gamma)
    tile = np.zeros((m, n), dtype=dtype)
    _core.tile(kernel, left, None, right, None, tile, None, 1)
    double = dtype == np.float64
    allowed = TOL.kernel_float64 if double else TOL.kernel_float32
    assert np.abs(tile - exact).max() <= allowed
    coef, out = rng.normal(size=n), np.zeros(m)
    _core.scan(kernel, left, None, right, None, coef[None], out[None], double, 1)
    allowed = TOL.scan_float64 if double else TOL.scan_float32
    assert np.abs(out - exact @ coef).max() <= allowed * np.abs(coef).sum()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("length", [30.0, 1e3, 1e6])
def test_long_sparse_rows_among_short_ones(dtype, length, rng):
    """Near and far, long and short: distances from norms would lose the near ones among the long.

    In float32 the features themselves are rounded when they are read.
    """
    short = sparse.random(60, 3000, 0.004, random_state=1, dtype=np.float64).toarray()
    long = np.zeros((4, 3000))
    long[:, :20] = length * np.round(rng.normal(size=(4, 20)), 1)
    near = np.repeat(long, 10, axis=0)
    near[:, 15:30] += 0.25 * rng.integers(-2, 3, size=(40, 15))
    X = np.concatenate([short, near, -near[:5]]).astype(np.float32).astype(np.float64)
    rows = as_rows(sparse.csr_matrix(X)).native
    kernel = _core.Kernel(_core.KernelKind.far_rbf, 0.7, 0.0, 1)
    exact = kernels.matrix("rbf", X, gamma=0.7)
    assert (exact > 1e-9).sum() > 400  # there is something to lose
    tile = np.zeros(exact.shape, dtype=dtype)
    _core.tile(kernel, rows, None, rows, None, tile, None, 1)
    allowed = TOL.kernel_float64 if dtype == np.float64 else TOL.kernel_float32
    assert np.abs(tile - exact).max() <= allowed


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("begin", "end", "size"), [(0, 40, 40), (3, 17, 25), (5, 5, 40)])
def test_copy_rows(dtype, threads, begin, end, size, rng):
    source = rng.normal(size=(40, 48)).astype(dtype)
    to = np.zeros((64, 80), dtype=dtype)
    expected = to.copy()
    slots.copy_rows(expected, source, begin, end, size)
    _core.copy_rows(to, source, begin, end, size, threads)
    assert np.array_equal(to, expected)


@pytest.mark.parametrize(
    ("begin", "end", "size", "dtype"),
    [
        (-1, 4, 10, float),
        (5, 4, 10, float),
        (0, 11, 10, float),
        (0, 10, 41, float),
        (0, 5, 10, "f"),
    ],
)
def test_copy_rows_refuses_to_leave_a_tile(begin, end, size, dtype):
    with pytest.raises(ValueError, match="tile"):
        _core.copy_rows(np.zeros((50, 50), dtype), np.zeros((40, 40)), begin, end, size, 1)


@pytest.mark.parametrize(("value", "dtype"), [(30.1, np.float32), (1.7e9, np.float64)])
def test_long_sums_do_not_hide_near_rows(value, dtype, rng):
    """Many equal nonzeros: the rounding of their sums grows with their number."""
    X = np.zeros((6, 400_000))
    X[:, :10_000] = value
    X[:3, :2] += rng.normal(size=(3, 2))
    X = X.astype(np.float32 if dtype == np.float32 else np.float64)
    rows = as_rows(sparse.csr_matrix(X)).native
    tile = np.zeros((6, 6), dtype=dtype)
    kernel = _core.Kernel(_core.KernelKind.far_rbf, 1.0, 0.0, 1)
    _core.tile(kernel, rows, None, rows, None, tile, None, 1)
    exact = kernels.matrix("rbf", X[:, :2].astype(np.float64), gamma=1.0)
    assert (np.diag(tile) == 1).all()
    assert np.abs(tile - exact).max() <= TOL.kernel_float32
