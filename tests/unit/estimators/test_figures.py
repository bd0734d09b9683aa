"""Figures of rows in memory."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from conftest import TOL
from widestreet._src.estimators.figures import (
    largest_value,
    mean_square_distance,
    weighted_variance,
)


def test_largest_value_and_variance(rng):
    X = rng.normal(size=(40, 3)) * [1.0, 10.0, 0.1]
    X[np.abs(X) < 0.1] = 0.0
    weight = rng.integers(0, 3, 40)
    repeated = np.repeat(X, weight, axis=0)
    for form in (np.asarray, sparse.csr_matrix, np.asfortranarray):
        assert largest_value(form(X)) == np.abs(X).max()
        found = weighted_variance(form(X), weight.astype(float))
        assert found == pytest.approx(repeated.var(), rel=TOL.twin)


def test_mean_square_distance(rng):
    X = rng.normal(size=(40, 3)) * [1.0, 10.0, 0.1]
    X[np.abs(X) < 0.1] = 0.0
    weight = rng.integers(0, 3, 40).astype(float)
    X[:, 2] = 5.0
    for offset in (0.0, 1e6):
        Z = X + offset
        mean = np.average(Z, axis=0, weights=weight)
        wanted = np.average(np.sum((Z - mean) ** 2, axis=1), weights=weight)
        for form in (np.asarray, sparse.csr_matrix, np.asfortranarray):
            assert mean_square_distance(form(Z), weight) == pytest.approx(wanted, rel=TOL.twin)
        repeated = np.repeat(Z, weight.astype(int), axis=0)
        found = mean_square_distance(repeated, np.ones(len(repeated)))
        assert found == pytest.approx(wanted, rel=TOL.twin)


@pytest.mark.parametrize("value", [0.1, 0.3, 1 / 3, 1e8 + 0.1, 1e-5, 0.0])
@pytest.mark.parametrize("rows", [3, 10, 1000])
def test_equal_rows_have_no_distance(value, rows):
    """But that of rounding, whose inverse would be a gamma that sees nothing."""
    X = np.full((rows, 3), value)
    for form in (np.asarray, sparse.csr_matrix):
        assert mean_square_distance(form(X), np.ones(rows)) == 0.0
