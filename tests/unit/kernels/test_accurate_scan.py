"""Scores with more digits than a scan in float64 gives them, where there are any."""

from __future__ import annotations

import numpy as np

from conftest import TOL
from widestreet._src.kernels.accurate_scan import accurate_scan, off_centre
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import RBF, Linear, Poly
from widestreet._src.rows import as_rows


def test_scores_of_a_polynomial_kernel(rng):
    X, coef = rng.standard_normal((30, 3)), rng.standard_normal(30)
    gram, every = Gram(Poly(1.0, 1.0, 3), as_rows(X)), np.arange(30)
    score, error = accurate_scan(gram, every, coef)
    plain = gram.scan(None, every, coef)
    assert (np.abs(score - plain) <= error + gram.score_errors(None, every, coef)).all()
    assert accurate_scan(gram.select(None, diagonal=np.ones(30)), every, coef) is None


def test_large_scans_and_other_kernels_are_left_out(rng):
    X = rng.standard_normal((4000, 60))
    every, coef = np.arange(4000), np.ones(4000)
    for kernel in (Poly(1.0, 1.0, 3), RBF(1.0)):
        assert accurate_scan(Gram(kernel, as_rows(X)), every, coef) is None


def test_what_coefficients_that_do_not_sum_to_zero_add_to_centred_scores(rng):
    """It differs from x.m net by the same number for all rows."""
    X = rng.standard_normal((20, 3)) + 5.0
    rows = as_rows(X, centred=True)
    found = off_centre(Gram(Linear(), rows), None, 2.0)
    expected = 2.0 * (X - rows.centre) @ rows.centre
    np.testing.assert_allclose(found, expected, atol=TOL.kernel_float64 * 100)
    some = off_centre(Gram(Linear(), rows), np.array([3, 1]), 2.0)
    np.testing.assert_array_equal(some, found[[3, 1]])
    assert off_centre(Gram(Linear(), rows), None, 0.0) == 0.0
    assert off_centre(Gram(RBF(1.0), rows), None, 2.0) == 0.0
    assert off_centre(Gram(Linear(), as_rows(X)), None, 2.0) == 0.0
