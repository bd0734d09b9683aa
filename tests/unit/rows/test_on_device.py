"""Rows with a copy on a device: those of the host to all else, copied once, freed at the end."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from support.devices import PlainDevice
from widestreet._src.device.contract import Map
from widestreet._src.rows import DeviceRows, as_rows
from widestreet._src.rows.on_device import memory_left, rows_that_fit

RBF = Map("rbf", 1.0)


def rows(device, most=1 << 30, n=40) -> DeviceRows:
    X = np.random.default_rng(0).normal(size=(n, 3))
    return DeviceRows(as_rows(X, centred=True), device, most)


def test_all_else_is_that_of_the_host():
    found = rows(PlainDevice())
    host = found.host
    for name in ("shape", "native", "centre", "low", "origin", "sparse", "few_nonzeros"):
        assert getattr(found, name) is getattr(host, name) or getattr(found, name) == host.shape
    assert found.data is host.data
    assert found.density() == host.density()
    assert found.largest_square(1) == host.largest_square(1)
    some = np.array([3, 1])
    np.testing.assert_array_equal(found.squares(some), host.squares(some))
    np.testing.assert_array_equal(found.take(some).data, host.data[some])
    np.testing.assert_array_equal(found.holding(host.data[:2]).data, host.data[:2])


def test_rows_are_copied_once_and_freed():
    device = PlainDevice()
    found = rows(device)
    assert found.held(RBF) is found.held(RBF)
    assert device.held == [40]
    found.held(Map("linear", 1.0))  # of another kernel: the copy is replaced
    assert device.held == [40, 40]
    found.close()
    assert device.released == 1
    assert device.kept > 0  # a little memory stays for the next fit
    found.held(RBF)
    assert device.held == [40, 40, 40]


@pytest.mark.parametrize("device", [PlainDevice(size=500), PlainDevice(size=1100)])
def test_rows_that_do_not_fit_are_not_held(device):
    found = rows(device)  # of 960 bytes, and 770 are for rows
    assert found.held(RBF) is None
    assert device.held == []
    assert 1 <= found.at_once < 40
    assert rows(PlainDevice(), most=100).held(RBF) is None


def test_rows_leave_memory_for_working_sets():
    found = rows(PlainDevice(), most=2000)  # of 40 rows with 24 bytes each
    assert memory_left(found) == 2000 - 960
    assert rows_that_fit(found) == 58  # in seven tenths of the limit
    assert memory_left(rows(PlainDevice(), most=100)) == 0


def test_memory_that_is_short_after_all(monkeypatch):
    device = PlainDevice()

    def full(*arguments):
        raise MemoryError

    monkeypatch.setattr(device, "hold", full)
    assert rows(device).held(RBF) is None
    assert device.released == 1
    assert device.kept == 0  # another process needs it


def test_a_pickled_copy_has_no_copy_on_the_device():
    found = rows(PlainDevice())
    found.held(RBF)
    found.squares()
    again = pickle.loads(pickle.dumps(found))
    assert again._copies == {}
    assert again._squares == []
    np.testing.assert_array_equal(again.data, found.data)


def test_squares_are_those_of_the_host_and_are_computed_once(monkeypatch):
    found, some = rows(PlainDevice()), np.array([5, 0, 39])
    expected = found.host.squares()
    np.testing.assert_array_equal(found.squares(some), expected[some])
    monkeypatch.setattr(type(found.host), "squares", None)
    np.testing.assert_array_equal(found.squares(), expected)
