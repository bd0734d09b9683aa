"""Blocks of a precomputed matrix, and of what a Python function returns."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from conftest import TOL
from reference import kernels
from support.native import assert_kernel, assert_scan, sample
from widestreet._src.kernels import precomputed_and_callable
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import Callable, Precomputed
from widestreet._src.rows import KernelRows, as_rows

pytestmark = pytest.mark.numeric


M, N = 40, 25  # left and right rows


def wave(X, S) -> np.ndarray:
    """A kernel that the core does not know."""
    return np.cos(kernels.dense(X) @ kernels.dense(S).T)


def test_columns_of_a_precomputed_matrix(rng):
    """New rows against support vectors: the matrix has one column per training row."""
    values, support = rng.normal(size=(5, 30)), np.array([4, 17, 2])
    right = KernelRows(values, support)
    gram = Gram(Precomputed(), KernelRows(values, np.arange(5)), right)
    found = gram.scan(None, np.arange(3), np.array([1.0, -2.0, 0.5]))
    np.testing.assert_allclose(found, values[:, support] @ [1.0, -2.0, 0.5], rtol=TOL.exact)


def bad(function) -> Gram:
    return Gram(Callable(function), as_rows(sample(M, 7)))


WRONG = {
    "transposed": lambda X, S: np.ones((S.shape[0], X.shape[0])),
    "one dimension": lambda X, S: np.ones(X.shape[0]),
    "scalar": lambda X, S: 1.0,
    "too many rows": lambda X, S: np.ones((X.shape[0] + 1, S.shape[0])),
    "not a number": lambda X, S: np.full((X.shape[0], S.shape[0]), np.nan),
    "infinite": lambda X, S: np.full((X.shape[0], S.shape[0]), np.inf),
    "nothing": lambda X, S: None,
    "words": lambda X, S: np.full((X.shape[0], S.shape[0]), "one"),
    "complex": lambda X, S: np.full((X.shape[0], S.shape[0]), 1j),
}


@pytest.mark.parametrize("what", WRONG)
@pytest.mark.filterwarnings("ignore:Casting complex")
def test_a_callable_that_returns_something_else(what):
    gram, I, J = bad(WRONG[what]), np.arange(3), np.arange(4)
    with pytest.raises((ValueError, TypeError), match="kernel"):
        gram.block(I, J)
    with pytest.raises((ValueError, TypeError), match="kernel"):
        gram.scan(I, J, np.ones(4))
    if what != "transposed":  # the diagonal asks for square blocks
        with pytest.raises((ValueError, TypeError), match="kernel"):
            gram.diag(I)


def test_the_error_says_which_shape_was_wanted():
    with pytest.raises(ValueError, match=r"\(4, 3\).*\(3, 4\)"):
        bad(WRONG["transposed"]).block(np.arange(3), np.arange(4))


def test_a_callable_sees_rows_as_the_user_knows_them():
    seen = []

    def spy(X, S):
        seen.append((X, S))
        return np.zeros((X.shape[0], S.shape[0]))

    X = sparse.csr_matrix(sample(M, 7))
    Gram(Callable(spy), as_rows(X)).block(np.arange(3), np.arange(4))
    assert all(sparse.issparse(a) for a in seen[0])
    np.testing.assert_array_equal(seen[0][0].toarray(), sample(M, 7)[:3])
    gram = Gram(Callable(spy), as_rows(sample(M, 7), centre=np.ones(7)))
    gram.block(np.arange(3), np.arange(4))
    np.testing.assert_array_equal(seen[1][1], sample(M, 7)[:4])


def test_a_callable_is_asked_for_bounded_blocks(monkeypatch):
    monkeypatch.setattr(precomputed_and_callable, "_BLOCK_VALUES", 100)
    sizes = []

    def spy(X, S):
        sizes.append(X.shape[0] * S.shape[0])
        return wave(X, S)

    gram = Gram(Callable(spy), as_rows(sample(M, 7)))
    K = wave(sample(M, 7), sample(M, 7))
    assert_kernel(gram.block(), K, np.float64)
    assert_scan(gram.scan(None, None, np.ones(M)), K, np.ones(M), np.float64)
    assert max(sizes) <= 100
