"""Launches of programs: every value of an argument counts, however it was launched before."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

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
