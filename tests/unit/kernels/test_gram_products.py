"""K times a vector: held, streamed and of low rank."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from conftest import TOL
from reference import kernels as plain
from widestreet import _core
from widestreet._src.kernels import gram_products, kernels
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.gram_products import Held, LowRank, Streamed
from widestreet._src.kernels.poll import Poll
from widestreet._src.rows import as_rows

pytestmark = pytest.mark.numeric

KERNELS = {
    "rbf": (kernels.RBF(0.3), {"gamma": 0.3}),
    "linear": (kernels.Linear(), {}),
    "poly": (kernels.Poly(0.5, 1.0, 2), {"gamma": 0.5, "coef0": 1.0, "degree": 2}),
    "laplacian": (kernels.Laplacian(0.3), {"gamma": 0.3}),
}


def gram_of(name: str, X, threads: int = 1) -> tuple[Gram, np.ndarray]:
    """The Gram matrix of rows, and the same by its definition."""
    kernel, parameters = KERNELS[name]
    rows = as_rows(X, centred=kernel.translation_invariant)
    return Gram(kernel, rows, threads=threads), plain.matrix(name, X, **parameters)


def low_rank(gram: Gram, most: int, enough: float = 0.0, seed: int = 0) -> LowRank:
    return LowRank.of(gram, most, enough, np.random.default_rng(seed))


# -- the native product ------------------------------------------------------------------------


def times(A, x, transposed=False, threads=1) -> np.ndarray:
    out = np.full((*x.shape[:-1], A.shape[1 if transposed else 0]), np.nan)
    _core.times(A, np.atleast_2d(x), np.atleast_2d(out), transposed, threads)
    return out


SHAPES = [(1, 1), (1, 9), (9, 1), (7, 15), (8, 8), (16, 17), (300, 301), (3, 70_001), (70_001, 3)]


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_several_vectors_are_multiplied_one_by_one(shape, transposed, rng):
    A, x = rng.normal(size=shape), rng.normal(size=(9, shape[0 if transposed else 1]))
    alone = [times(A, one, transposed) for one in x]
    for count in range(1, 10):
        together = times(A, x[:count], transposed, threads=2)
        np.testing.assert_array_equal(together, alone[:count])


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_matrix_times_a_vector(shape, transposed, rng):
    A = rng.normal(size=shape)
    x = rng.normal(size=shape[0 if transposed else 1])
    size = np.abs(A.T if transposed else A) @ np.abs(x)
    difference = np.abs(times(A, x, transposed) - (A.T if transposed else A) @ x)
    assert (difference <= TOL.exact * 10 * size).all()


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("shape", [(0, 0), (0, 5), (5, 0)], ids=str)
def test_an_empty_matrix_times_a_vector(shape, transposed):
    A, x = np.zeros(shape), np.ones(shape[0 if transposed else 1])
    assert times(A, x, transposed).tolist() == [0.0] * shape[1 if transposed else 0]


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("shape", [(500, 501), (3, 70_001), (70_001, 3), (1000, 777)], ids=str)
def test_threads_do_not_change_a_bit_of_it(shape, transposed, rng):
    A = rng.normal(size=shape)
    x = rng.normal(size=shape[0 if transposed else 1])
    alone = times(A, x, transposed)
    for threads in (2, 3, 4):
        np.testing.assert_array_equal(times(A, x, transposed, threads), alone)


# -- the whole matrix --------------------------------------------------------------------------


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_held_and_streamed_are_the_matrix(name, form, rng):
    X = np.round(rng.normal(size=(60, 4)) * 64) / 64
    gram, K = gram_of(name, form(X))
    place = rng.permutation(60)[:41]
    coef = rng.normal(size=41)
    coef[::5] = 0.0
    expected = K[np.ix_(place, place)] @ coef
    size = TOL.scan_float64 * np.abs(coef).sum() * max(1.0, np.abs(K).max())
    gram = gram.select(place)
    held, streamed = Held.of(gram), Streamed(gram)
    for product in (held, streamed, low_rank(gram, 41)):
        np.testing.assert_allclose(product(coef), expected, rtol=0, atol=10 * size)
    assert held.K.nbytes == Held.memory(41)


def test_a_matrix_is_filled_in_pieces(rng, monkeypatch):
    """So that nobody waits long for an answer."""
    gram, K = gram_of("rbf", rng.normal(size=(50, 3)))
    looks = []
    monkeypatch.setattr(gram_products, "_PIECE", 300)
    held = Held.of(gram, Poll(lambda: looks.append(1)))
    np.testing.assert_allclose(held.K, K, rtol=0, atol=TOL.kernel_float64)
    assert len(looks) == 50 // 7 + 1


def test_streaming_skips_what_cannot_be_seen(rng):
    gram, K = gram_of("rbf", rng.normal(size=(50, 3)))
    poll = Poll()
    streamed = Streamed(gram, poll)
    coef = np.where(np.arange(50) % 5, 1e-20, 1.0)
    np.testing.assert_allclose(streamed(coef), K @ coef, rtol=TOL.scan_float64 * 10)
    assert poll.kernel_values == 50 * 10
    assert streamed(np.zeros(50)).tolist() == [0.0] * 50


# -- low rank ----------------------------------------------------------------------------------


@pytest.mark.parametrize("most", [1, 7, 64, 65, 130, 200])
@pytest.mark.parametrize("name", ["rbf", "laplacian"])
def test_what_is_left_of_a_kernel_is_positive_semidefinite(name, most, rng):
    gram, K = gram_of(name, rng.normal(size=(150, 5)))
    found = low_rank(gram, most)
    rest = K - found.G @ found.G.T
    trace = np.trace(K)
    assert found.G.shape == (150, min(most, 150))
    assert len(set(found.pivots.tolist())) == found.G.shape[1]
    assert np.linalg.eigvalsh(rest).min() >= -TOL.kernel_float64 * trace
    np.testing.assert_allclose(found.rest, np.diag(rest), rtol=0, atol=TOL.kernel_float64 * 10)
    assert found.left == pytest.approx(np.trace(rest) / trace, abs=TOL.kernel_float64 * 10)
    assert not found.rest[found.pivots].any()
    coef = rng.normal(size=150)
    expected = (found.G @ found.G.T + np.diag(found.rest)) @ coef
    np.testing.assert_allclose(found(coef), expected, rtol=0, atol=TOL.twin)


def test_rows_that_were_pivots_have_their_own_kernel_values(rng):
    """A Nystroem approximation is exact in the lines of its pivots."""
    gram, K = gram_of("rbf", rng.normal(size=(150, 5)))
    found = low_rank(gram, 40)
    exact = found.G @ found.G.T
    np.testing.assert_allclose(exact[found.pivots], K[found.pivots], rtol=0, atol=TOL.twin)


@pytest.mark.parametrize("enough", [0.3, 0.05, 1e-4])
def test_a_part_of_the_trace_may_be_missing(enough, rng):
    gram, K = gram_of("rbf", rng.normal(size=(300, 3)))
    found = low_rank(gram, 300, enough)
    assert found.left <= enough
    assert found.G.shape[1] < 300
    assert np.trace(K - found.G @ found.G.T) <= (enough + TOL.kernel_float64) * np.trace(K)


@pytest.mark.parametrize(("name", "rank"), [("linear", 3), ("poly", 10)])
def test_kernels_of_finite_rank_need_no_more(name, rank, rng):
    gram, K = gram_of(name, rng.normal(size=(200, 3)))
    found = low_rank(gram, 200)
    assert found.G.shape[1] == rank
    np.testing.assert_allclose(found.G @ found.G.T, K, rtol=0, atol=TOL.twin * np.abs(K).max())


def test_repeated_rows_are_no_news(rng):
    X = np.repeat(rng.normal(size=(20, 3)), 6, axis=0)
    gram, K = gram_of("rbf", X)
    found = low_rank(gram, 120)
    assert found.G.shape[1] == 20
    assert len(set(found.pivots // 6)) == 20
    np.testing.assert_allclose(found.G @ found.G.T, K, rtol=0, atol=TOL.twin)


@pytest.mark.parametrize("rows", [10, 9, 0])
def test_rows_of_length_zero_are_never_pivots(rows, rng):
    X = rng.normal(size=(10, 4))
    X[:rows] = 0.0
    gram, K = gram_of("linear", X)
    found = low_rank(gram, 10)
    assert found.G.shape[1] == np.linalg.matrix_rank(X) == min(4, 10 - rows)
    assert (found.pivots >= rows).all()
    coef = rng.normal(size=10)
    np.testing.assert_allclose(found(coef), K @ coef, rtol=0, atol=TOL.twin)


def test_seeds_decide_about_pivots_and_nothing_else_does(rng):
    X = rng.normal(size=(1000, 4))
    one, again, other = (low_rank(gram_of("rbf", X)[0], 50, seed=s) for s in (3, 3, 4))
    np.testing.assert_array_equal(one.pivots, again.pivots)
    np.testing.assert_array_equal(one.G, again.G)
    assert one.pivots.tolist() != other.pivots.tolist()
    shared = low_rank(gram_of("rbf", X, threads=3)[0], 50, seed=3)
    np.testing.assert_array_equal(shared.pivots, one.pivots)


def test_rows_that_nothing_explains_are_likely_pivots(rng):
    """Three far points among a thousand that are nearly the same."""
    X = 1e-3 * rng.normal(size=(1003, 2))
    X[:3] = 10.0 * np.eye(3, 2) + 5.0
    gram, _ = gram_of("rbf", X)
    for seed in range(5):
        assert {0, 1, 2} <= set(low_rank(gram, 8, seed=seed).pivots.tolist())


def test_a_diagonal_that_no_block_confirms_is_rounding(rng, monkeypatch):
    gram, _ = gram_of("rbf", rng.normal(size=(30, 2)))
    monkeypatch.setattr(gram, "block", lambda I, J, poll: np.zeros((len(I), 30)))
    found = low_rank(gram, 30)
    assert found.G.shape == (30, 0)
    assert found.left == 1.0
    np.testing.assert_array_equal(found(np.ones(30)), found.rest)


def test_memory_and_the_rank_it_allows():
    for rows in (10, 1000, 10**6):
        for rank in (1, 10, 500):
            memory = LowRank.memory(rows, rank)
            assert LowRank.most(rows, memory) == rank
            assert LowRank.most(rows, memory - 1) < rank


@given(st.integers(0, 10**6), st.integers(1, 12), st.sampled_from(list(KERNELS)), st.booleans())
def test_small_matrices_are_exact_at_full_rank(seed, n, name, repeated):
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, size=(n, 2)) / 2.0
    X = np.concatenate([X, X]) if repeated else X
    gram, K = gram_of(name, X)
    found = low_rank(gram, len(X), seed=seed)
    size = max(1.0, np.abs(K).max())
    np.testing.assert_allclose(found.G @ found.G.T, K, rtol=0, atol=TOL.twin * size)
    assert len(found.pivots) == len(set(found.pivots.tolist())) <= len(np.unique(X, axis=0))
