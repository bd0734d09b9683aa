"""Accurate scores of polynomial kernels: within their bounds, which are small."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from widestreet._src.kernels.accurate_polynomial import accurate_scores
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import Poly
from widestreet._src.rows import as_rows


def exact(kernel, X, I, J, coef) -> list[Fraction]:
    rows = [[Fraction(float(v)) for v in row] for row in X]
    gamma, coef0 = Fraction(kernel.gamma), Fraction(kernel.coef0)
    return [
        sum(
            Fraction(float(c))
            * (gamma * sum(a * b for a, b in zip(rows[i], rows[j], strict=True)) + coef0)
            ** kernel.degree
            for j, c in zip(J, coef, strict=True)
        )
        for i in I
    ]


@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("kernel", [Poly(0.3, 1.0, 3), Poly(2.0, 0.0, 2)], ids=str)
def test_scores_that_cancel_are_within_their_bounds(kernel, wrap, rng):
    X = 50.0 + rng.standard_normal((30, 3))
    rows, I, J = as_rows(wrap(X)), np.array([0, 4, 29]), np.arange(0, 30, 2)
    coef = 1e4 * rng.standard_normal(len(J))
    coef -= coef.mean()
    found = accurate_scores(kernel, rows, rows, I, J, coef)
    assert found is not None
    for score, error, true in zip(*found, exact(kernel, X, I, J, coef), strict=True):
        assert abs(Fraction(float(score)) - true) <= Fraction(float(error))
        assert error <= 1e-14 * abs(score)
    plain = Gram(kernel, rows).score_errors(I, J, coef)
    assert (found[1] < plain / 100).all()


MAGNITUDES = st.sampled_from([5e-324, 1e-320, 1e-300, 1e-200, 1e-100, 1.0, 1e100, 1e150, 1e300])
KERNELS = [Poly(1.0, 0.0, 1), Poly(1.0, 0.0, 2), Poly(1e-3, 1.0, 3), Poly(1e200, 1e-200, 2)]


@given(st.integers(0, 2**32 - 1), MAGNITUDES, MAGNITUDES, st.sampled_from(KERNELS))
def test_bounds_hold_for_numbers_that_are_tiny_or_huge(seed, large, C, kernel):
    rng = np.random.default_rng(seed)
    X, coef, every = large * rng.standard_normal((6, 2)), C * rng.standard_normal(6), np.arange(6)
    with np.errstate(all="ignore"):
        found = accurate_scores(kernel, as_rows(X), as_rows(X), every, every, coef)
    assert found is not None
    for score, error, true in zip(*found, exact(kernel, X, every, every, coef), strict=True):
        if not np.isfinite(score):
            assert not np.isfinite(error)
        elif np.isfinite(error):
            assert abs(Fraction(float(score)) - true) <= Fraction(float(error))
