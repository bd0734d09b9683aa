"""Walks that look at few rows: a guess that is right at the end, whatever it was."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from conftest import TOL
from histories import KERNELS as MACHINE_KERNELS
from histories import History
from test_path import KERNELS, MODELS, World
from widestreet._src.engines.homotopy import active_rows as sight
from widestreet._src.engines.homotopy.parametric_optimum import Counts, Ends

pytestmark = pytest.mark.numeric


@pytest.fixture
def blinkered(monkeypatch):
    """Walks look at one bound variable, however few rows there are."""
    monkeypatch.setattr(sight, "_WORTH", 0)
    monkeypatch.setattr(sight, "_NEAR", 1)


def history(world, path, changes=25):
    """Rows come and go; yields after each change."""
    for _ in range(changes):
        weight = world.next()
        if weight is not None:
            path.follow(world.ends(weight))
            world.weight = weight
            yield


@pytest.mark.parametrize("again", [1, 3, 16])
@pytest.mark.parametrize("model", MODELS)
def test_the_optimum_is_exact_where_the_guess_is_poor(model, again, blinkered, monkeypatch):
    """Rows are overlooked, and every change ends at the optimum all the same."""
    monkeypatch.setattr(sight, "_AGAIN", again)
    overlooked = 0
    for seed, kernel in product(range(3), KERNELS):
        world = World(model, kernel, seed)
        path = world.path()
        for _ in history(world, path):
            world.check(path)
            assert isinstance(path.watched, slice)
        overlooked += path.counts.overlooked
    assert overlooked > 0


def test_few_rows_lead_where_all_rows_do(blinkered):
    overlooked = 0
    for model in MODELS:
        world = World(model, "rbf", 24, n=60)
        world.C, world.nu, world.epsilon = 10.0, 0.3, 0.1
        path, wide = world.path(), world.path()
        for _ in history(world, path, 60):
            wide.follow(world.ends(world.weight), near=0)
            size = max(10.0, np.abs(path.beta).sum())
            np.testing.assert_allclose(path.score, wide.score, rtol=0, atol=TOL.decision * size)
            np.testing.assert_allclose(path.bias, wide.bias, rtol=0, atol=TOL.decision * size)
        overlooked += path.counts.overlooked
        assert wide.counts.overlooked == 0
    assert overlooked > 0


def test_targets_that_made_overlooked_rows_right_are_taken_back(blinkered):
    """To the last digit, also where the path was to leave targets alone."""
    world = World("nu_svr", "rbf", 2, n=40)
    world.weight, world.nu = np.ones(world.n), 0.2
    path = world.path()
    before = path.target.copy()
    for nu in (0.8, 0.1, 0.5):
        path.follow(Ends(total=path.total * (nu / world.nu)))
        world.nu = nu
        world.check(path)
        np.testing.assert_array_equal(path.target, before)
    assert path.counts.overlooked > 0


@pytest.mark.parametrize("what", ["target", "total"])
def test_who_is_told_of_every_segment_is_told_the_truth(what, blinkered, monkeypatch):
    """A path that is observed looks at all rows."""
    world = World("nu_svr", "rbf", 3, n=40)
    world.C, world.nu, world.weight = 10.0, 0.2, np.ones(world.n)
    found = []
    for worth in (0, np.inf):
        monkeypatch.setattr(sight, "_WORTH", worth)
        path, segments = world.path(), []
        moved = path.target.copy()
        moved[8:10] += 3.0  # of one row: few data move
        ends = Ends(target=moved) if what == "target" else Ends(total=3 * path.total)
        path.follow(ends, observe=segments.append)
        found.append([(s.theta, s.length, s.free.tolist()) for s in segments])
        assert path.counts.overlooked == 0
    assert found[0] == found[1]
    assert len(found[0]) > 2


def test_many_rows_that_move_are_all_looked_at(blinkered):
    world = World("eps_svr", "rbf", 3, n=40)
    world.weight = np.ones(world.n)
    path = world.path()
    path.follow(world.ends(2.0 * world.weight))
    assert path.counts.overlooked == 0


@pytest.mark.parametrize("model", MODELS)
def test_machines_with_blinkers_are_what_refits_would_be(model, blinkered):
    """Rows are appended and dropped between the walks."""
    machine = History(model, list(MACHINE_KERNELS)[MODELS.index(model) % 3], 3)
    for _ in range(15):
        machine.step()
        machine.check()


def test_with_many_rows_few_are_looked_at_and_hardly_one_is_overlooked(monkeypatch):
    """The guess as it is, on many rows."""
    monkeypatch.setattr(sight, "_WORTH", 50_000)
    rng = np.random.default_rng(0)
    world = World("eps_svr", "rbf", 0, n=600)
    X = rng.normal(size=(world.n, 3))
    squares = (X**2).sum(axis=1)
    world.K = np.exp(-np.maximum(0.0, squares[:, None] + squares - 2 * X @ X.T))
    world.value = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=world.n)
    world.C, world.epsilon, world.weight = 10.0, 0.1, np.ones(world.n)
    path = world.path()
    assert path.rows * len(path.free) >= sight._WORTH
    path.counts, spreads, spread = Counts(), [], path.free.spread
    path.free.spread = lambda change, rows=sight.ALL: (
        spreads.append(isinstance(rows, slice)) or spread(change, rows)
    )
    for row in range(5):
        world.weight[row] = 0.0
        path.follow(world.ends(world.weight))
        world.check(path)
    assert path.counts.overlooked <= 2
    assert path.counts.steps > 50
    assert sum(spreads) < path.counts.steps / 2
