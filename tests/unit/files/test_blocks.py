"""Blocks of a spool as the shards of problems."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from support.blocks import task
from support.settings import NoCallbacks, settings
from widestreet._src.files.blocks import SpoolBlocks
from widestreet._src.files.port import EXAMINED
from widestreet._src.files.spool import spooled
from widestreet._src.kernels.kernels import RBF
from widestreet._src.kernels.poll import Poll
from widestreet._src.problems.formulations import CSVC
from widestreet._src.problems.goal import Goal
from widestreet._src.reporting.observers import Observers
from widestreet._src.shards.columns import TakenRows
from widestreet._src.shards.expansion import Expansion
from widestreet._src.shards.first_rows import count_negative
from widestreet._src.shards.news import News
from widestreet._src.shards.point import Point
from widestreet._src.training.sharded import train_blocks

ROWS = 300


@pytest.fixture
def three_classes(tmp_path, rng):
    X, y = rng.normal(size=(ROWS, 3)), rng.integers(0, 3, ROWS)
    X += np.eye(3)[y]
    kernel, factors = RBF(0.3), np.array([1.0, 2.0, 0.5])
    memory = task(kernel, CSVC(2.0), X, y, class_weight=factors, cuts=[100])
    spool = spooled(
        [(X[a : a + 50], y[a : a + 50], None) for a in range(0, ROWS, 50)],
        rows=ROWS,
        columns=3,
        dtype=X.dtype,
        labels=True,
        weighted=False,
        scratch=tmp_path,
        block_rows=40,
        buffer_bytes=10**6,
        rng=rng,
        extra=EXAMINED,
        check=lambda census: None,
    )
    yield memory, SpoolBlocks(spool, memory.none), X, y
    spool.close()


def test_all_pairs_have_the_optima_of_rows_in_memory(three_classes):
    memory, blocks, X, y = three_classes
    stored = type(memory)(blocks, memory.recipe, memory.none, 3, threads=1, room=1 << 14)
    found = []
    for job in (memory, stored):
        with Observers(0, 1e-3, NoCallbacks(), ["0", "1", "2"]) as watch:
            found.append(train_blocks(job, settings(goal=Goal(1e-5)), watch))
    for mine, other in zip(found[0][1], found[1][1], strict=True):
        assert mine.certificate.status == other.certificate.status == "optimal"
        assert mine.certificate.n_rows == other.certificate.n_rows
        difference = mine.certificate.dual_objective - other.certificate.dual_objective
        assert abs(difference) <= TOL.strategies_rel * mine.certificate.dual_objective
    supports = found[1][0]
    assert np.array_equal(supports.data, X[supports.origin])
    assert np.array_equal(supports.code, y[supports.origin])


def test_questions_about_variables_of_a_pair_read_no_features(three_classes, monkeypatch):
    memory, blocks, _, y = three_classes
    sums = blocks.ask(memory.recipe.sums, lambda: None)
    sizes = tuple(part.rows for part in sums)
    assert sum(sizes) == np.count_nonzero(y < 2)
    recipe = type(memory.recipe)(
        RBF(0.3), CSVC(2.0), memory.recipe.longest, np.ones(3), totals=sums[0], sizes=sizes
    )
    monkeypatch.setattr(SpoolBlocks, "load", None)
    port = blocks.connect(recipe)
    assert list(port.sizes) == [size for size in sizes if size]
    rows = TakenRows(RBF(0.3), memory.none, memory.recipe.longest).rows
    port.publish(News(0, Expansion.zero(1), Point.zero(1), rows=rows))
    answers = port.ask(count_negative, dict.fromkeys(range(len(port.sizes)), ()), Poll())
    assert sum(answers.values()) == np.count_nonzero(y == 1)


def test_the_clock_is_looked_at_between_blocks(three_classes):
    _, blocks, _, _ = three_classes
    looks = []
    blocks.ask(len, lambda: looks.append(1))
    assert len(looks) == len(blocks.spool.sizes)
