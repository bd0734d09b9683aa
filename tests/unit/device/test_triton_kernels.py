"""Triton programs: the kinds of kernels they know, and long sums in several parts."""

from __future__ import annotations

from typing import get_args, get_type_hints

import numpy as np
import pytest

from conftest import TOL
from support.devices import device_of, values
from widestreet._src.device.contract import Map


@pytest.fixture
def device():
    return device_of("triton")


def test_every_kind_has_a_number(device):
    from widestreet._src.device import triton_kernels

    assert get_args(get_type_hints(Map)["kind"]) == triton_kernels.KINDS


@pytest.mark.parametrize("double", [False, True])
def test_sums_over_several_parts_and_short_sums(device, double, rng):
    """More vectors than a part has, and not a multiple of what a program takes at a time."""
    by = Map("rbf", 0.5)
    X, S, coef = rng.normal(size=(5, 2)), rng.normal(size=(1100, 2)), rng.normal(size=(2, 1100))
    left, right = device.hold(X, None, by), device.hold(S, None, by)
    found = device.scan(by, left, None, right, None, coef, double)
    error = TOL.scan_float64 if double else TOL.scan_float32
    exact = coef @ values(by, 0.5 * X, 0.5 * S).T
    np.testing.assert_allclose(found, exact, rtol=0, atol=error * np.abs(coef).sum())
