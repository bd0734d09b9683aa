"""Rows on a grid: which rows are, their levels, and exact products of levels."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import sparse

from conftest import TOL
from widestreet import _core
from widestreet._src.rows import as_rows
from widestreet._src.rows.levels import Grid, bytes_of_levels, levels_of

pytestmark = pytest.mark.numeric

SHAPE = (4200, 33)  # large enough that a grid is looked for


def bytes_to(rng, top, shape=SHAPE):
    """Random levels up to `top`, with rows of the smallest and of the largest ones only."""
    levels = rng.integers(0, top + 1, shape)
    levels[0], levels[1] = 0, top
    return levels


def kinds(rows, kernel, right=None):
    """Kernel values between all rows in float64 and in float32."""
    for dtype in (np.float64, np.float32):
        out = np.zeros((len(rows[1]), len(rows[1] if right is None else right[1])), dtype)
        other = rows if right is None else right
        _core.tile(kernel, rows[0], None, other[0], None, out, None, 1)
        yield dtype, out


# -- grids -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("top", "step", "origin"),
    [
        (255, 1.0, 0.0),
        (255, 1 / 255, 0.0),
        (255, 2 / 255, -1.0),
        (200, 3.0, -1000.0),
        (1, 1.0, 0.0),
        (1, 0.3, 0.0),
        (1, 2.0, -1.0),
    ],
)
def test_values_on_a_grid_are_found(dtype, top, step, origin, rng):
    levels = bytes_to(rng, top)
    X = (levels * step + origin).astype(dtype)
    rows = as_rows(X)
    assert rows.grid is not None
    assert rows.grid.step == pytest.approx(step, rel=TOL.kernel_float32)
    assert rows.grid.binary == (top == 1)
    found = levels_of(rows, rows.grid, 2)
    assert found is not None
    assert found.binary == (top == 1)
    on_grid = rows.grid.origin + rows.grid.step * np.asarray(levels, dtype=np.longdouble)
    deviation = np.sqrt(((X.astype(np.longdouble) - on_grid) ** 2).sum(axis=1)).max()
    assert deviation <= found.error
    size = np.abs(X.astype(np.float64)).max() + abs(origin)
    assert found.error <= 2.0**-20 * size * np.sqrt(X.shape[1])
    if found.precise:
        assert found.error <= 2.0**-49 * size * np.sqrt(X.shape[1])
    squares = rows.grid.step**2 * (levels**2).sum(axis=1)
    np.testing.assert_allclose(found.squares, squares, rtol=TOL.kernel_float64)
    some = rows.take(np.arange(7))
    assert some.grid == rows.grid
    assert levels_of(some, some.grid, 1) is not None


def test_integers_and_fractions_in_float64_are_precise(rng):
    levels = bytes_to(rng, 255)
    for X, precise in [
        (levels.astype(np.float64), True),
        (levels.astype(np.float32), True),
        (levels / 255.0, True),
        ((levels / 255.0).astype(np.float32), False),
    ]:
        rows = as_rows(X)
        assert levels_of(rows, rows.grid, 1).precise == precise


def test_other_values_have_no_grid(rng):
    levels = bytes_to(rng, 255).astype(np.float64)
    others = [
        rng.normal(size=SHAPE),
        levels * (1.0 + 1e-5 * rng.random(SHAPE)),  # not quite on a grid
        bytes_to(rng, 300).astype(np.float64),  # too many levels
        np.zeros(SHAPE),
        1e-310 * levels,  # squares of the step underflow
        1e-320 * levels,
        levels[:100],  # few rows
        levels[:, :5],  # few columns
    ]
    assert all(as_rows(X).grid is None for X in others)


def test_a_value_outside_the_sample_is_noticed(rng):
    X = bytes_to(rng, 255) / 255.0
    grid = as_rows(X).grid
    for value in (1.5 / 255, 1.0 + 1e-5, 256 / 255, -1 / 255, 1e300):
        X[77, 5] = value
        rows = as_rows(X)
        assert rows.grid == grid
        assert levels_of(rows, grid, 2) is None


@pytest.mark.parametrize(
    ("offset", "found", "precise"), [(0.0, True, True), (1e6, True, False), (1e12, False, False)]
)
def test_deviations_are_compared_with_the_spread_of_the_rows(offset, found, precise, rng):
    """Far from zero, the allowance for the rounding of values exceeds that of distances."""
    rows = as_rows(bytes_to(rng, 255) + offset, centred=True)
    levels = levels_of(rows, rows.grid, 1)
    assert (levels is not None) == found
    assert levels is None or levels.precise == precise


def test_signed_zeros_and_numbers_below_the_grid(rng):
    X = bytes_to(rng, 255).astype(np.float64)
    X[X == 0] = -0.0
    rows = as_rows(X)
    assert levels_of(rows, rows.grid, 1) is not None
    X[5, 5] = 5e-324  # no level, and not zero
    rows = as_rows(X)
    assert levels_of(rows, rows.grid, 1) is None


def test_sparse_rows(rng):
    levels = bytes_to(rng, 255) * (rng.random(SHAPE) < 0.2)
    rows = as_rows(sparse.csr_matrix(levels / 255.0))
    found = levels_of(rows, rows.grid, 2)
    np.testing.assert_allclose(
        found.squares, ((levels / 255) ** 2).sum(axis=1), rtol=TOL.kernel_float64
    )
    assert bytes_of_levels(rows) == SHAPE[0] * 36
    binary = as_rows(sparse.csr_matrix(0.5 * (levels > 0)))
    assert binary.grid == Grid(0.5, 0.0, binary=True)
    assert bytes_of_levels(binary) == 0
    assert levels_of(binary, binary.grid, 1).binary
    thin = sparse.random(*SHAPE, density=0.005, rng=rng, format="csr")
    thin.data[:] = 1.0
    assert as_rows(thin).grid is None
    negative = as_rows(sparse.csr_matrix(-1.0 * levels))
    assert negative.grid is None


def test_levels_are_not_pickled(rng):
    rows = as_rows(bytes_to(rng, 255) / 255.0)
    known = levels_of(rows, rows.grid, 1)
    assert levels_of(rows, rows.grid, 1) is known
    copy = pickle.loads(pickle.dumps(rows))
    assert copy.grid == rows.grid
    assert "levels" not in vars(copy)


# -- products ------------------------------------------------------------------------------------


def with_levels(levels, csr=False):
    """Rows of the core with levels, and these as int64."""
    X = levels.astype(np.float64)
    binary, out = levels.max() <= 1, None
    if csr:
        S = sparse.csr_matrix(X)
        rows = _core.Rows.csr(S.data, S.indices, S.indptr, *S.shape)
    else:
        rows = _core.Rows.dense(X, None)
    if not (csr and binary):
        out = np.zeros((len(X), -(-X.shape[1] // 4) * 4), np.uint8)
    found = _core.find_levels(rows, 1.0, 0.0, out, np.zeros(len(X)), 1)
    assert found[:3] == (True, True, binary)
    return rows.with_levels(1.0, 0.0, bool(binary), True, out), levels.astype(np.int64)


@pytest.mark.parametrize("isa", _core.instruction_sets())
@pytest.mark.parametrize("csr", [False, True])
@pytest.mark.parametrize("top", [255, 1])
@pytest.mark.parametrize("features", [1, 2, 3, 5, 63, 64, 65, 300, 784])
def test_products_are_exact(isa, csr, top, features, rng):
    """Linear kernels of integers below 2^24 have no rounding, not even in float32."""
    before = _core.instruction_set()
    _core.force_instruction_set(isa)
    try:
        for n, m in [(1, 1), (7, 70), (50, 33)]:
            x = bytes_to(rng, top, (n + 1, features))
            s = bytes_to(rng, top, (m + 1, features))
            x[2:] *= rng.random(x[2:].shape) < 0.3
            left, right = with_levels(x, csr), with_levels(s, csr)
            linear = _core.Kernel(_core.KernelKind.linear, 1.0, 0.0, 1)
            products = left[1] @ right[1].T
            for dtype, out in kinds(left, linear, right):
                np.testing.assert_array_equal(out.astype(np.int64), products.astype(dtype))
            rbf = _core.Kernel(_core.KernelKind.rbf, 1.0 / (features * top**2), 0.0, 1)
            distance = ((left[1][:, None] - right[1]) ** 2).sum(axis=2)
            values = np.exp(-distance / (features * top**2))
            for dtype, out in kinds(left, rbf, right):
                tolerance = TOL.kernel_float32 if dtype == np.float32 else TOL.kernel_float64
                np.testing.assert_allclose(out, values, rtol=tolerance)
                assert (out[distance == 0] == 1.0).all()
    finally:
        _core.force_instruction_set(before)


def test_rows_on_different_grids_are_multiplied_as_they_are(rng):
    x, s = bytes_to(rng, 255, (5, 40)), bytes_to(rng, 255, (6, 40))
    left, right = with_levels(x), with_levels(s)
    other = right[0].with_levels(2.0, 0.0, False, True, np.zeros((6, 40), np.uint8))
    linear = _core.Kernel(_core.KernelKind.linear, 1.0, 0.0, 1)
    for _, out in kinds(left, linear, (other, right[1])):
        np.testing.assert_array_equal(out, x @ s.T)


def test_wrong_levels_are_refused(rng):
    rows = _core.Rows.dense(rng.normal(size=(5, 6)), None)
    with pytest.raises(ValueError, match="multiple of four"):
        rows.with_levels(1.0, 0.0, False, True, np.zeros((5, 6), np.uint8))
    with pytest.raises(ValueError, match="multiple of four"):
        rows.with_levels(1.0, 0.0, False, True, np.zeros((4, 8), np.uint8))
    with pytest.raises(ValueError, match="only binary CSR rows"):
        rows.with_levels(1.0, 0.0, True, True, None)
    with pytest.raises(ValueError, match="dense rows need"):
        _core.find_levels(rows, 1.0, 0.0, None, np.zeros(5), 1)
