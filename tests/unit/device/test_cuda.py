"""Rows in the memory of a GPU: padding, halves of features, and how sums are divided."""

from __future__ import annotations

import numpy as np
import pytest

from support.devices import device_of
from widestreet._src.device.contract import MOST_PARTS, Map


@pytest.fixture
def device():
    return device_of("triton")


@pytest.mark.parametrize(
    ("features", "columns"), [(1, 16), (16, 16), (17, 32), (64, 64), (65, 128)]
)
def test_columns_are_padded(device, features, columns):
    held = device.hold(np.ones((3, features), dtype=np.float32), None, Map("rbf", 1.0))
    assert held.width == columns
    assert not held.full[:, features:].any()
    assert device.bytes_per_row(features) >= 12 * columns


@pytest.mark.parametrize("size", [1e-30, 1e-3, 1.0, 1e6])
def test_two_halves_have_22_digits(device, size, rng):
    X = rng.normal(size=(50, 4)) * size
    held = device.hold(X, None, Map("poly", 1.0, 0.0, 2))
    halves = held.high.double().cpu().numpy() + held.low.double().cpu().numpy()
    scaled = X * 2.0**held.shift
    if size > 1e-20:
        assert 2.0**9 <= np.abs(scaled).max() <= 2.0**10
    rest = np.abs(halves[:, :4] - scaled)
    assert (rest <= np.maximum(2.0**-22 * np.abs(scaled), 2.0**-25)).all()


def test_rows_of_zeros(device):
    held = device.hold(np.zeros((2, 3)), None, Map("rbf", 1.0))
    found = device.scan(Map("rbf", 1.0), held, None, held, None, np.ones((1, 2)), False)
    np.testing.assert_array_equal(found, [[2.0, 2.0]])


@pytest.mark.parametrize("width", [1, 500, 4096, 10**6])
@pytest.mark.parametrize("height", [1, 100, 10**6])
def test_parts_cover_all_vectors(device, height, width):
    from widestreet._src.device.cuda import _divided

    blocks, length, parts = _divided(height, width, 32, device._units)
    assert (blocks - 1) * 64 < height <= blocks * 64
    assert (parts - 1) * length < width <= parts * length
    assert length % 32 == 0
    assert parts <= MOST_PARTS


def test_short_memory_is_a_memory_error(device, monkeypatch):
    import torch

    def full(*arguments, **options):
        raise torch.OutOfMemoryError("CUDA out of memory")

    held = device.hold(np.ones((3, 2)), None, Map("rbf", 1.0))
    monkeypatch.setattr(device, "_held", full)
    with pytest.raises(MemoryError, match="out of memory"):
        device.hold(np.ones((3, 2)), None, Map("rbf", 1.0))
    monkeypatch.setattr(device, "_double", full)
    with pytest.raises(MemoryError, match="out of memory"):
        device.scan(Map("rbf", 1.0), held, None, held, None, np.ones((1, 3)), True)


def test_a_first_scan_of_its_kind_is_announced(device, caplog):
    by = Map("poly", 0.5, 2.0, 7)
    held = device.hold(np.ones((3, 2)), None, by)
    with caplog.at_level("INFO", logger="widestreet"):
        for _ in range(2):
            device.scan(by, held, None, held, None, np.ones((1, 3)), True)
    assert [device.name in record.getMessage() for record in caplog.records] == [True]
