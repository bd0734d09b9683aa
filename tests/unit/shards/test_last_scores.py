"""What a shard remembers, and that it can do without."""

from __future__ import annotations

import numpy as np

from support.fitting import build_dual
from widestreet import _core
from widestreet._src.certificate import Examined, Part
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import RBF
from widestreet._src.rows import as_rows
from widestreet._src.shards.expansion import Expansion
from widestreet._src.shards.last_scores import (
    _KEPT_ENTRIES,
    _KEPT_VERSIONS,
    _MANY_ROWS,
    _MOST_VERSIONS,
    Ledger,
    Memory,
)
from widestreet._src.shards.news import News, Released
from widestreet._src.shards.point import Point

DUAL = build_dual("eps_svr", np.linspace(-1, 1, 10), C=1.0)
NOTHING = np.empty(0, dtype=np.int64)


def news(serial: int, version: int = 0, **told) -> News:
    expansion = Expansion.zero(1)
    for count in range(version):
        expansion = expansion.published(np.arange(count), np.ones(count), np.zeros(1), 1.0)
    return News(serial, expansion, told.pop("point", Point.zero(2)), **told)


def test_coefficients_are_those_of_the_own_rows():
    memory = Memory(DUAL, Ledger(20, 20 + DUAL.rows), None)
    point = Point(np.array([3, 20, 25, 31]), np.arange(1.0, 9.0).reshape(2, 4))
    memory.hear(news(1, point=point))
    assert np.array_equal(memory.beta, point.dense(40)[:, 20:30])
    memory.hear(news(1))  # the same serial number: heard before
    assert memory.beta.any()
    memory.hear(news(2))
    assert not memory.beta.any()


def test_rows_come_and_go():
    memory = Memory(DUAL, Ledger(20, 20 + DUAL.rows), None)
    memory.hear(news(1, 3, members=np.array([5, 22, 29, 30])))
    inside = memory.version == _core.IN_WORKING_SET
    assert np.flatnonzero(inside).tolist() == [2, 9]
    assert (memory.version[~inside] == 0).all()
    released = Released(np.array([29, 5]), np.array([7.0, 8.0]), 3)
    memory.hear(news(2, 4, members=np.array([21]), released=released))
    assert memory.version.tolist() == [0, _core.IN_WORKING_SET, 0, 0, 0, 0, 0, 0, 0, 3]
    assert memory.score.tolist() == [0.0] * 9 + [7.0]


def test_old_versions_are_dropped():
    memory = Memory(DUAL, Ledger(0, DUAL.rows), None)
    for version in range(1, 30):
        told = news(version, version)
        memory.hear(told)
        for past in range(version + 1):
            change = memory.ledger.change_since(past, told.expansion, _MANY_ROWS)
            entries = sum(max(0, v - 1) for v in range(past, version + 1))
            full = entries > _KEPT_ENTRIES * DUAL.rows
            most = _KEPT_VERSIONS if full else _MOST_VERSIONS
            assert (change is None) == (version - past >= most)
            few = memory.ledger.change_since(past, told.expansion, _MANY_ROWS - 1)
            assert (few is None) == (version - past >= _KEPT_VERSIONS)
            if change is not None:
                before = np.arange(max(0, past - 1))
                assert np.array_equal(change[0], np.setdiff1d(np.arange(version - 1), before))
    assert memory.ledger.change_since(-1, told.expansion, _MANY_ROWS) is None


def test_many_versions_of_few_support_vectors_are_kept_up_to_a_number():
    memory = Memory(DUAL, Ledger(0, DUAL.rows), None)
    one = Expansion.zero(1)
    for serial in range(1, 2 * _MOST_VERSIONS):
        one = one.published(np.arange(1), np.ones(1), np.zeros(1), 1.0)
        memory.hear(News(serial, one, Point.zero(2)))
        kept = min(serial + 1, _MOST_VERSIONS)
        assert len(memory.ledger.past) == kept


def test_rows_of_a_ledger_share_its_arrays_and_its_news():
    ledger = Ledger(0, 30)
    ledger.hear(news(1, 3, members=np.array([5, 22, 29])))
    memory = Memory(DUAL, ledger.between(20, 30), None)
    inside = memory.version == _core.IN_WORKING_SET
    assert np.flatnonzero(inside).tolist() == [2, 9]
    assert not memory.hear(news(1, 3, point=Point(np.array([21]), np.ones((2, 1)))))
    assert memory.beta[:, 1].tolist() == [1.0, 1.0]
    memory.score[4] = 7.0
    assert ledger.score[24] == 7.0
    assert memory.ledger.past == ledger.past


def test_old_versions_are_dropped_if_some_news_were_missed():
    ledger = Ledger(0, 5)
    for version in (1, 2, 4, 11, 30):
        ledger.hear(news(version, version))
    assert ledger.change_since(30, news(30, 30).expansion, _MANY_ROWS) is not None
    assert len(ledger.past) == 1


def test_a_dropped_version_updates_no_score():
    ledger = Ledger(0, 5)
    ledger.hear(news(1, 1))
    ledger.hear(news(2, 2))
    ledger.drop(1)
    ledger.drop(1)
    expansion = news(2, 2).expansion
    assert ledger.change_since(1, expansion, _MANY_ROWS) is None
    assert ledger.change_since(2, expansion, _MANY_ROWS) is not None


def test_scores_of_an_examination_outlive_its_point():
    memory = Memory(DUAL, Ledger(0, DUAL.rows), None)
    memory.hear(news(1, 1))
    gram = Gram(RBF(1.0), as_rows(np.linspace(0, 1, 10)[:, None]))
    memory.part = Part.whole(gram, DUAL, memory.beta)
    memory.examined = Examined(1, np.array([2, 7]), np.ones(2))
    memory.part.extremes()
    score = memory.part.scores.score
    memory.hear(news(2, 1))  # the same point
    assert memory.part is not None
    memory.hear(news(3, 2))
    assert memory.part is None
    assert memory.record.point.version == 1
    assert memory.record.load()[0] is score
    assert any(np.array_equal(ids, [2, 7]) for ids in memory.past)
    memory.hear(news(4, 30))
    assert any(np.array_equal(ids, [2, 7]) for ids in memory.past)


def test_an_examination_that_did_not_begin_leaves_nothing():
    memory = Memory(DUAL, Ledger(0, DUAL.rows), None)
    memory.hear(news(1, 1))
    gram = Gram(RBF(1.0), as_rows(np.linspace(0, 1, 10)[:, None]))
    memory.part = Part.whole(gram, DUAL, memory.beta)
    memory.examined = Examined(1, NOTHING, np.empty(0))
    memory.hear(news(2, 2))
    assert memory.part is memory.record is None
