"""Single programs of the steps: where rows stand, blocks that are drawn, tiles, arcs."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from support.devices import device_of
from unit.device.test_working import Problem, variables
from widestreet._src.device.contract import Map


@pytest.fixture
def programs():
    device_of("triton")
    from widestreet._src.device import triton_steps

    return triton_steps


def test_ends_and_kinds(rng):
    work = Problem(rng, Map("rbf", 0.7), 0.4).work
    look = work.look()
    v = variables(np.zeros(1), 0.4)
    assert v.tube[0] == 0.4
    _, score, target, tube, _, _ = work.lines.cpu().numpy()
    f = target - score
    assert look.highest == f.max()
    assert look.lowest == (f + tube).min()
    kind = work.standing.kind.cpu().numpy()
    assert set(np.flatnonzero(kind == 3)) >= {int(f.argmax()), int((f + tube).argmin())}


def test_blocks_have_the_extreme_rows(rng):
    work = Problem(rng, Map("rbf", 0.7), 0.001).work
    work.look()
    extreme = set(np.flatnonzero(work.standing.kind.cpu().numpy() == 3))
    drawn = work._drawn(16, 0.0, 0.0)[0].cpu().numpy()
    assert set(drawn[drawn >= 0]) == extreme
    block, rows = (found.cpu().numpy() for found in work._drawn(work.active, 1.0, 1.0))
    taking = np.flatnonzero(work.standing.kind.cpu().numpy())
    np.testing.assert_array_equal(block[block >= 0], taking)
    np.testing.assert_array_equal(rows[block >= 0], work.rows.cpu().numpy()[taking])


def test_tiles_are_kernel_values(programs, rng):
    import torch

    problem = Problem(rng, Map("poly", 0.5, 1.0, 3), 0.0)
    slots = problem.work.slots[:20]
    out = torch.full((20, 64), torch.nan, dtype=torch.float64, device=slots.device)
    found = problem.work._tile(slots, out).cpu().numpy()
    np.testing.assert_allclose(found[:, :20], problem.K[:20, :20], rtol=TOL.twin)
    assert not found[:, 20:].any()
