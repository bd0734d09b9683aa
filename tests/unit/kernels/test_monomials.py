"""Monomials: their inner products are the values of the polynomial kernel."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from conftest import TOL
from widestreet._src.kernels.kernels import RBF, Linear, Poly
from widestreet._src.kernels.monomials import Monomials, monomial_count

KERNELS = [Poly(0.3, 1.0, 1), Poly(0.7, 0.5, 2), Poly(1.7, 2.0, 3), Poly(0.1, 0.0, 4)]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_inner_products_are_kernel_values(kernel, rng):
    X = rng.standard_normal((6, 4))
    found = Monomials.of(kernel, 4)
    V = found.plain(X)
    assert V.shape[1] == monomial_count(kernel, 4)
    values = kernel.plain(X, X)
    size = np.sqrt(np.outer(values.diagonal(), values.diagonal()))
    assert (np.abs(V @ V.T - values) <= TOL.kernel_float64 * size).all()
    np.testing.assert_allclose(found.pairs(X).high, V, rtol=TOL.kernel_float64)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_pairs_have_more_digits_than_float64(kernel, rng):
    x, s = 100.0 + rng.standard_normal((2, 3))
    high, low = Monomials.of(kernel, 3).pairs(np.array([x, s]))
    V = [
        [Fraction(a) + Fraction(b) for a, b in zip(*both, strict=True)]
        for both in zip(high, low, strict=True)
    ]
    dot = sum(Fraction(a) * Fraction(b) for a, b in zip(x, s, strict=True))
    exact = (Fraction(kernel.gamma) * dot + Fraction(kernel.coef0)) ** kernel.degree
    found = sum(a * b for a, b in zip(*V, strict=True))
    assert abs(found - exact) <= Fraction(2) ** -95 * exact


def test_other_kernels_have_no_monomials():
    assert monomial_count(Linear(), 3) is None
    assert monomial_count(RBF(1.0), 3) is None
    assert monomial_count(Poly(1.0, -1.0, 2), 3) is None
