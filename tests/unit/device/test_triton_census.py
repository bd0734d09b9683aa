"""Single programs over all rows: sums over several programs, and random choices."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from support.devices import device_of

pytest.importorskip("torch", reason="PyTorch is not installed")

ROWS, BLOCK = 300, 64


@pytest.fixture
def programs():
    device_of("triton")
    from widestreet._src.device import triton_census

    return triton_census


@pytest.fixture
def state(rng):
    """Coefficients, scores, targets, tubes and bounds, and which rows are inside."""
    high, low = rng.random(ROWS) + 0.5, -rng.random(ROWS) - 0.5
    coef = np.clip(2.0 * rng.normal(size=ROWS), low, high) * (rng.random(ROWS) < 0.5)
    lines = [coef, *rng.normal(size=(2, ROWS)), np.full(ROWS, 0.3), low, high]
    return lines, (rng.random(ROWS) < 0.4).astype(np.int8)


def test_sums_and_extremes_of_several_programs(programs, state):
    (c, score, target, tube, low, high), inside = state
    device, count = device_of("triton"), -(-ROWS // BLOCK)
    ends, out = device.to(np.array([0.4, -0.2])), device.to(np.zeros((programs.FIGURES, count)))
    lines = [device.to(line) for line in state[0]]
    programs.count[(count,)](*lines, device.to(inside), ends, out, ROWS, 0.05, BLOCK)
    figures, f = out.cpu().numpy(), target - score
    up = np.where(c < 0, f + tube, np.where(c < high, f, -np.inf))
    down = np.where(c > 0, f, np.where(c > low, f + tube, np.inf))
    excess = np.maximum(up - 0.1, 0.1 - down)
    violates = (excess > 0.05) & (inside == 0)
    assert (figures[0].max(), figures[1].min()) == (up.max(), down.min())
    assert (figures[2] == ends.cpu().numpy().mean()).all()
    numbers = violates.sum(), np.count_nonzero(c), ((c != 0) & (c > low) & (c < high)).sum()
    assert tuple(figures[[3, 5, 6]].sum(axis=1)) == numbers
    losses = np.maximum(high * (f - 0.1), 0) + np.maximum(low * (f - 0.1 + tube), 0)
    sums = excess[violates].sum(), target @ c + tube @ np.minimum(c, 0), c @ score, losses.sum()
    np.testing.assert_allclose(figures[[4, 7, 8, 9]].sum(axis=1), sums, rtol=TOL.twin * ROWS)


def test_a_part_of_the_violators_is_chosen_at_random(programs, state):
    device, found = device_of("triton"), {}
    lines, inside = [device.to(line) for line in state[0]], device.to(state[1])
    ends = device.to(np.array([0.4, -0.2]))
    for chance, seed in ((1.0, 1), (0.3, 1), (0.3, 2), (0.0, 1)):
        out = device.to(np.zeros(ROWS, dtype=np.int8))
        programs.choose[(-(-ROWS // BLOCK),)](
            *lines, inside, ends, out, ROWS, -np.inf, -np.inf, 0.05, chance, seed, BLOCK
        )
        found[chance, seed] = set(np.flatnonzero(out.cpu().numpy()))
    every = found[1.0, 1]
    assert every
    assert not any(state[1][list(every)])
    assert not found[0.0, 1]
    assert found[0.3, 1] < every
    assert found[0.3, 2] < every
    assert found[0.3, 1] != found[0.3, 2]
