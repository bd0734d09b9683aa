"""The set with a rare class."""

from __future__ import annotations

import numpy as np

from widestreet._experiments.data import rare


def test_one_row_in_a_hundred_is_positive():
    X, y = rare.generate(5000, 7)
    assert X.shape == (5000, 74)
    assert y.sum() == 50


def test_columns_have_unit_variance_and_are_correlated():
    X, _ = rare.generate(20_000, 7)
    np.testing.assert_allclose(X.std(axis=0), 1.0, atol=0.05)
    correlation = np.corrcoef(X.T) - np.eye(X.shape[1])
    assert np.abs(correlation).max() > 0.4


def test_rows_repeat():
    one, other = rare.generate(100, 7), rare.generate(100, 7)
    np.testing.assert_array_equal(one[0], other[0])
    assert not np.array_equal(one[0], rare.generate(100, 8)[0])
