"""Arrays of other libraries: where they are, and results that go back."""

from __future__ import annotations

import numpy as np
import pytest

from support.devices import ForeignArray, PlainDevice
from widestreet._src.device.lent import detached, on_device, on_host, returned

VALUES = np.arange(6.0).reshape(3, 2)


class OnlyInterface:
    """An array with the CUDA array interface only, as those of Numba."""

    __cuda_array_interface__ = None

    def get(self):
        return VALUES


def test_arrays_on_a_device_are_found():
    assert on_device(ForeignArray(VALUES))
    assert on_device(OnlyInterface())
    for other in (VALUES, [[1.0]], None, "rows", PlainDevice().lend(ForeignArray(VALUES))):
        assert not on_device(other)
        assert on_host(other) is other


class Convertible:
    """An array on a GPU that NumPy converts, as those of JAX."""

    def __dlpack_device__(self):
        return 2, 0

    def __array__(self, dtype=None, copy=None):
        return VALUES


def test_arrays_are_copied_to_the_host():
    for there in (ForeignArray(VALUES), OnlyInterface(), Convertible()):
        np.testing.assert_array_equal(on_host(there), VALUES)


def test_tensors_of_the_host_are_not_copied():
    torch = pytest.importorskip("torch")
    tensor = torch.arange(6.0).requires_grad_()
    assert not on_device(tensor)
    found = on_host(tensor)
    assert isinstance(found, np.ndarray)
    assert np.shares_memory(found, detached(tensor).numpy())
    assert not detached(tensor).requires_grad


def test_results_go_back():
    found = returned(np.array([1, 2]), ForeignArray(VALUES, "second"))
    assert isinstance(found, ForeignArray)
    assert found.device == "second"
    np.testing.assert_array_equal(found.values, [1, 2])


def test_text_and_results_for_unknown_libraries_stay_on_the_host():
    text = np.array(["yes", "no"])
    assert returned(text, ForeignArray(VALUES)) is text
    assert returned(VALUES, OnlyInterface()) is VALUES


class OfContext(ForeignArray):
    """An array of a library whose devices are contexts, as those of CuPy."""

    def __array_namespace__(self):
        return OfContext

    @staticmethod
    def asarray(values):
        return OfContext(values)


def test_a_device_may_be_a_context():
    entered = []

    class Device:
        def __enter__(self):
            entered.append(self)

        def __exit__(self, *reason):
            pass

    assert isinstance(returned(VALUES, OfContext(VALUES, Device())), OfContext)
    assert len(entered) == 1


def test_tensors_get_tensors():
    torch = pytest.importorskip("torch")
    found = returned(np.array([1, 2]), torch.zeros(2))
    assert isinstance(found, torch.Tensor)
    assert found.tolist() == [1, 2]


def test_means_are_weighted(rng):
    X, weight = rng.normal(size=(50, 3)) + 1e6, rng.random(50)
    lent = PlainDevice().lend(ForeignArray(X))
    np.testing.assert_allclose(lent.mean(), X.mean(axis=0))
    np.testing.assert_allclose(lent.mean(weight), np.average(X, axis=0, weights=weight))
    assert lent.ndim == 2
    assert len(lent) == 50
    np.testing.assert_array_equal(np.asarray(lent), X)
