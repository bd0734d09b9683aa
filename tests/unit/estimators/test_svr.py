"""SVR: the tube, and its two losses."""

from __future__ import annotations

import numpy as np

from support.machines import data, machine


def test_a_regression_that_fits_into_the_tube_has_no_support_vectors():
    X, y = data("svr")
    model = machine("svr", epsilon=100.0).fit(X, y)
    assert len(model.support_) == 0
    assert model.dual_coef_.shape == (1, 0)
    assert model.certificate_.status == "optimal"
    assert model.certificate_.gap == 0
    np.testing.assert_array_equal(model.predict(X), np.full(len(y), model.intercept_[0]))
    assert np.abs(y - model.intercept_).max() <= 100.0
