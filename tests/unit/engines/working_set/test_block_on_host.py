"""Steps on the host in a block: the dual rises to its optimum, bounds and sums hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from conftest import TOL
from widestreet._src.device.contract import Block, Variables
from widestreet._src.engines.working_set.block_on_host import Patience, solve_block
from widestreet._src.kernels.poll import Poll

ROWS = 40


def block_of(rng: np.random.Generator, tube: float, box: float = 2.0) -> Block:
    X = rng.normal(size=(ROWS, 3))
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    y = X[:, 0] + 0.5 * rng.normal(size=ROWS)
    nothing, wide = np.zeros(ROWS), np.full(ROWS, box)
    if tube:
        return Block(K, Variables(nothing, nothing, y - tube / 2, nothing + tube, -wide, wide))
    lower, upper = np.where(y > 0, 0.0, -wide), np.where(y > 0, wide, 0.0)
    return Block(K, Variables(nothing, nothing, np.sign(y), nothing, lower, upper))


def violation(block: Block, coef: np.ndarray) -> float:
    """Return the violation of a feasible point."""
    v = block.variables
    assert ((v.lower <= coef) & (coef <= v.upper)).all()
    assert abs(coef.sum()) <= TOL.twin * max(1.0, np.abs(coef).sum())
    f = v.target - block.tile @ coef
    up = np.where(coef < 0, f + v.tube, np.where(coef < v.upper, f, -np.inf))
    down = np.where(coef > 0, f, np.where(coef > v.lower, f + v.tube, np.inf))
    return float(up.max() - down.min())


@pytest.mark.parametrize("patience", [None, Patience(), Patience(wait=3.0)])
@pytest.mark.parametrize("tube", [0.0, 0.4])
@pytest.mark.parametrize("box", [2.0, 1e4])
def test_a_block_is_solved(tube, box, patience, rng):
    patience = patience and replace(patience)
    block = block_of(rng, tube, box)
    at, values, steps = solve_block(block, 1e-6, 100_000, patience, Poll())
    coef = np.zeros(ROWS)
    coef[at] = values
    assert steps > 0
    assert not block.variables.coef.any()
    assert violation(block, coef) <= 2e-6


def test_steps_are_limited(rng):
    block = block_of(rng, 0.0)
    at, _, steps = solve_block(block, 1e-6, 2, None, Poll())
    assert steps == 2
    assert 0 < len(at) <= 4


def test_a_solved_block_does_not_change(rng):
    at, coef, steps = solve_block(block_of(rng, 0.4), 100.0, 10, None, Poll())
    assert len(at) == len(coef) == steps == 0


def test_newton_steps_that_are_cut_become_rare():
    patience = Patience()
    before = patience.wait
    patience.took(settled=False)
    assert patience.wait > before
    patience.took(settled=True)
    patience.took(settled=True)
    patience.took(settled=True)
    assert patience.wait < before


def test_an_interrupt_leaves_the_block_as_it_was(rng):
    def interrupt() -> None:
        raise KeyboardInterrupt

    block = block_of(rng, 0.0)
    with pytest.raises(KeyboardInterrupt):
        solve_block(block, 1e-9, 100_000, Patience(wait=3.0), Poll(interrupt))
    assert not block.variables.coef.any()
    assert not block.variables.score.any()
