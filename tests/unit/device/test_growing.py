"""Working sets that grow on a device: scores of all rows are K c, and what changed comes back."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from support.devices import DEVICES, device_of, values
from widestreet._src.device.contract import Choice, Map, Variables

ROWS = 40


class Problem:
    """All rows of a classifier on a device, with their kernel matrix."""

    def __init__(self, where: str, rng: np.random.Generator) -> None:
        by, X, zero = Map("rbf", 0.7), rng.normal(size=(ROWS, 3)), np.zeros(ROWS)
        y = np.where(X[:, 0] + 0.5 * rng.normal(size=ROWS) > 0, 1.0, -1.0)
        tube, box = np.broadcast_to(0.0, ROWS), np.full(ROWS, 2.0)
        lower, upper = np.where(y > 0, 0.0, -box), np.where(y > 0, box, 0.0)
        self.K = values(by, X * by.factor, X * by.factor)
        device, variables = device_of(where), Variables(zero, zero, y, tube, lower, upper)
        held = device.hold(X, None, by)
        work = device.work(by, held, np.arange(ROWS), variables, 1e-4, double=True)
        self.held, self.coef = device.growing(work), zero.copy()

    def check(self) -> np.ndarray:
        """Check the rows that come back; return their slots. Sets: coef."""
        moved, before = self.held.moved(), self.coef.copy()
        self.coef[moved.slots] = moved.coef
        np.testing.assert_array_equal(before[moved.slots], moved.coef_before)
        for score, coef in ((moved.score, self.coef), (moved.score_before, before)):
            np.testing.assert_allclose(score, (self.K @ coef)[moved.slots], rtol=0, atol=TOL.twin)
        return moved.slots


@pytest.mark.parametrize("where", DEVICES)
def test_scores_of_all_rows_are_present_after_a_census(where, rng):
    problem = Problem(where, rng)
    held, first = problem.held, np.arange(3, ROWS, 4)
    held.begin(first, np.zeros(len(first)))
    assert held.work.active == len(first)
    held.work.pairs(64, (1.0, 1.0), 1e-4, 0.0, 5)
    before = held.census(1e-3)
    assert before.violators > 0
    held.choose(Choice(slack=np.inf, support_slack=np.inf, tol=1e-3, chance=1.0, most=ROWS))
    assert held.work.active == len(first) + before.violators
    held.work.pairs(64, (1.0, 1.0), 1e-4, 0.0, 30)
    after = held.census(1e-3)
    slots = problem.check()
    assert set(first) <= set(slots.tolist())
    c, K = problem.coef, problem.K
    assert after.support == np.count_nonzero(c)
    np.testing.assert_allclose(after.norm, c @ K @ c, rtol=0, atol=TOL.twin * ROWS)
    assert after.linear - 0.5 * after.norm > before.linear - 0.5 * before.norm > 0.0


@pytest.mark.parametrize("where", DEVICES)
def test_a_working_set_begins_again_with_other_rows(where, rng):
    problem = Problem(where, rng)
    held = problem.held
    for first in (np.arange(0, ROWS, 2), np.arange(1, ROWS, 3)[::-1]):
        held.begin(first, (problem.K @ problem.coef)[first])
        held.work.pairs(64, (1.0, 1.0), 1e-4, 0.0, 8)
        held.work.set_aside(0.05)
        problem.check()
    assert problem.coef.any()


@pytest.mark.parametrize("where", DEVICES)
def test_scores_of_the_working_set_are_computed_anew(where, rng):
    problem = Problem(where, rng)
    held, first = problem.held, np.arange(0, ROWS, 2)
    held.begin(first, np.zeros(len(first)))
    held.work.pairs(64, (1.0, 1.0), 1e-4, 0.0, 8)
    held.moved()
    coef = held.moved().coef
    held.begin(first, np.full(len(first), 9.0))
    assert held.refresh() > 0
    moved = held.moved()
    np.testing.assert_array_equal(moved.coef, coef)
    np.testing.assert_allclose(
        moved.score, problem.K[np.ix_(first, moved.slots)] @ coef, rtol=0, atol=TOL.twin
    )


def test_rows_of_which_only_some_can_be_active(rng, monkeypatch):
    """No program writes after the extremes, which are of so many blocks of active rows."""
    device_of("triton")
    import torch

    from widestreet._src.device import block_launches, working

    for module in (block_launches, working):
        monkeypatch.setattr(module, "BLOCK", 8)
        monkeypatch.setattr(module, "MOST_BLOCKS", 2)
    of, after = working.Standing.of, []

    def guarded(m, where):
        stand, size = of(m, where), 4
        memory = torch.full((10 * size,), torch.nan, dtype=torch.float64, device=where)
        stand.extremes = memory[:size].view(2, 2)
        after.append(memory[size:])
        return stand

    monkeypatch.setattr(working.Standing, "of", guarded)
    problem = Problem("triton", rng)
    held, first = problem.held, np.arange(0, ROWS, 3)
    held.begin(first, np.zeros(len(first)))
    held.work.pairs(64, (1.0, 1.0), 1e-4, 0.0, 8)
    assert held.census(1e-3).support > 0
    problem.check()
    assert [bool(guard.isnan().all()) for guard in after] == [True]
