"""Factors in blocks: products with V do not depend on blocks, threads and storage."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from conftest import TOL
from support.low_rank import KERNELS, factor, problem
from widestreet._src.engines.interior.low_rank_factor import factor_of, rank_bound
from widestreet._src.engines.interior.pivoted_cholesky import RankTooLarge
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import RBF, Linear, Poly
from widestreet._src.kernels.poll import Poll
from widestreet._src.rows import as_rows


def dense(found) -> np.ndarray:
    return found.take(np.arange(found.rows))


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_factor_gives_the_kernel_matrix(kernel):
    gram, dual = problem("one_class", kernel, 0)
    V = dense(factor(gram, dual))
    np.testing.assert_allclose(V @ V.T, gram.block(), atol=TOL.twin)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_centred_factor_gives_the_same_scores_up_to_a_constant(kernel, rng):
    gram, dual = problem("c_svc", kernel, 0)
    V = dense(factor(gram, dual))
    coef = rng.standard_normal(len(V))
    coef -= coef.mean()
    apart = V @ (V.T @ coef) - gram.block() @ coef
    np.testing.assert_allclose(apart, apart[0], atol=TOL.twin)
    assert np.abs(V.mean(axis=0)).max() <= TOL.twin


@pytest.mark.parametrize("memory", [0, 1 << 30], ids=["streamed", "held"])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(
    ("n", "d"),
    [
        pytest.param(9000, 60, id="several-blocks"),
        pytest.param(2000, 1001, id="several-tiles"),
        pytest.param(600, 1025, id="several-tiles-at-once"),
    ],
)
def test_products_are_those_of_the_whole_matrix(n, d, memory, threads, rng):
    X = sparse.random_array((n, d), density=0.2, rng=rng, format="csr") + 0.0
    gram = Gram(Linear(), as_rows(X))
    options = {"most": n + d, "memory": memory, "centred": True, "poll": Poll()}
    found = factor_of(gram, threads=threads, **options)
    V = X.toarray() - X.mean(axis=0)
    weight, q = rng.random(n), rng.standard_normal((n, 2))
    square, columns = found.normal(weight, q)
    np.testing.assert_allclose(square, (V.T * weight) @ V, atol=TOL.decision)
    np.testing.assert_allclose(columns, V.T @ q, atol=TOL.decision)
    np.testing.assert_allclose(found.transposed(q[:, 0]), V.T @ q[:, 0], atol=TOL.decision)
    np.testing.assert_allclose(found.times(V[0]), V @ V[0], atol=TOL.decision)
    some = np.array([0, 17, n - 1])
    np.testing.assert_allclose(found.take(some), V[some], atol=TOL.decision)
    single = factor_of(gram, threads=1, **options)
    assert np.array_equal(single.normal(weight, q)[0], square)


def test_accurate_products_keep_what_cancels():
    X = np.array([[1e15, 1.0], [1.0, 1e-15], [-1e15, 3.0]])
    gram = Gram(Linear(), as_rows(X))
    found = factor_of(gram, most=2, memory=1 << 20, centred=False, threads=1, poll=Poll())
    q = np.array([1.0, 0.1, 1.0])
    high, low = found.accurate_transposed(q)
    for k in range(2):
        exact = sum(Fraction(a) * Fraction(b) for a, b in zip(q, X[:, k], strict=True))
        assert abs(Fraction(high[k]) + Fraction(low[k]) - exact) <= TOL.exact**2 * 1e15


def test_the_rank_is_bounded_by_rows_and_features():
    assert rank_bound(Linear(), 100, 7) == 7
    assert rank_bound(Linear(), 5, 7) == 5
    assert rank_bound(Poly(1.0, 1.0, 3), 10**6, 7) == 120
    assert rank_bound(Poly(1.0, 0.0, 3), 10**6, 7) == 84
    assert rank_bound(RBF(1.0), 100, 7) == 100


def test_more_columns_than_allowed_are_refused(rng):
    gram = Gram(Linear(), as_rows(rng.standard_normal((50, 20))))
    with pytest.raises(RankTooLarge):
        factor_of(gram, most=10, memory=1 << 30, centred=True, threads=1, poll=Poll())
