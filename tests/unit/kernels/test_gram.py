"""The Gram matrix as everything above sees it: diag, block and scan for every kind of kernel."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from conftest import TOL
from reference import kernels
from reference.kernels import KERNELS
from support.native import PARAMS, STORAGES, assert_kernel, assert_scan, sample
from widestreet._src.engines.budget import OutOfBudget
from widestreet._src.kernels import gram as gram_module
from widestreet._src.kernels.backend import dtype_of_sums
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import (
    RBF,
    Callable,
    Laplacian,
    Linear,
    Poly,
    Precomputed,
    Sigmoid,
)
from widestreet._src.kernels.native import NativeBackend
from widestreet._src.kernels.poll import Poll
from widestreet._src.rows import KernelRows, as_rows

pytestmark = pytest.mark.numeric

NATIVE = {"linear": Linear, "rbf": RBF, "poly": Poly, "sigmoid": Sigmoid, "laplacian": Laplacian}
DTYPES = (np.float32, np.float64)
KINDS = (*KERNELS, "precomputed", "callable", "sparse callable")
STORED = ("C float64", "F float32", "every other row", "csr int32 float64", "csr int64 float32")
M, N = 40, 25  # left and right rows

every_kind = pytest.mark.parametrize("kind", KINDS)
every_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=lambda t: t.__name__)


def wave(X, S) -> np.ndarray:
    """A kernel that the core does not know."""
    return np.cos(kernels.dense(X) @ kernels.dense(S).T)


def make(kind: str, storage: str = "C float64", m: int = M, **options) -> tuple[Gram, np.ndarray]:
    """A Gram between m left rows and the first N of them, and its matrix."""
    X = sample(m, 7)
    store = STORAGES[storage]
    if kind in NATIVE:
        rows, right = as_rows(store(X)), as_rows(store(X[:N]))
        kernel = NATIVE[kind](**PARAMS[kind])
        return Gram(kernel, rows, right, **options), kernels.matrix(kind, X, X[:N], **PARAMS[kind])
    K = wave(X, X)
    if kind == "precomputed":
        stored = K.astype(np.float32) if "float32" in storage else K
        right = KernelRows(stored[:N], np.arange(N))
        whole = KernelRows(stored, np.arange(m))
        return Gram(Precomputed(), whole, right, **options), stored[:, :N].astype(np.float64)
    function = wave if kind == "callable" else lambda X, S: sparse.csr_matrix(wave(X, S))
    rows, right = as_rows(store(X)), as_rows(store(X[:N]))
    return Gram(Callable(function), rows, right, **options), K[:, :N]


# -- values ------------------------------------------------------------------------------------


@every_kind
@pytest.mark.parametrize("storage", STORED)
def test_diag(kind, storage):
    """In float64 whatever the rows are stored in."""
    gram, K = make(kind, storage)
    diag = np.concatenate([np.diag(K), gram.diag(np.arange(N, M))])
    index = np.array([3, 0, 3, 11])
    for found, expected in ((gram.diag(), diag), (gram.diag(index), diag[index])):
        assert found.dtype == np.float64
        assert_kernel(found, expected, np.float64)
    assert len(gram.diag(np.empty(0, dtype=np.int64))) == 0


@every_kind
@every_dtype
@pytest.mark.parametrize("storage", STORED)
def test_block(kind, dtype, storage, rng):
    gram, K = make(kind, storage)
    found = gram.block(dtype=dtype)
    assert found.dtype == dtype
    assert_kernel(found, K, dtype)
    I, J = rng.integers(0, M, 17), rng.integers(0, N, 9)
    assert_kernel(gram.block(I, J, dtype=dtype), K[np.ix_(I, J)], dtype)
    assert_kernel(gram.block(I, None, dtype=dtype), K[I], dtype)
    assert_kernel(gram.block(None, J, dtype=dtype), K[:, J], dtype)


@every_kind
def test_block_of_nothing(kind):
    gram, _ = make(kind)
    nothing, some = np.empty(0, dtype=np.int64), np.arange(9)
    poll = Poll()
    assert gram.block(nothing, some, poll=poll).shape == (0, 9)
    assert gram.block(some, nothing, poll=poll).shape == (9, 0)
    assert gram.block(nothing, nothing, poll=poll).shape == (0, 0)
    assert poll.kernel_values == 0


@every_kind
@every_dtype
def test_block_into_rows_of_a_tile(kind, dtype, rng):
    gram, K = make(kind)
    tile = np.full((50, 30), np.nan, dtype=dtype)
    I, J, where = rng.permutation(M)[:12], rng.permutation(N)[:20], rng.permutation(50)[:12]
    assert gram.block(I, J, out=tile, out_rows=where) is tile
    assert_kernel(tile[where, :20], K[np.ix_(I, J)], dtype)
    assert np.isnan(np.delete(tile, where, axis=0)).all()
    assert np.isnan(tile[:, 20:]).all()


@every_kind
@every_dtype
@pytest.mark.parametrize("storage", STORED)
def test_scan(kind, dtype, storage, rng):
    gram, K = make(kind, storage)
    coef = rng.normal(size=N)
    found = gram.scan(None, None, coef, dtype=dtype)
    assert found.dtype == np.float64
    assert_scan(found, K, coef, dtype)
    I, J = rng.integers(0, M, 17), rng.integers(0, N, 9)
    assert_scan(gram.scan(I, J, coef[:9], dtype=dtype), K[np.ix_(I, J)], coef[:9], dtype)
    assert_scan(gram.scan(I, None, coef, dtype=dtype), K[I], coef, dtype)
    out = rng.normal(size=17)
    before = out.copy()
    assert gram.scan(I, J, coef[:9], dtype=dtype, out=out) is out
    assert_scan(out, K[np.ix_(I, J)], coef[:9], dtype, before=before)


def one_hot(rng, n: int) -> np.ndarray:
    """Numbers, some of them zero, beside categories: rows that share much with their like."""
    X = np.hstack([rng.normal(size=(n, 3)), np.eye(9)[rng.integers(9, size=n)], np.zeros((n, 9))])
    X[rng.random(n) < 0.3, 0] = 0.0
    return X


@pytest.mark.parametrize("kind", KERNELS)
@every_dtype
@pytest.mark.parametrize("storage", ["C float64", "csr int32 float64"])
@pytest.mark.parametrize("subset", [False, True])
def test_similar_rows_met_together(kind, dtype, storage, subset, rng):
    """Whatever order the rows are met in, each gets its own result."""
    X = one_hot(rng, 500)
    rows = as_rows(STORAGES[storage](X))
    gram = Gram(NATIVE[kind](**PARAMS[kind]), rows)
    K = kernels.matrix(kind, X, X, **PARAMS[kind])
    I = rng.permutation(500)[:301] if subset else None
    J = np.concatenate([rng.permutation(500), rng.permutation(500)[:77]])
    coef, before = rng.normal(size=(2, 577)), rng.normal(size=(2, 500 if I is None else 301))
    assert gram._backend.together(I, len(J)) is not None
    part = K[:, J] if I is None else K[np.ix_(I, J)]
    assert_kernel(gram.block(I, J, dtype=dtype), part, dtype)
    found = gram.scan(I, J, coef, dtype=dtype, out=before.copy())
    for line in range(2):
        assert_scan(found[line], part, coef[line], dtype, before=before[line])
    assert_scan(gram.scan(I, J, coef[0], dtype=dtype), part, coef[0], dtype)


def test_rows_named_twice(rng):
    X = one_hot(rng, 200)
    gram = Gram(RBF(0.5), as_rows(X))
    I, J = np.repeat(np.arange(100), 2), np.tile(np.arange(200), 3)
    K = kernels.matrix("rbf", X, X, gamma=0.5)
    np.testing.assert_allclose(gram.scan(I, J, np.ones(600)), K[np.ix_(I, J)].sum(axis=1))


@every_kind
def test_scan_of_nothing(kind):
    gram, _ = make(kind)
    nothing, poll = np.empty(0, dtype=np.int64), Poll()
    assert np.array_equal(gram.scan(None, nothing, np.empty(0), poll=poll), np.zeros(M))
    assert len(gram.scan(nothing, None, np.ones(N), poll=poll)) == 0
    assert poll.kernel_values == 0


def test_scan_takes_any_coefficients():
    gram, K = make("rbf")
    every_other = np.repeat(np.ones(N, dtype=np.float32), 2)[::2]
    assert_scan(gram.scan(None, None, every_other), K, np.ones(N), np.float64)


def test_rows_against_themselves_by_default():
    X = as_rows(sample(M, 7))
    gram = Gram(RBF(0.7), X)
    assert gram.left is gram.right is X
    assert_kernel(gram.block(), kernels.matrix("rbf", sample(M, 7), gamma=0.7), np.float64)


# -- accounts ----------------------------------------------------------------------------------


@every_kind
def test_kernel_values_are_counted(kind):
    (gram, _), poll, other = make(kind), Poll(), Poll()
    gram.block(poll=poll)
    assert poll.kernel_values == M * N
    gram.block(np.arange(3), np.arange(5), poll=poll)
    assert poll.kernel_values == M * N + 15
    gram.scan(np.arange(7), None, np.ones(N), poll=poll)
    assert poll.kernel_values == M * N + 15 + 7 * N
    gram.block()
    gram.block(poll=other)
    assert (poll.kernel_values, other.kernel_values) == (M * N + 15 + 7 * N, M * N)


@every_kind
def test_a_poll_looks_between_calls(kind, monkeypatch):
    """Cheap work is one call; what would take long is cut up, 48 rows at least in a piece."""
    calls = []
    gram, K = make(kind, m=120)
    poll, coef = Poll(lambda: calls.append(None)), np.linspace(-1, 1, N)
    gram.block(poll=poll)
    gram.scan(None, None, coef, poll=poll)
    assert len(calls) == 2
    monkeypatch.setattr(gram_module, "CALL_COST", 1.0)
    assert_kernel(gram.block(poll=poll), K, np.float64)
    assert len(calls) == 2 + 3
    assert_scan(gram.scan(None, None, coef, poll=poll), K, coef, np.float64)
    assert len(calls) == 2 + 3 + 3
    rows = np.arange(119, -1, -1)
    assert_kernel(gram.block(rows, None, out=np.empty((120, N)), out_rows=rows), K, np.float64)
    assert_scan(gram.scan(rows, None, coef), K[rows], coef, np.float64)


def test_a_poll_may_stop_the_work():
    def stop():
        raise OutOfBudget("time_limit")

    gram, _ = make("rbf")
    with pytest.raises(OutOfBudget):
        gram.block(poll=Poll(stop))
    with pytest.raises(OutOfBudget):
        gram.scan(None, None, np.ones(N), poll=Poll(stop))
    with pytest.raises(OutOfBudget):
        gram.rough_scan(np.arange(3), np.arange(N), np.ones(N), poll=Poll(stop))
    with pytest.raises(OutOfBudget):
        gram.score_errors(None, np.arange(N), np.ones(N), poll=Poll(stop))


def test_time_per_value_is_measured():
    gram, _ = make("rbf")
    guess = gram.seconds_per_value
    assert guess > 0
    gram.scan(None, None, np.ones(N))
    assert 0 < gram.seconds_per_value != guess
    assert gram.cost > 0


@every_kind
def test_threads_change_no_bit(kind):
    one, two = (make(kind, threads=threads)[0] for threads in (1, 2))
    assert np.array_equal(one.block(), two.block())
    assert np.array_equal(one.scan(None, None, np.ones(N)), two.scan(None, None, np.ones(N)))


@pytest.mark.parametrize("length", [1e2, 1e5, 1e9])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_distances_between_long_rows_keep_their_digits(length, form, rng):
    """Two rows a unit apart and far from the mean: written as norms, nothing would be left."""
    X = rng.choice([-1.0, 1.0], size=(40, 3)) * length + rng.normal(size=(40, 3))
    exact = kernels.matrix("rbf", X, gamma=0.5)
    gram = Gram(RBF(0.5), as_rows(form(X), centred=True))
    ulps = length * np.finfo(np.float64).eps  # of the features themselves
    assert np.abs(gram.block() - exact).max() <= TOL.kernel_float64 + TOL.figures * ulps
    coef = rng.normal(size=40)
    error = np.abs(gram.scan(None, None, coef) - exact @ coef).max()
    assert error <= np.abs(coef).sum() * (TOL.scan_float64 + TOL.figures * ulps)


# -- selections and diagonals ------------------------------------------------------------------


def square(kind: str, storage: str = "C float64") -> tuple[Gram, np.ndarray]:
    """A Gram of M rows against themselves, and its matrix."""
    X = sample(M, 7)
    if kind in NATIVE:
        rows = as_rows(STORAGES[storage](X))
        return Gram(NATIVE[kind](**PARAMS[kind]), rows), kernels.matrix(kind, X, **PARAMS[kind])
    if kind == "precomputed":
        return Gram(Precomputed(), KernelRows(wave(X, X), np.arange(M))), wave(X, X)
    function = wave if kind == "callable" else lambda X, S: sparse.csr_matrix(wave(X, S))
    return Gram(Callable(function), as_rows(STORAGES[storage](X))), wave(X, X)


def assert_is(gram: Gram, K: np.ndarray, dtype, rng) -> None:
    """Whatever is asked of a Gram, the answer is that of the matrix K."""
    m, n = K.shape
    assert gram.shape == (m, n)
    assert_kernel(gram.block(dtype=dtype), K, dtype)
    I, J = rng.integers(0, m, 2 * m), rng.integers(0, n, n + 3)  # some more than once
    coef = rng.normal(size=(2, len(J)))
    part = K[np.ix_(I, J)]
    assert_kernel(gram.block(I, J, dtype=dtype), part, dtype)
    assert_kernel(gram.block(I, None, dtype=dtype), K[I], dtype)
    assert_kernel(gram.block(None, J, dtype=dtype), K[:, J], dtype)
    where = rng.permutation(2 * m)
    tile = gram.block(I, J, out=np.full((2 * m, len(J) + 2), np.nan, dtype=dtype), out_rows=where)
    assert_kernel(tile[where, : len(J)], part, dtype)
    assert np.isnan(tile[:, len(J) :]).all()
    found = gram.scan(I, J, coef, dtype=dtype)
    for line in range(2):
        assert_scan(found[line], part, coef[line], dtype)
    assert_scan(gram.scan(I, J, coef[0], dtype=dtype), part, coef[0], dtype)
    assert_scan(gram.scan(None, J, coef[1], dtype=dtype), K[:, J], coef[1], dtype)
    errors = gram.score_errors(I, J, coef[0])
    size, net = float(np.abs(coef[0]).sum()), float(coef[0].sum())
    for bound in (errors, gram.score_error(len(J), size, net)):
        slack = TOL.scan_float64 * size * max(1.0, np.abs(K).max())  # of the reference
        assert (np.abs(gram.scan(I, J, coef[0]) - part @ coef[0]) <= bound + slack).all()
        assert (bound <= 1e4 * slack).all()


@every_kind
@every_dtype
@pytest.mark.parametrize("storage", STORED)
@pytest.mark.parametrize("ridge", [None, 0.3, 50.0])
def test_a_selection_is_a_part_of_the_matrix(kind, dtype, storage, ridge, rng):
    whole, K = square(kind, storage)
    rows = rng.permutation(M)[:17]
    D = np.zeros(17) if ridge is None else ridge * (1 + rng.random(17))
    diagonal = None if ridge is None else D
    own = K[np.ix_(rows, rows)] + np.diag(D)
    gram = whole.select(rows, diagonal=diagonal)
    assert_is(gram, own, dtype, rng)
    assert_kernel(gram.diag(), np.diag(own), np.float64)
    assert_kernel(gram.diag(np.array([4, 4, 0])), np.diag(own)[[4, 4, 0]], np.float64)
    again = np.array([5, 2, 16, 2, 7])  # of the selection, one of them twice
    assert_is(gram.select(again), own[np.ix_(again, again)], dtype, rng)
    every = np.arange(17)
    assert_is(gram.select(again, every), own[again], dtype, rng)
    assert_is(gram.select(again, every).select(None, again), own[np.ix_(again, again)], dtype, rng)
    assert_is(gram.select(None), own, dtype, rng)


def test_a_selection_copies_nothing_and_learns_together():
    whole, _ = square("rbf")
    part = whole.select(np.arange(5))
    assert part.left is whole.left
    part.block()
    assert part.seconds_per_value == whole.seconds_per_value
    assert np.array_equal(part.left_index(np.array([3, 1])), [3, 1])
    assert np.array_equal(whole.right_index(np.array([3, 1])), [3, 1])
    assert np.array_equal(part.select(np.array([4, 0])).left_index(np.array([1, 1])), [0, 0])


def test_the_core_does_not_know_diagonals():
    """A solver that asks it for kernel values must not be used with one."""
    whole, _ = square("rbf")
    assert whole.native is not None
    assert whole.select(np.arange(5)).native is not None
    assert whole.select(np.arange(5), diagonal=np.ones(5)).native is None


def test_what_a_diagonal_changes():
    whole, _ = square("rbf")
    assert whole.ones_on_diagonal
    small, large = (whole.select(None, diagonal=np.full(M, d)) for d in (0.5, 1e35))
    assert not small.ones_on_diagonal
    assert small.fits_float32
    assert not large.fits_float32  # a tile must hold it


@pytest.mark.parametrize("ridge", [0.0, 0.5, 1e4])
def test_rough_scans_with_a_diagonal_stay_within_their_bound(ridge, rng):
    whole, K = square("rbf")
    gram = whole.select(None, diagonal=np.full(M, ridge))
    J, coef = np.arange(0, M, 2), rng.normal(size=M // 2)
    rough = gram.rough_scan(np.arange(M), J, coef)
    assert rough is not None
    exact = (K + ridge * np.eye(M))[:, J] @ coef
    assert (np.abs(rough[0] - exact) <= rough[1]).all()
    assert (np.abs(rough[0] - gram.scan(None, J, coef)) <= rough[1]).all()


def test_a_kernel_matrix_needs_its_rows():
    with pytest.raises(TypeError, match="needs the rows of a kernel matrix, got DenseRows"):
        Gram(Precomputed(), as_rows(np.ones((3, 3))))


@pytest.mark.parametrize(
    ("gamma", "found"), [(1e-3, np.float32), (1e3, np.float64)], ids=["near", "far"]
)
def test_float32_suffices_for_bounds_where_its_errors_are_small(gamma, found):
    """Exponents of a thousand are off by more than a hundredth in float32."""
    X, every = sparse.csr_matrix(np.random.default_rng(0).normal(size=(40, 7))), np.arange(40)
    rows = as_rows(X)
    near = NativeBackend(RBF(gamma), rows, rows, 1)
    weight = np.append(np.ones(39), 0.0)
    assert dtype_of_sums(near, None, every, weight) is found
    assert dtype_of_sums(near, None, every, 0.0 * weight) is np.float64
