"""Kernel values by a device: the core's within the stated bounds, in memory or block by block."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from conftest import TOL
from reference import kernels as reference
from support.devices import DEVICES, PlainDevice, device_of
from support.native import PARAMS, sample
from widestreet._src.kernels.gram import Gram, facing
from widestreet._src.kernels.kernels import NATIVE_KERNELS, RBF
from widestreet._src.kernels.on_device import DeviceBackend, map_of
from widestreet._src.kernels.rounding_bounds import half_precision, single_precision
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


class FullDevice(PlainDevice):
    """A device without memory for a second scan."""

    def scan(self, *arguments):
        if self.scans:
            raise MemoryError("no memory is free")
        return super().scan(*arguments)


@pytest.mark.parametrize("most", [1 << 30, 8 * 8 * 7 * 10])
@pytest.mark.parametrize("name", NATIVE_KERNELS)
def test_the_core_computes_what_the_memory_does_not_suffice_for(name, most, rng):
    device = FullDevice(name="small")
    core, found = grams(name, device, most=most)
    I, J, coef = rng.permutation(M)[:70], rng.permutation(M)[:5], rng.normal(size=(2, 5))
    found.scan(I[:5], J, coef)
    begun = rng.normal(size=(2, 70))
    with pytest.warns(
        RuntimeWarning, match=r"memory of the device small is short, .* [0-9,]+ of 90 rows fit"
    ):
        sums = found.scan(I, J, coef, out=begun.copy())
    wanted = core.scan(I, J, coef, out=begun.copy())
    np.testing.assert_array_equal(sums, wanted)
    assert device.released == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a second warning of the same rows
        sums = found.scan(I, J, coef, out=begun.copy())
    np.testing.assert_array_equal(sums, wanted)
    assert found._backend.left.shortages == ["no memory is free"] * 2


def test_bounds_for_the_device_hold_for_the_core():
    for gamma, features, square in ((1.0, 2, 3.0), (0.05, 20, 40.0), (1e-3, 784, 2e4)):
        bounds = [
            bound(gamma, features, square, sparse=sparse)
            for bound in (single_precision, half_precision)
            for sparse in (False, True)
        ]
        assert max(b.constant for b in bounds[:2]) <= bounds[2].constant
        assert max(b.slope for b in bounds[:2]) <= bounds[2].slope


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
