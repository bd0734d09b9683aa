"""What is kept of shards on disk between questions; what they answer is tested with the others."""

from __future__ import annotations

import numpy as np
import pytest

from support.fitting import build_dual
from support.stored_shards import DualOnDisk
from widestreet._src.certificate import float64_where_needed
from widestreet._src.files.port import StoredPort
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import RBF
from widestreet._src.kernels.poll import Poll
from widestreet._src.problems.dual import select
from widestreet._src.problems.goal import Goal
from widestreet._src.rows import as_rows
from widestreet._src.shards.columns import TakenRows
from widestreet._src.shards.expansion import Expansion
from widestreet._src.shards.point import Point
from widestreet._src.shards.shard_examination import examine_shards
from widestreet._src.shards.shard_set import ShardSet
from widestreet._src.shards.survey_order import SurveyOrder
from widestreet.datasets import twonorm

GOAL = Goal(1e-3)

ROWS, PARTS = 900, 3
WHOLE = SurveyOrder(ROWS, 1e-3, whole=True, skip=False)


class Counting(DualOnDisk):
    """Counts the blocks that are read, and those that are in memory at the same time."""

    def __init__(self, *given):
        super().__init__(*given)
        self.reads = 0

    def load(self, k):
        self.reads += 1
        return super().load(k)


@pytest.fixture
def stored():
    """Blocks on disk, and shards of them at a point."""
    X, y = twonorm(ROWS, random_state=0)
    dual = build_dual("c_svc", np.float64(y), C=1.0)
    gram = Gram(RBF(0.05), as_rows(X))
    blocks = Counting(gram, dual, PARTS, 1)
    known = TakenRows(gram.kernel, blocks.none, blocks.longest)
    shards = ShardSet(StoredPort(blocks), known, select(dual, np.arange(0)), Poll())
    beta = np.zeros((1, ROWS))
    beta[:, ::50] = (dual.upper + dual.lower)[:, ::50]
    point = Point.of(beta)
    expansion = Expansion.zero(1).published(point.ids, point.coef, np.zeros(1), np.inf)
    shards.publish(expansion, point)
    blocks.reads = 0
    return blocks, shards


def test_a_survey_reads_every_block_once_and_the_next_none(stored):
    blocks, shards = stored
    first = shards.survey(WHOLE, np.random.default_rng(0))
    assert blocks.reads == PARTS
    assert first.scanned == ROWS
    values = shards.poll.kernel_values
    again = shards.survey(WHOLE, np.random.default_rng(0))
    assert shards.poll.kernel_values == values  # scores were kept
    assert np.array_equal(np.sort(first.ids), np.sort(again.ids))


def test_questions_about_variables_read_no_rows(stored):
    blocks, shards = stored
    shards.totals(shards.news.point)
    assert blocks.reads == 0


def test_rows_that_are_taken_come_with_their_features(stored):
    _, shards = stored
    ids = np.array([5, 899, 400])
    shards.take(ids)
    X = twonorm(ROWS, random_state=0)[0]
    places = shards.known.places(ids)
    assert np.array_equal(shards.known.rows.data[places], X[ids])


def test_an_examination_goes_on_where_it_was(stored, monkeypatch):
    monkeypatch.setattr(float64_where_needed, "_SCREENING_VALUES", 100)
    _, shards = stored
    before = shards.poll.kernel_values
    examine_shards(shards, shards.news.point, GOAL)
    support = len(shards.news.point)
    # two lines of float32 for the estimate, float64 for those in doubt, and the spot check
    assert shards.poll.kernel_values - before <= 4 * ROWS * support


def test_scores_of_an_examination_wait_on_the_disk_for_the_next(stored, monkeypatch):
    monkeypatch.setattr(float64_where_needed, "_SCREENING_VALUES", 100)
    _, shards = stored
    point = shards.news.point
    examine_shards(shards, point, GOAL)
    before = shards.poll.kernel_values
    beta = point.beta.copy()
    beta[0, 0] *= 0.999
    for k in range(10):  # more versions than surveys remember
        expansion = shards.news.expansion
        coef = beta[0] * (1 - 1e-9 * k)
        shards.publish(
            expansion.published(point.ids, coef, np.zeros(1), np.inf), Point(point.ids, coef[None])
        )
    examine_shards(shards, Point(point.ids, beta), GOAL)
    assert shards.poll.kernel_values - before < 0.2 * ROWS * len(point)


def test_rows_behind_an_error_are_not_waited_for(stored):
    _, shards = stored
    shards.survey(WHOLE, np.random.default_rng(0))

    def fail() -> None:
        raise KeyboardInterrupt

    expansion = shards.news.expansion
    ids = np.arange(0, ROWS, 7)
    expansion = expansion.published(ids, np.ones(len(ids)), np.zeros(1), np.inf)
    shards.publish(expansion, Point(ids, np.ones((1, len(ids)))))
    with shards.polling(Poll(fail)), pytest.raises(KeyboardInterrupt):
        shards.survey(WHOLE, np.random.default_rng(0))
    survey = shards.survey(WHOLE, np.random.default_rng(0))
    assert survey.complete
