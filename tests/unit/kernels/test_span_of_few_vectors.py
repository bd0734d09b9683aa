"""Projections onto few vectors: norms, orthogonality, and the proven bound."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from reference import kernels
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import RBF, Laplacian
from widestreet._src.kernels.span_of_few_vectors import Span, remainder_norm
from widestreet._src.rows import as_rows

pytestmark = pytest.mark.numeric
KERNELS = [RBF(0.5), Laplacian(0.3)]


def problem(kernel, rng, n=120):
    X, coef = rng.normal(size=(n, 2)), rng.normal(size=n)
    K = kernels.matrix(kernel.name, X, X, gamma=kernel.gamma)
    return Gram(kernel, as_rows(X)), coef, K


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_norm_is_that_of_the_remainder(kernel, rng):
    gram, coef, K = problem(kernel, rng)
    span = Span(gram, coef, 120)
    last = np.sqrt(coef @ K @ coef)
    for size in (1, 5, 20, 40):
        assert span.grow(size)
        assert len(span.chosen) == len(set(span.chosen)) == size
        change = coef - span.coefficients()
        norm = np.sqrt(change @ K @ change)
        assert abs(norm - span.square**0.5) <= TOL.decision * last
        assert norm <= last
        assert norm <= remainder_norm(gram, change) <= norm + TOL.decision * (1 + last)
        last = norm


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_remainder_vanishes_at_the_chosen_vectors(kernel, rng):
    gram, coef, K = problem(kernel, rng)
    span = Span(gram, coef, 120)
    span.include(np.array([3, 77, 50]))
    span.grow(12)
    assert span.chosen[:3] == [3, 77, 50]
    projected = span.coefficients()
    assert set(np.flatnonzero(projected)) <= set(span.chosen)
    left = (K @ (coef - projected))[span.chosen]
    np.testing.assert_allclose(left, 0.0, atol=TOL.decision * np.abs(coef).sum())


def test_a_norm_ends_the_growth(rng):
    gram, coef, K = problem(RBF(0.5), rng)
    span = Span(gram, coef, 120)
    assert span.grow(120, norm=0.1)
    assert len(span.chosen) < 120
    change = coef - span.coefficients()
    assert np.sqrt(change @ K @ change) <= 0.1 + TOL.decision


def test_no_more_than_the_limit_and_no_vector_twice(rng):
    X = np.repeat(rng.normal(size=(5, 2)), 4, axis=0)  # five directions only
    gram, coef = Gram(RBF(1.0), as_rows(X)), rng.normal(size=20)
    span = Span(gram, coef, 20)
    span.grow(20)
    assert len(span.chosen) == 5
    span = Span(gram, coef, 3)
    assert not span.grow(20)
    assert len(span.chosen) == 3
    span = Span(gram, coef, 2)
    span.include(np.arange(20))
    assert len(span.chosen) == 2


def test_nothing_to_approximate(rng):
    gram, coef, _ = problem(RBF(0.5), rng)
    span = Span(gram, np.zeros_like(coef), 10)
    assert span.grow(10)
    assert span.chosen == []
    assert not span.coefficients().any()
    assert remainder_norm(gram, np.zeros_like(coef)) == 0.0
