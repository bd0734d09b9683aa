"""The exponential everything rests on."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from widestreet import _core

pytestmark = pytest.mark.numeric

RANGE = {np.float32: (-126.0, 128.0), np.float64: (-1022.0, 1024.0)}  # normal numbers


def exp2(z, dtype) -> np.ndarray:
    z = np.ascontiguousarray(z, dtype=np.float64)
    out = np.full(len(z), np.nan)
    _core.exp2(z, out, dtype == np.float64)
    return out


def worst_error(z, exact, dtype) -> tuple[float, float]:
    """The largest relative error, and where it is."""
    error = np.abs(exp2(z, dtype) / exact - 1)
    worst = error.argmax()
    return float(error[worst]), float(z[worst])


@pytest.mark.parametrize("dtype", RANGE)
def test_exp2_is_as_exact_as_it_says_over_the_whole_range(dtype, rng):
    low, high = RANGE[dtype]
    near_zero = np.concatenate([-np.geomspace(1e-300, 1, 20_000), np.geomspace(1e-300, 1, 20_000)])
    halves = np.arange(low, high) + 0.5  # where the polynomial changes over
    around = np.concatenate([np.nextafter(halves, -np.inf), halves, np.nextafter(halves, np.inf)])
    z = np.concatenate([rng.uniform(low, high, 200_000), rng.uniform(-1, 1, 200_000)])
    z = np.concatenate([z, near_zero, around, np.arange(low, high)]).astype(dtype)
    z = z[(z >= low) & (z < high)].astype(np.float64)
    error, at = worst_error(z, np.exp2(z.astype(np.longdouble)), dtype)
    assert error <= (TOL.exp_float64 if dtype == np.float64 else TOL.exp_float32), at


@pytest.mark.parametrize("sign", [-1, 1])
def test_exp2_is_as_exact_as_it_says_on_every_fourth_float(sign):
    """From 1/8 to 1/2, where its polynomial is worst; float64 is exact beside float32."""
    bits = np.arange(*np.array([0.125, 0.5], dtype=np.float32).view(np.int32), 4, dtype=np.int32)
    z = sign * bits.view(np.float32).astype(np.float64)
    error, at = worst_error(z, np.exp2(z), np.float32)
    assert error <= TOL.exp_float32, at


@pytest.mark.parametrize("dtype", RANGE)
def test_exp2_at_whole_numbers_and_below_its_range(dtype):
    low, high = RANGE[dtype]
    z = np.arange(low, high)
    assert np.array_equal(exp2(z, dtype), np.exp2(z))
    below = np.array([low, low - 0.5, low - 1e3, -1e30, -np.inf])
    assert np.array_equal(exp2(below, dtype), np.full(5, 2.0**low))


@pytest.mark.parametrize("dtype", RANGE)
def test_exp2_of_what_is_not_positive_is_at_most_one(dtype):
    """A kernel of distances never exceeds K(x, x) = 1, however near two rows are."""
    z = -np.geomspace(1e-30, 1, 100_000)
    assert (exp2(z, dtype) <= 1).all()


@pytest.mark.parametrize("size", [0, 1, 3, 7, 8, 15, 16, 17, 33])
def test_exp2_of_any_length(size, rng):
    z = rng.uniform(-5, 0, 40)
    for dtype in RANGE:
        assert np.array_equal(exp2(z[:size], dtype), exp2(z, dtype)[:size])
