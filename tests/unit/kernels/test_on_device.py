"""Kernel values by a device: the core's within the stated bounds, in memory or block by block."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from reference import kernels as reference
from support.devices import DEVICES, PlainDevice, device_of
from support.native import PARAMS, sample
from widestreet._src.kernels.gram import Gram, facing
from widestreet._src.kernels.kernels import NATIVE_KERNELS, RBF
from widestreet._src.kernels.on_device import DeviceBackend, map_of
from widestreet._src.rows import DeviceRows, as_rows

M = 90


def grams(name: str, device, *, most: int = 1 << 30, features: int = 7) -> tuple[Gram, Gram]:
    """Kernel values by the core and by a device."""
    kernel = NATIVE_KERNELS[name](**PARAMS[name])
    rows = as_rows(sample(M, features), centred=kernel.translation_invariant)
    return Gram(kernel, rows), Gram(kernel, DeviceRows(rows, device, most))


@pytest.mark.parametrize("where", DEVICES)
@pytest.mark.parametrize("name", NATIVE_KERNELS)
@pytest.mark.parametrize("features", [7, 40])
def test_float64_scores_are_within_the_bounds_of_both(where, name, features, rng):
    core, device = grams(name, device_of(where), features=features)
    assert isinstance(device._backend, DeviceBackend)
    I, J, coef = rng.permutation(M)[:80], rng.permutation(M)[:50], rng.normal(size=50)
    error = np.abs(core.scan(I, J, coef) - device.scan(I, J, coef))
    assert (error <= core.score_errors(I, J, coef) + device.score_errors(I, J, coef)).all()
    size, net = np.abs(coef).sum(), coef.sum()
    crude = core.score_error(50, size, net) + device.score_error(50, size, net)
    assert (error <= crude).all()


@pytest.mark.parametrize("where", DEVICES)
@pytest.mark.parametrize("gamma", [1e-3, 0.1, 2.0])
@pytest.mark.parametrize("features", [2, 20, 130])
def test_scores_in_half_precision_are_within_their_bound(where, gamma, features, rng):
    X = rng.normal(size=(M, features)) * rng.lognormal(size=(M, 1))
    rows = as_rows(X.astype(np.float32), centred=True)
    gram = Gram(RBF(gamma / features), DeviceRows(rows, device_of(where), 1 << 30))
    I, J, coef = rng.permutation(M)[:80], rng.permutation(M)[:60], rng.normal(size=60)
    found, bound = gram.rough_scan(I, J, coef)
    assert (np.abs(found - gram.scan(I, J, coef)) <= bound).all()
    assert (bound < 1e-2 * np.abs(coef).sum()).all()


@pytest.mark.parametrize("name", NATIVE_KERNELS)
def test_rows_that_do_not_fit_are_scanned_block_by_block(name, rng):
    device = PlainDevice()
    core, found = grams(name, device, most=8 * 8 * 7 * 10)  # ten rows at a time
    coef = rng.normal(size=(2, 3))
    I, J = rng.permutation(M)[:70], np.array([5, 80, 33])
    size = TOL.scan_float64 * np.abs(coef).sum()
    for rows in (I, None):
        one, other = core.scan(rows, J, coef), found.scan(rows, J, coef)
        np.testing.assert_allclose(other, one, rtol=0, atol=size)
    assert max(device.held) <= 10


@pytest.mark.parametrize("name", NATIVE_KERNELS)
def test_other_right_rows_and_blocks(name, rng):
    core, found = grams(name, PlainDevice())
    S, coef = as_rows(sample(20, 7)), rng.normal(size=20)
    held = DeviceRows(S, PlainDevice(), 1 << 30)
    exact = facing(core, S).scan(None, None, coef)
    for right in (S, held, DeviceRows(S, PlainDevice(), 1)):
        scores = facing(found, right).scan(None, None, coef)
        np.testing.assert_allclose(scores, exact, rtol=0, atol=TOL.twin)
    np.testing.assert_array_equal(found.block(), core.block())
    np.testing.assert_array_equal(found.diag(), core.diag())


def test_long_rows_are_computed_from_differences():
    kernel = RBF(1e6)
    assert map_of(kernel, far=True).kind == "far_rbf"
    X = sample(M, 3)
    gram = Gram(kernel, DeviceRows(as_rows(X), PlainDevice(), 1 << 30))
    assert gram._backend._map.of_differences
    K = reference.matrix("rbf", X, gamma=1e6)
    np.testing.assert_allclose(gram.scan(None, None, np.ones(M)), K.sum(axis=1), atol=TOL.twin)
