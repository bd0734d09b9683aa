"""Launches of a block: made once for the same active rows, and anew for others."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from support.devices import device_of
from unit.device.test_working import ROWS, Problem
from widestreet._src.device.contract import Map

torch = pytest.importorskip("torch", reason="PyTorch is not installed")


@pytest.fixture
def problem(rng):
    device_of("triton")
    return Problem(rng, Map("rbf", 0.7), 0.0, double=False)


def test_they_are_made_once_for_the_same_rows(problem):
    work = problem.work
    launches = work._launches
    made = [launches.mark(), launches.look(None), launches.drawn(8), launches.steps(work.slots)]
    again = [launches.mark(), launches.look(None), launches.drawn(8), launches.steps(work.slots)]
    assert all(one is other for one, other in zip(made, again, strict=True))
    assert launches.drawn(4) is not launches.drawn(8)
    work.activate(work.slots[:20])
    assert work._launches.mark() is not launches.mark()


def test_parts_of_scans_of_blocks_stay_in_their_place(problem):
    work = problem.work
    *_, short = work._launches.steps(work.slots)
    scan, parts = work._launches.scan(work.places, short)
    assert work._launches.scan(work.places, short) == (scan, parts)
    assert work._launches.look(parts) is work._launches.look(parts)
    other = torch.zeros_like(parts)
    assert work._launches.look(other) is not work._launches.look(other)


@pytest.mark.parametrize("size", [8, 64])
def test_blocks_after_a_change_of_the_active_rows(problem, size):
    """Scores are right whatever launches were examined before, and however often."""
    work, objective = problem.work, -np.inf
    for distance in (None, 0.05, 0.5):
        if distance is not None:
            work.set_aside(distance)
        for _ in range(3):
            work.pairs(size, (0.5, 0.5), 1e-5, 0.1, 4, blocks=2)
        work.newton(0.03, 8)
        work.take_back()
        assert work.active == ROWS
        before, objective = objective, problem.checked(TOL.scan_float32)
        assert objective >= before - TOL.scan_float32
