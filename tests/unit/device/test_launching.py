"""Launches of programs: every value of an argument counts, however it was launched before."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest

from conftest import TOL
from support.devices import device_of
from unit.device.test_working import Problem
from widestreet._src.device.contract import Map

torch = pytest.importorskip("torch", reason="PyTorch is not installed")


@pytest.fixture
def add_parts():
    device_of("triton")
    from widestreet._src.device.triton_steps import add_parts

    return add_parts


def test_values_of_arguments_are_those_of_the_launch(add_parts, rng):
    device = device_of("triton")
    for rows, parts, named in ((5, 1, False), (16, 3, True), (16, 2, False), (1, 1, True)):
        found, slots = rng.normal(size=(parts, rows)), rng.permutation(rows).astype("int32")
        score = rng.normal(size=rows)
        on = device.to(score)
        given = device.to(found), device.to(slots), on
        if named:
            add_parts[(1,)](*given, m=rows, parts=parts, B=16, num_warps=1)
        else:
            add_parts[(1,)](*given, rows, parts, 16)
        score[slots] += found.sum(axis=0)
        assert abs(on.cpu().numpy() - score).max() < 1e-14


def test_addresses_that_are_not_aligned(add_parts):
    device = device_of("triton")
    slots = device.to(np.arange(4, dtype=np.int32))
    for begin in (0, 1, 0, 2):
        score = device.to(np.arange(8.0))
        part = score[begin : begin + 4]
        add_parts[(1,)](torch.ones_like(part)[None], slots, part, 4, 1, 16)
        expected = [k + (begin <= k < begin + 4) for k in range(8)]
        assert score.tolist() == expected


def test_widths_of_lines_that_are_not_aligned(rng):
    """Triton compiles widths that are multiples of 16 in another way."""
    work = Problem(rng, Map("rbf", 0.7), 0.0).work
    for width in (64, 23, 32, 21, 1, 64):
        slots = work.slots[: min(width, work.active)]
        out = torch.full((len(slots), width), torch.nan, dtype=torch.float64, device=slots.device)
        found = work._tile(slots, out).cpu().numpy()
        np.testing.assert_allclose(found[: len(slots), : len(slots)].diagonal(), 1.0, rtol=TOL.twin)
        assert np.isfinite(found).all()


def test_a_missing_argument_is_an_error(add_parts):
    with pytest.raises(KeyError, match="SLOTS"):
        add_parts[(1,)](torch.zeros(1))


def test_first_launches_in_several_threads(add_parts):
    """Triton is not made for them: a thread might launch what another one has not loaded yet."""
    device, sizes = device_of("triton"), [100 + k for k in range(40)]

    def total(rows: int) -> float:
        score = device.to(np.zeros(rows))
        slots = device.to(np.arange(rows, dtype=np.int32))
        add_parts[(rows // 16 + 1,)](torch.ones_like(score)[None], slots, score, rows, 1, 16)
        return float(score.sum())

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(total, sizes)) == sizes


def test_a_launch_gets_the_numbers_that_change(add_parts, rng):
    device = device_of("triton")
    found, score = device.to(rng.normal(size=(3, 16))), device.to(np.zeros(16))
    slots = device.to(np.arange(16, dtype=np.int32))
    launch = add_parts.launch((1,), ("m", "parts"), found, slots, score, 0, 0, B=16)
    launch(16, 3)
    expected = found.cpu().numpy().sum(axis=0)
    launch(5, 2)
    expected[:5] += found.cpu().numpy().ravel()[:10].reshape(2, 5).sum(axis=0)
    np.testing.assert_allclose(score.cpu().numpy(), expected, rtol=TOL.twin)


class Compiled:
    """A program that was compiled: it notes its launches."""

    def __init__(self) -> None:
        self.launches: list[tuple[object, ...]] = []

    def __getitem__(self, grid):
        def run(*values, stream=None):
            self.launches.append((grid, stream, *values))

        return run


def test_a_launch_is_examined_once(monkeypatch):
    """After that the driver gets addresses, and the stream of the device of the tensors."""
    from widestreet._src.device import launching

    kernel, examined = Compiled(), []

    def first(*given, **named):
        examined.append((given, named))
        return kernel

    active = SimpleNamespace(get_current_stream=lambda index: ("stream", index))
    monkeypatch.setattr(launching, "driver", SimpleNamespace(active=active))
    tensor = torch.zeros(3)
    launch = launching.Launch(first, (2, 5), [tensor, 1, 0.0, 7], {"num_warps": 4}, [2, 1])
    for fraction, number in ((0.5, 3), (0.25, 4), (0.125, 5)):
        launch(fraction, number)
    assert examined == [(((2, 5), tensor, 3, 0.5, 7), {"num_warps": 4})]
    stream, address = ("stream", tensor.get_device()), tensor.data_ptr()
    assert kernel.launches == [
        ((2, 5, 1), stream, address, 4, 0.25, 7),
        ((2, 5, 1), stream, address, 5, 0.125, 7),
    ]
    with pytest.raises(ValueError, match="zip"):
        launch(0.5)
