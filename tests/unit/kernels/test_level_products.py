"""Kernels of rows on a grid: when levels are multiplied, and that nothing else changes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import widestreet as ws
from conftest import TOL
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import RBF, Laplacian, Poly
from widestreet._src.kernels.level_products import level_products
from widestreet._src.rows import as_rows
from widestreet._src.rows.levels import levels_of

pytestmark = pytest.mark.numeric


@pytest.fixture
def pixels(rng):
    """Rows of 256 levels, mostly zero."""
    return rng.integers(0, 256, (1200, 120)) * (rng.random((1200, 120)) < 0.2) / 255.0


def test_kernels_that_are_functions_of_products(pixels):
    rows, shifted = as_rows(pixels), as_rows(pixels - 1.0, centred=True)
    for kernel, given, multiplied in [
        (RBF(1.0), rows, True),
        (Poly(1.0, 1.0, 2), rows, True),
        (Laplacian(1.0), rows, False),
        (RBF(1.0), shifted, True),
        (Poly(1.0, 1.0, 2), shifted, False),
    ]:
        assert (level_products(kernel, given, given, 1) is not None) == multiplied


def test_new_rows_are_compared_with_the_grid_of_the_vectors(pixels, rng):
    vectors, kernel = as_rows(pixels), RBF(0.1)
    few = as_rows(pixels[:5])  # too few for a grid of their own
    assert few.grid is None
    assert level_products(kernel, few, vectors, 1) is not None
    other = as_rows(rng.normal(size=(5, 120)))
    assert level_products(kernel, other, vectors, 1) is None
    K = Gram(kernel, other, vectors).block()
    distance = ((other.values[:, None] - pixels) ** 2).sum(axis=2)
    np.testing.assert_allclose(K, np.exp(-0.1 * distance), rtol=TOL.kernel_float64)


def test_bounds_of_levels_are_below_those_of_products(pixels):
    J, coef = np.arange(1000), np.ones(1000)
    by_levels = Gram(RBF(0.1), as_rows(pixels))
    rows = as_rows(pixels)
    object.__setattr__(rows, "grid", None)
    by_values = Gram(RBF(0.1), rows)
    assert (by_levels.rough_scan(J, J, coef)[1] < by_values.rough_scan(J, J, coef)[1]).all()
    assert levels_of(as_rows(pixels), by_levels.left.grid, 1).precise


@pytest.mark.parametrize("form", ["float64", "float32", "csr", "binary", "binary csr"])
@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_models_do_not_depend_on_levels(form, kernel, pixels, rng):
    X = pixels if "binary" not in form else (pixels > 0.5) * 1.0
    y = np.where(X[:, :60].sum(axis=1) > X[:, 60:].sum(axis=1), 1, -1)
    y = np.where(rng.random(len(y)) < 0.05, -y, y)
    on_grid = X.astype(np.float32) if form == "float32" else X
    off_grid = on_grid.copy()
    extra = np.zeros((1, X.shape[1]), on_grid.dtype)
    extra[0, 0] = 1e-3 * np.pi  # one value of no level, in a row without weight
    off_grid, targets = np.concatenate([off_grid, extra]), np.append(y, 1)
    weight = np.append(np.ones(len(y)), 0.0)
    if form.endswith("csr"):
        on_grid, off_grid = sparse.csr_matrix(on_grid), sparse.csr_matrix(off_grid)
    options = {"C": 1.0, "kernel": kernel, "gamma": 0.1, "coef0": 1.0, "tol": TOL.violation}
    first = ws.SVC(**options).fit(on_grid, y)
    second = ws.SVC(**options).fit(off_grid, targets, sample_weight=weight)
    assert first.certificate_.status == second.certificate_.status == "optimal"
    decision, other = first.decision_function(on_grid), second.decision_function(on_grid)
    scale = np.abs(first.dual_coef_).sum()
    np.testing.assert_allclose(decision, other, rtol=0, atol=TOL.decision * max(10.0, scale))
