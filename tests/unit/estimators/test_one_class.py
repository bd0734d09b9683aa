"""OneClassSVM: the region that contains most rows."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from support.fitting import coefficients
from support.machines import data, machine

pytestmark = pytest.mark.numeric


def test_a_region_of_everything_is_a_density():
    """With nu = 1 every coefficient is at its bound: score_samples is the sum of the kernel."""
    X, _ = data("one_class")
    model = machine("one_class", nu=1.0, kernel="laplacian").fit(X)
    assert (coefficients(model) == 1).all()
    distance = np.abs(X[:, None] - X).sum(axis=2)
    density = np.exp(-model.gamma * distance).sum(axis=1)
    np.testing.assert_allclose(model.score_samples(X), density, atol=TOL.decision)
