"""Problems side by side on a device: each one's optimum, their limits, and what stalls."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from conftest import TOL
from support.batches import Pairs
from support.devices import DEVICES, PlainBatch, PlainDevice
from widestreet._src.device.batch_contract import Standings
from widestreet._src.engines.budget import Budget
from widestreet._src.engines.working_set import batch_on_device
from widestreet._src.engines.working_set.batch_on_device import batches, solve, widest
from widestreet._src.problems.goal import Goal

WEIGHTS = (0.0, 0.5, 1.0, 3.0)


@pytest.mark.parametrize("where", DEVICES)
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_every_problem_is_solved(where, weights):
    pairs, goal = Pairs(where, weights=weights), Goal(1e-3)
    for p, found in enumerate(solve(pairs.resident, pairs.parts, goal, Budget())):
        violation, objective = pairs.judged(p, found.beta)
        assert found.status == "optimal"
        assert violation <= goal.tol
        assert found.dual_objective == pytest.approx(objective, rel=TOL.objective_rel)
        [record] = found.trace
        assert record.problem == p
        assert record.n_sv == len(found.point)
        assert record.violation == pytest.approx(violation, abs=TOL.twin)
        assert record.gap >= 0.0
        assert found.pair_steps == record.pair_steps > 0
        assert found.kernel_values == record.kernel_values >= pairs.parts[p].dual.rows ** 2


@pytest.mark.parametrize("where", DEVICES)
def test_from_a_starting_point(where):
    pairs, goal = Pairs(where), Goal(1e-3)
    first = solve(pairs.resident, pairs.parts, goal, Budget())
    starts = [replace(part, start=one.beta) for part, one in zip(pairs.parts, first, strict=True)]
    for p, found in enumerate(solve(pairs.resident, starts, goal, Budget())):
        assert found.status == "optimal"
        assert found.pair_steps == 0
        np.testing.assert_array_equal(found.beta, first[p].beta)


def test_a_limit_of_steps_is_one_of_each_problem():
    pairs = Pairs("numpy")
    for p, found in enumerate(solve(pairs.resident, pairs.parts, Goal(1e-3), Budget(None, 3))):
        assert found.status == "iteration_limit"
        assert found.pair_steps == 3
        assert pairs.judged(p, found.beta)[1] > 0.0


class Stopping(PlainBatch):
    """Problems that are stopped in the third round."""

    error: BaseException = KeyboardInterrupt()

    def pairs(self, width, to):
        if self.calls.count("pairs") == 2:
            raise self.error
        return super().pairs(width, replace(to, most=2))


class Idle(PlainBatch):
    """Problems without progress."""

    def pairs(self, width, to):
        self.calls.append("pairs")
        return self.look()


class Broken(Idle):
    """Problems whose figures are no numbers."""

    def look(self) -> Standings:
        found = super().look()
        return replace(found, highest=np.full(len(self.works), np.nan))


class Of(PlainDevice):
    """A device with problems of another kind."""

    def __init__(self, kind: type[PlainBatch]) -> None:
        super().__init__()
        self.kind = kind

    def batch(self, *arguments):
        self.batches.append(self.kind(super().batch(*arguments).works))
        return self.batches[-1]


def test_an_interrupt_keeps_what_was_reached():
    pairs = Pairs(Of(Stopping))
    for p, found in enumerate(solve(pairs.resident, pairs.parts, Goal(1e-3), Budget())):
        assert found.status == "interrupted"
        assert found.pair_steps == 4
        assert found.dual_objective == pytest.approx(pairs.judged(p, found.beta)[1])


def test_a_time_limit_keeps_what_was_reached(monkeypatch):
    device = Of(PlainBatch)
    pairs, budget = Pairs(device), Budget(1e-9)
    for found in solve(pairs.resident, pairs.parts, Goal(1e-3), budget):
        assert found.status == "time_limit"
        assert not len(found.point)
    assert not device.batches[-1].calls


@pytest.mark.parametrize("kind", [Idle, Broken])
def test_problems_without_progress_stall(kind):
    device = Of(kind)
    pairs = Pairs(device)
    for found in solve(pairs.resident, pairs.parts, Goal(1e-3), Budget()):
        assert found.status == "stalled"
    patience = batch_on_device._PATIENCE
    assert patience < device.batches[-1].calls.count("pairs") <= 2 * patience


def test_blocks_have_room_for_all_rows_that_take_part():
    rounds = batch_on_device._Rounds(PlainBatch([]), 0.1, Budget(), 2048)
    rounds.best = rounds.idle = np.zeros(3)
    ends = np.array([1.0, 1.0, 0.0])  # the third problem is solved
    for free, violators, width in (
        ([0, 0, 0], [9000, 9000, 0], 2048),
        ([0, 900, 0], [100, 50, 0], 2048),
        ([0, 880, 0], [100, 50, 0], 1024),
        ([100, 50, 5000], [10, 20, 9000], 128),
    ):
        counts = (np.array(free, float), np.array(violators, float))
        rounds.now = Standings(0 * ends, ends, -ends, *counts, 0 * ends)
        rounds.rounds = 3
        assert rounds._width() == width
        rounds.rounds = 0
        assert rounds._width() == min(width, 1024)


def test_groups_fit_into_the_memory():
    sizes = [100, 1000, 300, 40]
    width = widest(1000)
    block = 4 * width**2 + 64 * width
    assert batches(sizes, 10 * block) == [[0, 1, 2, 3]]
    assert batches(sizes, 2 * block + 90_000) == [[0, 1], [2, 3]]
    assert batches(sizes, block + 50_000) == []
    assert widest(3) == 64
    assert widest(10**6) == 2048
