"""Kernel values: tiles and scans against their definitions, on every path through the core.

Dense left rows, sparse left rows against dense or sparse right rows, and the inverted panel for
right rows with less than 3% of their entries set; lengths around all vector widths.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from conftest import TOL
from reference import kernels
from reference.kernels import KERNELS
from support import native
from support.native import CSR, DENSE, PARAMS, STORAGES, assert_kernel, assert_scan
from widestreet import _core
from widestreet._src.kernels.rounding_bounds import double_precision, single_precision

pytestmark = pytest.mark.numeric

DTYPES = (np.float32, np.float64)
DIMENSIONS = (1, 2, 7, 54, 200)
SIZES = (0, 1, 5, 6, 7, 31, 32, 33, 48, 49, 100)

every_kernel = pytest.mark.parametrize("kernel", KERNELS)
every_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=lambda t: t.__name__)


# -- storages ----------------------------------------------------------------------------------


@every_kernel
@every_dtype
@pytest.mark.parametrize("d", DIMENSIONS)
def test_every_storage_gives_the_same_values(kernel, dtype, d, rng):
    """Each storage on the left and on the right, against the first dense and the first CSR one."""
    k, m, n = native.kernel(kernel, **PARAMS[kernel]), 37, 45
    X, S = native.sample(m, d, 0), native.sample(n, d, 1)
    K = native.expected(kernel, native.sample, m, n, d)
    coef, before = rng.normal(size=n), rng.normal(size=m)
    some = ("C float64", "csr int32 float64")
    for left, right in {*itertools.product(STORAGES, some), *itertools.product(some, STORAGES)}:
        A, B = native.rows(STORAGES[left](X)), native.rows(STORAGES[right](S))
        assert_kernel(native.tile(k, A, B, (m, n), dtype), K, dtype, (left, right))
        found = native.scan(k, A, B, coef, before, dtype)
        assert_scan(found, K, coef, dtype, (left, right), before)


@every_kernel
@every_dtype
@pytest.mark.parametrize("d", [150, 400, 2000])
def test_wide_sparse_rows(kernel, dtype, d, rng):
    """The inverted panel, met by sparse and by dense left rows."""
    k, m, n = native.kernel(kernel, **PARAMS[kernel]), 37, 45
    X, S = native.wide_sample(m, d, 0), native.wide_sample(n, d, 1)
    K = native.expected(kernel, native.wide_sample, m, n, d)
    coef, before = rng.normal(size=n), rng.normal(size=m)
    for left, right in itertools.product((*CSR, "C float64", "F float32"), CSR):
        if right == "csr explicit zeros":
            continue  # no longer sparse
        A, B = native.rows(STORAGES[left](X)), native.rows(STORAGES[right](S))
        assert_kernel(native.tile(k, A, B, (m, n), dtype), K, dtype, (left, right))
        found = native.scan(k, A, B, coef, before, dtype)
        assert_scan(found, K, coef, dtype, (left, right), before)


# -- sizes and lists ---------------------------------------------------------------------------


PATHS = {
    "dense": (native.sample, "C float64", "C float64"),
    "sparse": (native.sample, "csr int32 float64", "csr int64 float32"),
    "mostly zero": (native.sample, "mostly zero float64", "C float32"),
    "inverted": (native.wide_sample, "csr int32 float64", "csr int32 float64"),
    "dense meets inverted": (native.wide_sample, "F float32", "csr int64 float64"),
}


def columns_of(path: str) -> int:
    return 400 if "inverted" in path else 7


@every_kernel
@every_dtype
@pytest.mark.parametrize("path", PATHS)
def test_every_size_with_and_without_lists(kernel, dtype, path, rng):
    """Nothing beside the part asked for is written, whatever the lengths."""
    family, left, right = PATHS[path]
    k, d = native.kernel(kernel, **PARAMS[kernel]), columns_of(path)
    X, S = STORAGES[left](family(100, d, 0)), STORAGES[right](family(100, d, 1))
    K = native.expected(kernel, family, 100, 100, d)
    whole = native.rows(X), native.rows(S)
    for m, n in itertools.product(SIZES, SIZES):
        I, J = rng.integers(0, 100, m), rng.integers(0, 100, n)
        parts = [(*whole, I, J, K[np.ix_(I, J)])]
        if m > 0 and n > 0:
            parts.append((native.rows(X[:m]), native.rows(S[:n]), None, None, K[:m, :n]))
        for A, B, left_index, right_index, part in parts:
            out = np.full((m + 1, n + 3), np.nan, dtype=dtype)
            _core.tile(k, A, left_index, B, right_index, out, None, 1)
            assert_kernel(out[:m, :n], part, dtype, (m, n))
            assert np.isnan(out[m:]).all()
            assert np.isnan(out[:, n:]).all()
            coef, before = rng.normal(size=n), rng.normal(size=m)
            lists = {"left_index": left_index, "right_index": right_index}
            found = native.scan(k, A, B, coef, before, dtype, **lists)
            assert_scan(found, part, coef, dtype, (m, n), before)


@every_kernel
@every_dtype
@pytest.mark.parametrize("path", PATHS)
def test_several_sets_of_coefficients_are_as_many_scans(kernel, dtype, path, rng):
    family, left, right = PATHS[path]
    k, d = native.kernel(kernel, **PARAMS[kernel]), columns_of(path)
    A, B = (native.rows(STORAGES[s](family(100, d, i))) for i, s in enumerate((left, right)))
    K = native.expected(kernel, family, 100, 100, d)
    for m, n, sets in itertools.product((1, 49, 100), (1, 33, 100), (1, 2, 9)):
        lists = {"left_index": rng.integers(0, 100, m), "right_index": rng.integers(0, 100, n)}
        coef, before = rng.normal(size=(sets, n)), rng.normal(size=(sets, m))
        found = native.scan(k, A, B, coef, before, dtype, **lists)
        part = K[np.ix_(lists["left_index"], lists["right_index"])]
        for q in range(sets):
            assert_scan(found[q], part, coef[q], dtype, (m, n, sets), before[q])


@every_dtype
@pytest.mark.parametrize("path", PATHS)
def test_tile_writes_the_rows_it_is_told_to(dtype, path, rng):
    family, left, right = PATHS[path]
    d = columns_of(path)
    A = native.rows(STORAGES[left](family(100, d, 0)))
    B = native.rows(STORAGES[right](family(100, d, 1)))
    K = native.expected("rbf", family, 100, 100, d)
    I, J, where = rng.permutation(100)[:17], rng.permutation(100)[:33], rng.permutation(40)[:17]
    out = np.full((40, 50), np.nan, dtype=dtype)
    _core.tile(native.kernel("rbf", **PARAMS["rbf"]), A, I, B, J, out, where, 1)
    assert_kernel(out[where, :33], K[np.ix_(I, J)], dtype)
    assert np.isnan(np.delete(out, where, axis=0)).all()
    assert np.isnan(out[:, 33:]).all()


@every_dtype
@pytest.mark.parametrize("m", [1, 7, 60])
def test_a_wide_tile_is_filled_in_pieces(dtype, m, rng):
    """A few left rows meet a piece of the right rows before others do; here are several pieces."""
    n, d = 500, 1100
    S = rng.normal(size=(n, d)) / np.sqrt(d)
    X = S[rng.permutation(n)[:m]]
    k, K = native.kernel("rbf", gamma=1.0), np.exp(-cross_distances(X, S))
    found = native.tile(k, native.rows(X), native.rows(S), (m, n), dtype)
    assert_kernel(found, K, dtype)


def test_no_columns_at_all():
    empty = native.rows(np.empty((3, 0)))
    for kernel, value in (("linear", 0.0), ("rbf", 1.0), ("laplacian", 1.0)):
        k = native.kernel(kernel)
        assert np.array_equal(
            native.tile(k, empty, empty, (3, 3), np.float64), np.full((3, 3), value)
        )


# -- long lists: panels are cut, sums are kept short -------------------------------------------


@every_dtype
def test_more_right_rows_than_an_inverted_panel_holds(dtype, rng):
    n, d = 4096 + 77, 300
    S = sparse.random(n, d, 0.01, format="csr", random_state=1)
    X = S[rng.permutation(n)[:9]]
    coef = rng.normal(size=n)
    K = np.exp(-cross_distances(X, S))
    k, A, B = native.kernel("rbf", gamma=1.0), native.rows(X), native.rows(S)
    assert_kernel(native.tile(k, A, B, (9, n), dtype), K, dtype)
    assert_scan(native.scan(k, A, B, coef, np.zeros(9), dtype), K, coef, dtype)


def cross_distances(X, S) -> np.ndarray:
    X, S = kernels.dense(X), kernels.dense(S)
    return np.array([((S - x) ** 2).sum(axis=1) for x in X])


@every_dtype
@pytest.mark.parametrize("storage", ["C float32", "csr int32 float32"])
def test_more_right_rows_than_a_dense_panel_holds(dtype, storage, rng):
    """64 MiB of right rows are packed at a time."""
    n, d = (850, 20_000) if dtype == np.float32 else (430, 20_000)
    S = np.zeros((n, d), dtype=np.float32)
    S[:, ::8] = rng.integers(-8, 9, size=(n, d // 8)) / 64
    X = S[[0, n - 1]]
    K = X.astype(np.float64) @ S.T.astype(np.float64)
    A, B = native.rows(DENSE["C float32"](X)), native.rows(STORAGES[storage](S))
    k, coef = native.kernel("linear"), rng.normal(size=n)
    assert_kernel(native.tile(k, A, B, (2, n), dtype), K, dtype)
    assert_scan(native.scan(k, A, B, coef, np.zeros(2), dtype), K, coef, dtype)


@every_dtype
@pytest.mark.parametrize("path", PATHS)
def test_large_coefficients_of_both_signs(dtype, path, rng):
    """The error of a scan is that of the kernel values, not that of a long sum."""
    family, left, right = PATHS[path]
    d = columns_of(path)
    A, B = (native.rows(STORAGES[s](family(1500, d, 0))) for s in (left, right))
    I = np.arange(50)
    K = kernels.matrix("rbf", family(1500, d, 0)[I], family(1500, d, 0), gamma=0.7)
    coef = 1e6 * rng.choice([-1.0, 1.0], 1500) * rng.random(1500)
    k = native.kernel("rbf", gamma=0.7)
    found = native.scan(k, A, B, coef, np.zeros(50), dtype, left_index=I)
    assert_scan(found, K, coef, dtype)


# -- kernels -----------------------------------------------------------------------------------


@every_dtype
@pytest.mark.parametrize("storage", ["C float64", "csr int32 float64"])
def test_a_row_is_its_own_nearest(dtype, storage):
    X = native.rows(STORAGES[storage](native.sample(60, 7)))
    for kernel in ("rbf", "laplacian"):
        k = native.kernel(kernel, **PARAMS[kernel])
        K = native.tile(k, X, X, (60, 60), dtype)
        assert_kernel(np.diag(K), np.ones(60), dtype)
        if kernel == "rbf":
            assert K.max() <= 1  # the exponent is cut at 0


@every_dtype
@pytest.mark.parametrize("storage", ["C float64", "csr int32 float64"])
def test_far_rows_do_not_know_each_other(dtype, storage):
    X = np.array([[0.0, 1.0], [100.0, 0.0], [0.0, -3e3], [1e4, 1e4]])
    rows = native.rows(STORAGES[storage](X))
    apart = ~np.eye(4, dtype=bool)
    for kernel in ("rbf", "laplacian"):
        K = native.tile(native.kernel(kernel, gamma=5.0), rows, rows, (4, 4), dtype)
        assert_kernel(K[apart], np.zeros(12), dtype)
        assert (K > 0).all()


@every_dtype
@pytest.mark.parametrize("sets", [1, 2, 200], ids="{} sets".format)
@pytest.mark.parametrize("d", [3, 40])
def test_every_value_of_a_scan_keeps_to_its_bound_at_any_distance(dtype, sets, d, rng):
    """Rows whose exponents are known to be in range side by side with rows that leave it.

    The order of lengths is such that both kinds are among the tiles of one call.
    """
    gamma, n, double = 0.5, 200, dtype == np.float64
    length = np.sqrt(np.sort(rng.uniform(0.0, 800.0 if double else 100.0, n)) / gamma)
    direction = rng.normal(size=(n, d))
    S = length[:, None] * direction / np.linalg.norm(direction, axis=1)[:, None]
    S = S.astype(np.float32).astype(np.float64)
    X = S[rng.permutation(n)[:97]]
    apart = ((X[:, None] - S).astype(np.longdouble) ** 2).sum(axis=2)
    K, k = np.exp(-gamma * apart), native.kernel("rbf", gamma=gamma)
    lines, left, right = np.eye(n), native.rows(X), native.rows(S)
    found = np.vstack(
        [
            native.scan(k, left, right, some, np.zeros((len(some), 97)), dtype)
            for some in np.split(lines, n // sets)
        ]
    )
    if double:
        bound = double_precision(gamma, d, 1, sparse=False)
    else:
        bound = single_precision(gamma, d, 0.0, sparse=False)
    squares = (X**2).sum(axis=1)[:, None] + (S**2).sum(axis=1)
    assert squares.max() <= bound.most
    smallest = float(np.finfo(dtype).tiny)
    allowed = (bound.constant + bound.slope * squares) * K + 1.01 * smallest
    assert (np.abs(found.T - K) <= allowed).all()
    assert K.min() < smallest


@every_dtype
@pytest.mark.parametrize("degree", [0, 1, 2, 3, 4, 5, 7, 10])
def test_every_degree(dtype, degree):
    X = native.sample(20, 7)
    params = {"gamma": 0.5, "coef0": 0.25, "degree": degree}
    found = native.tile(
        native.kernel("poly", **params), native.rows(X), native.rows(X), (20, 20), dtype
    )
    assert_kernel(found, kernels.matrix("poly", X, **params), dtype)


@every_dtype
def test_sigmoid_saturates(dtype):
    X = np.linspace(-30, 30, 61)[:, None]
    rows, dot = native.rows(X), X @ X.T
    found = native.tile(native.kernel("sigmoid", gamma=2.0), rows, rows, (61, 61), dtype)
    near, far = np.abs(dot) < 2, np.abs(dot) > 50  # between them K is within rounding of +-1
    assert_kernel(found[near], np.tanh(2 * dot[near]), dtype)
    assert np.array_equal(found[far], np.sign(dot[far]))
    assert (np.abs(found) <= 1).all()


@every_dtype
def test_sigmoid_keeps_its_digits_near_zero(dtype):
    x = np.geomspace(1e-12, 1, 200)[:, None]
    left, right = native.rows(np.concatenate([-x, x])), native.rows(np.ones((1, 1)))
    found = native.tile(native.kernel("sigmoid", gamma=0.3), left, right, (400, 1), dtype)
    K = np.tanh(0.3 * np.concatenate([-x, x]))
    assert_kernel(found / K, np.ones_like(K), dtype)


@every_kernel
@every_dtype
def test_rows_are_seen_relative_to_their_centre(kernel, dtype, rng):
    """Far from the origin the norms from which distances are computed would be too large."""
    X, centre = native.sample(30, 7), 1000.0 + np.arange(7.0)
    k, params = native.kernel(kernel, **PARAMS[kernel]), PARAMS[kernel]
    for place in ("C float64", "F float64", "window"):
        shifted = native.rows(DENSE[place](X + centre), centre)
        K = kernels.matrix(kernel, (X + centre) - centre, **params)
        assert_kernel(native.tile(k, shifted, shifted, (30, 30), dtype), K, dtype, place)
        coef = rng.normal(size=30)
        assert_scan(native.scan(k, shifted, shifted, coef, np.zeros(30), dtype), K, coef, dtype)


@given(
    seed=st.integers(0, 2**32 - 1),
    m=st.integers(1, 20), n=st.integers(1, 70), d=st.integers(1, 40),
    kernel=st.sampled_from(KERNELS), density=st.sampled_from([0.01, 0.1, 0.9]),
    left=st.sampled_from(list(STORAGES)), right=st.sampled_from(list(STORAGES)),
)  # fmt: skip
def test_any_rows(seed, m, n, d, kernel, density, left, right):
    rng = np.random.default_rng(seed)
    X, S = (rng.normal(size=(c, d)) * (rng.random((c, d)) < density) for c in (m, n))
    X, S = (A.astype(np.float32).astype(np.float64) / 8 for A in (X, S))
    K = kernels.matrix(kernel, X, S, **PARAMS[kernel])
    A, B = native.rows(STORAGES[left](X)), native.rows(STORAGES[right](S))
    k, coef = native.kernel(kernel, **PARAMS[kernel]), rng.normal(size=n)
    for dtype in DTYPES:
        assert_kernel(native.tile(k, A, B, (m, n), dtype), K, dtype)
        assert_scan(native.scan(k, A, B, coef, np.zeros(m), dtype), K, coef, dtype)


# -- threads -----------------------------------------------------------------------------------


@every_kernel
@every_dtype
@pytest.mark.parametrize("path", PATHS)
def test_threads_change_no_bit(kernel, dtype, path, rng):
    family, left, right = PATHS[path]
    d = columns_of(path)
    A, B = (native.rows(STORAGES[s](family(600, d, 0))) for s in (left, right))
    k, coef = native.kernel(kernel, **PARAMS[kernel]), rng.normal(size=600)
    tiles = [native.tile(k, A, B, (600, 600), dtype, threads=t) for t in (1, 2)]
    assert np.array_equal(*tiles)
    scans = [native.scan(k, A, B, coef, np.zeros(600), dtype, threads=t) for t in (1, 2)]
    assert np.array_equal(*scans)
    allowed = TOL.scan_float64 if dtype == np.float64 else TOL.scan_float32
    scale = np.maximum(1, np.abs(tiles[0])).astype(np.float64) @ np.abs(coef)
    assert (np.abs(scans[0] - tiles[0].astype(np.float64) @ coef) <= allowed * scale).all()
