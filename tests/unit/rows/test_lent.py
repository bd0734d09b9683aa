"""Rows in the memory of a device: those of the host, and few of them are copied."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from conftest import TOL
from support.devices import ForeignArray, PlainDevice
from widestreet._src.rows import DenseRows, LentRows, as_rows, merge_duplicates


@pytest.fixture
def device():
    return PlainDevice()


@pytest.fixture
def X(rng):
    return rng.normal(size=(40, 3))


@pytest.mark.parametrize("centred", [False, True])
def test_all_is_as_on_the_host(device, X, centred):
    lent = as_rows(device.lend(ForeignArray(X)), centred=centred)
    host = as_rows(X, centred=centred)
    assert isinstance(lent, LentRows)
    assert (lent.centre is None) == (host.centre is None)
    if centred:
        np.testing.assert_allclose(lent.centre, host.centre, rtol=TOL.twin, atol=TOL.twin)
    assert lent.shape == host.shape
    assert lent.sparse == host.sparse
    assert lent.few_nonzeros == host.few_nonzeros
    assert lent.density() == host.density()
    some = np.array([3, 1])
    np.testing.assert_allclose(lent.squares(), host.squares(), rtol=TOL.twin)
    np.testing.assert_allclose(lent.squares(some), host.squares(some), rtol=TOL.twin)
    assert lent.largest_square(1) == pytest.approx(host.largest_square(1), rel=TOL.twin)
    np.testing.assert_array_equal(lent.take(some).data, X[some])
    np.testing.assert_array_equal(lent.to_send(some), X[some])
    np.testing.assert_array_equal(lent.data[some], X[some])


def test_rows_of_zeros_are_not_centred(device):
    X = np.eye(8)
    lent = as_rows(device.lend(ForeignArray(X)), centred=True)
    assert lent.centre is None
    assert lent.few_nonzeros
    assert as_rows(X, centred=True).few_nonzeros


def test_the_core_reads_one_copy(device, X):
    lent = LentRows(device.lend(ForeignArray(X)))
    assert device.read == []
    assert lent.native is lent.native
    assert device.read == [40]


def test_pickled_rows_are_those_of_the_host(device, X):
    lent = LentRows(device.lend(ForeignArray(X)), np.ones(3), skip_zeros=True)
    found = pickle.loads(pickle.dumps(lent))
    assert isinstance(found, DenseRows)
    assert found.skip_zeros
    np.testing.assert_array_equal(found.data, X)
    np.testing.assert_array_equal(found.centre, np.ones(3))


def test_equal_rows_are_merged_as_on_the_host(device, rng):
    X = rng.integers(3, size=(60, 3)).astype(np.float64)
    X[::2] = rng.normal(size=(30, 3))
    label, box = rng.integers(2, size=60).astype(np.float64), rng.random(60)
    box[7] = 0.0
    lent = as_rows(device.lend(ForeignArray(X)), centre=np.zeros(3))
    found, expected = (merge_duplicates(rows, label, box, 1) for rows in (lent, as_rows(X)))
    np.testing.assert_array_equal(found.kept, expected.kept)
    np.testing.assert_array_equal(found.member_of, expected.member_of)
    np.testing.assert_array_equal(found.box, expected.box)
    assert sum(device.read) <= 30
