"""The predict side of one-class SVMs: scores, the offset, and rows on the edge."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from support.machines import data, machine


@pytest.mark.parametrize("nu", [0.1, 0.5])
def test_rows_are_inside_where_the_score_reaches_the_offset(nu, rng):
    X, _ = data("one_class")
    model = machine("one_class", nu=nu).fit(X)
    Z = np.concatenate([X, 3.0 * rng.normal(size=(50, 3))])
    score, decided = model.score_samples(Z), model.decision_function(Z)
    np.testing.assert_allclose(
        score - model.offset_, decided, rtol=0, atol=TOL.scan_float64 * nu * 120
    )
    np.testing.assert_array_equal(model.predict(Z), np.where(decided >= 0, 1, -1))
    np.testing.assert_array_equal(model.offset_, -model.intercept_)


def test_values_of_nothing_but_rounding_are_on_the_edge_and_inside():
    """Two equal rows hold the region of one point: their score is the offset."""
    model = machine("one_class", nu=1.0).fit(np.ones((2, 3)))
    np.testing.assert_array_equal(model.decision_function(np.ones((4, 3))), np.zeros(4))
    np.testing.assert_array_equal(model.predict(np.ones((4, 3))), np.ones(4))
    assert model.predict(np.full((1, 3), 5.0)) == -1


def test_fit_predict_is_fit_and_predict():
    X, _ = data("one_class")
    np.testing.assert_array_equal(
        machine("one_class").fit_predict(X), machine("one_class").fit(X).predict(X)
    )
