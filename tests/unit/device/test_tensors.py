"""Arrays of users as tensors: shared memory, figures equal to those of the stand-in."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from support.devices import ForeignArray, PlainDevice, device_of

torch = pytest.importorskip("torch")


@pytest.fixture
def device():
    return device_of("triton")


@pytest.fixture(params=[np.float32, np.float64])
def both(device, request, rng):
    """The same rows, some of them equal, as a tensor and in NumPy."""
    X = np.ascontiguousarray(rng.integers(-3, 4, size=(300, 3)).astype(request.param))
    X[::7] = rng.normal(size=(43, 3))
    X[X == 1] = -0.0
    return device.lend(torch.tensor(X)), PlainDevice().lend(ForeignArray(X))


def test_memory_is_shared(device):
    values = torch.ones((3, 2), device=device._where)
    assert device.lend(values).tensor.data_ptr() == values.data_ptr()
    if device._where.type == "cpu":  # else the memory of this array is that of the host
        X = np.ones((3, 2))
        X[0, 0] = 5.0
        lent = device.lend(ForeignArray(X))
        assert lent.tensor.data_ptr() == X.ctypes.data
        assert lent.tensor[0, 0] == 5.0


@pytest.mark.parametrize("kind", ["int32", "float16", "bfloat16", "bool"])
def test_other_types_become_float64(device, kind):
    lent = device.lend(torch.ones((2, 2), dtype=getattr(torch, kind), requires_grad="f" in kind))
    assert lent.dtype == np.float64
    np.testing.assert_array_equal(np.asarray(lent), np.ones((2, 2)))


def test_rows_are_read(both):
    one, other = both
    for index in (slice(None), slice(0, 100, 9), np.array([5, 2, 2])):
        np.testing.assert_array_equal(one[index], other[index])
        np.testing.assert_array_equal(one.part(index)[:], other[index])
        assert one[index].dtype == one.dtype == other.dtype


def test_figures(both, rng, monkeypatch):
    monkeypatch.setattr("widestreet._src.device.tensors._VALUES_AT_ONCE", 100)
    one, other = both
    assert one.shape == other.shape
    assert one.largest() == other.largest()
    weight, origin, some = rng.random(300), rng.normal(size=3), np.array([7, 3])
    for w in (None, weight):
        np.testing.assert_allclose(one.moments(w, origin), other.moments(w, origin), rtol=TOL.twin)
    for where in (None, origin):
        for index in (None, some):
            found = one.squares(where, index)
            np.testing.assert_allclose(found, other.squares(where, index), rtol=TOL.twin)


def test_equal_rows_are_found(both, monkeypatch):
    monkeypatch.setattr("widestreet._src.device.tensors._VALUES_AT_ONCE", 100)
    one, other = both
    np.testing.assert_array_equal(one.repeated(), other.repeated())
    assert 0 < len(one.repeated()) < 300


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite(device, bad):
    X = torch.ones((4, 2))
    assert device.lend(X).finite()
    X[2, 1] = bad
    X[3, 1] = -bad
    assert not device.lend(X).finite()


def test_a_large_sum_is_finite(device):
    assert device.lend(torch.full((4, 2), 1e308, dtype=torch.float64)).finite()
