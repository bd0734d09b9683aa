"""Memory of tiles: what is lent and what is kept."""

from __future__ import annotations

import numpy as np
import pytest

from support.working_sets import Bench
from widestreet._src.engines.working_set import tile
from widestreet._src.engines.working_set.tile_memory import LentTiles, TileMemory


def test_the_longest_memory_is_lent_again():
    memory = TileMemory(1000)
    short, long = memory.lend(300), memory.lend(600)
    for one in (long, short):
        memory.take_back(one)
    assert memory.bytes == 900
    assert memory.lend(200) is long
    assert memory.lend(300) is short
    assert memory.bytes == 400  # beyond the size asked for
    memory.take_back(long)
    assert memory.bytes == 600


def test_what_is_lent_beyond_the_need_counts():
    memory = TileMemory(1000)
    memory.take_back(memory.lend(1000))
    long, other = memory.lend(100), memory.lend(1000)
    memory.take_back(other)
    assert memory.bytes == 900
    memory.take_back(long)
    assert memory.bytes == 1000


def test_memory_that_is_too_short_is_not_lent():
    memory = TileMemory(1000)
    memory.take_back(memory.lend(300))
    assert len(memory.lend(301)) == 301
    assert memory.bytes == 300


@pytest.mark.parametrize(
    ("limit", "left"), [(0, 0), (299, 0), (400, 300), (950, 900), (1300, 1200)]
)
def test_no_more_is_kept_than_the_limit_and_the_shortest_goes(limit, left):
    memory = TileMemory(limit)
    for one in [memory.lend(size) for size in (600, 300, 300)]:
        memory.take_back(one)
    assert memory.bytes == left <= limit


def test_a_tile_that_cannot_grow_stays_in_use(monkeypatch):
    """If the copy to a longer tile is interrupted, the shorter one stays in use and lent."""
    monkeypatch.setattr(tile, "_ROOMS", (16, 48))
    memory, bench = TileMemory(1 << 24), Bench("c_svc", 100, 0)
    work = bench.work
    work.lent = LentTiles(memory)
    bench.admit(np.arange(10))
    before, poll = work.tile, work.poll

    class Stop:
        def look(self):
            raise KeyboardInterrupt

    work.poll = Stop()
    with pytest.raises(KeyboardInterrupt):
        work._reserve(40)
    assert work.tile is before
    work.poll = poll
    bench.admit(np.arange(10, 14))
    assert work.tile is before
    assert not any(np.shares_memory(work.tile, one) for one in memory._idle)
    bench.admit(np.arange(14, 40))
    assert len(work.tile) >= 40
    assert not any(np.shares_memory(work.tile, one) for one in memory._idle)


class Damaged(TileMemory):
    """Memory with the worst values."""

    def lend(self, size):
        found = super().lend(size)
        found.view(np.uint8)[:] = 255  # not a number, in any precision
        return found


@pytest.mark.parametrize("double", [False, True])
def test_kept_memory_changes_no_step(double, monkeypatch):
    """Sets grow in memory that held other tiles, as they do in their own."""
    monkeypatch.setattr(tile, "_ROOMS", (16, 48))
    points, kept = [], Damaged(1 << 24)
    kept.take_back(kept.lend(4 * 100 * 132))
    for tiles in (TileMemory(), kept, kept):
        bench = Bench("c_svc", 100, 0)
        work = bench.work
        work.lent = LentTiles(tiles)
        if double:
            work.use_double()
        found = []
        for last in (10, 40, 90):
            bench.admit(np.arange(work.size, last))
            work.solve(1e-3, 10**4, 30)
            bench.collect()
            found += [work.beta[:, work.present].copy(), work.score[work.present].copy()]
            found += [work.tile[work.present, work.present].copy(), work.spare]
        points.append(found)
        work.lent.give_back()
    assert kept.bytes > 0
    for one, other in zip(points[0] + points[0], points[1] + points[2], strict=True):
        np.testing.assert_array_equal(one, other)
