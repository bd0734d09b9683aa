"""OnlineOneClassSVM: labels are ignored, and nu bounds the rows outside."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from support.online_machines import begun, machine, mixed


def test_labels_are_ignored():
    X, _ = mixed("one_class")
    with_labels = machine("one_class").fit(X[:20], np.arange(20)).partial_fit(X[20:], ["a"] * 16)
    without = machine("one_class").fit(X[:20]).partial_fit(X[20:])
    np.testing.assert_array_equal(with_labels.decision_function(X), without.decision_function(X))


@pytest.mark.parametrize("nu", [0.1, 0.3, 0.8])
def test_nu_bounds_rows_outside_and_support_vectors(nu):
    X, _ = mixed("one_class")
    model = machine("one_class", nu=nu).fit(X[:25]).partial_fit(X[25:])
    outside = model.decision_function(X) < -TOL.detour
    assert outside.mean() <= nu <= len(model.support_) / len(X)
    assert model.dual_coef_.sum() == pytest.approx(nu * len(X))


def test_a_bad_nu_is_refused_and_nothing_changes():
    X, _ = mixed("one_class")
    model = begun("one_class")
    before = model.decision_function(X)
    with pytest.raises(ValueError, match="nu must be"):
        model.set_params(nu=1.5).partial_fit(X[30:])
    assert model.n_rows_ == 30
    np.testing.assert_array_equal(model.decision_function(X), before)
