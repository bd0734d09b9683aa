"""Piecewise polynomials on a grid."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from widestreet import _core
from widestreet._src.rows import as_rows

pytestmark = pytest.mark.numeric

LOW, HALF, COUNT = np.array([-1.0, 0.0]), np.array([0.5, 1.0]), np.array([2, 1])


def values(X, place, coef, threads=1, index=None) -> np.ndarray:
    rows = as_rows(X)
    count = len(X) if index is None else len(index)
    out = np.full((len(coef), count), np.nan)
    _core.interpolate(rows.native, index, LOW, HALF, COUNT, place, coef, out, threads)
    return out


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("threads", [1, 3])
def test_each_row_has_the_polynomial_of_its_cell(dtype, threads, rng):
    X = rng.uniform([-1.0, 0.0], [1.0, 2.0], size=(2000, 2)).astype(dtype)
    coef = rng.normal(size=(2, 2, 256))
    place, index = np.array([1, 0]), rng.permutation(2000)[:1500]
    found = values(X, place, coef, threads, index)
    x = X[index].astype(np.float64)
    cell = (x[:, 0] >= 0).astype(int)
    u = np.stack([(x[:, 0] + 0.5 - cell) / 0.5, x[:, 1] - 1.0], axis=1)
    chebyshev = np.cos(np.arange(16) * np.arccos(u)[..., None])
    for line, polynomials in zip(found, coef, strict=True):
        mine = polynomials[place[cell]].reshape(-1, 16, 16)
        expected = np.einsum("nij,ni,nj->n", mine, chebyshev[:, 0], chebyshev[:, 1])
        size = np.abs(polynomials).sum(axis=1).max()
        np.testing.assert_allclose(line, expected, atol=TOL.scan_float64 * size, rtol=0)


def test_only_cells_with_rows_are_marked():
    rows = as_rows(np.array([[0.2, 0.1], [0.9, 1.9]]))
    marks = np.zeros(2, dtype=np.uint8)
    _core.mark_cells(rows.native, None, LOW, HALF, COUNT, marks, 1)
    assert marks.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("place", "size", "message"),
    [
        ([0, 2], 256, "place out of range"),
        ([0], 256, "one place per cell"),
        ([0, 1], 16, "degrees"),
    ],
)
def test_what_does_not_fit_is_refused(place, size, message):
    with pytest.raises(ValueError, match=message):
        values(np.ones((3, 2)), np.array(place), np.zeros((1, 2, size)))
