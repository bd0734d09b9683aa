"""Stations: what they remember, what travels, and what they weigh."""

from __future__ import annotations

import pickle
import sys
from types import SimpleNamespace

import cloudpickle
import numpy as np
import pytest
from scipy import sparse

pytest.importorskip("distributed", reason="dask and distributed are not installed")

from distributed import Reschedule

from widestreet._src.dask import station as module
from widestreet._src.dask.station import Station, Told, ask, packed, told_by
from widestreet._src.kernels.kernels import RBF
from widestreet._src.problems.formulations import CSVC
from widestreet._src.problems.totals import Totals
from widestreet._src.rows import as_rows
from widestreet._src.shards.columns import Features
from widestreet._src.shards.expansion import Expansion
from widestreet._src.shards.news import News
from widestreet._src.shards.point import Point
from widestreet._src.training.sharded import Block, Recipe

X = np.random.default_rng(0).normal(size=(30, 3))
CODE = np.arange(30) % 3


def block(form=np.asarray):
    return Block(as_rows(form(X)), CODE, np.ones(30), np.arange(30), 0)


def told(problem="first", pair=(0, 1)):
    weight = np.ones(3)
    recipe = Recipe(RBF(0.5), CSVC(1.0), 10.0, weight, pair, 1, 20.0)
    recipe = Recipe(RBF(0.5), CSVC(1.0), 10.0, weight, pair, 1, 20.0, recipe.sums(block()), (20,))
    return Told(problem, recipe, News(0, Expansion.zero(1), Point.zero(1)))


@pytest.fixture
def worker(monkeypatch):
    """A worker that runs one task, and may cancel it."""
    task = SimpleNamespace(state="executing")
    made = SimpleNamespace(
        address="tcp://a:1",
        get_current_task=lambda: "key",
        state=SimpleNamespace(tasks={"key": task}),
    )
    monkeypatch.setattr(module, "get_worker", lambda: made)
    return made


def count(shard, news, *, poll):
    """Count the questions in the memory of a shard."""
    poll.kernel_values += 5
    shard.asked = getattr(shard, "asked", 0) + 1
    return shard.rows, shard.asked


def look(shard, news, *, poll):
    poll.look()


def number_of(block):
    return block.number


def test_a_station_has_the_shard_of_one_problem_at_a_time(worker):
    station = Station(block())
    first, again = (station.answer(told(), count, ()) for _ in range(2))
    assert first.found == (20, 1)
    assert again.found == (20, 2)
    assert (first.fresh, again.fresh) == (True, False)
    assert first.kernel_values == 5
    assert first.worker == "tcp://a:1"
    assert station.answer(told("second", (0, 2)), count, ()).found == (20, 1)
    assert station.answer(told(), count, ()).found == (20, 1)


def test_a_copy_has_no_memory(worker):
    station = Station(block())
    station.answer(told(), count, ())
    copy = pickle.loads(pickle.dumps(station))
    answer = copy.answer(told(), count, ())
    assert answer.found == (20, 1)
    assert answer.fresh


def test_without_a_problem_the_block_is_asked(worker):
    assert Station(block()).answer(None, number_of, ()).found == 0


def test_news_travel_with_every_number_once():
    ids = np.array([3, 5, 8])
    point = Point(ids, np.array([[1.0, -2.0, 0.5], [0.0, 1.0, 0.0]]))
    expansion = Expansion.zero(1).published(ids, point.coef, np.zeros(1), 1.0)
    rows = Features(ids, X[ids], None, 100 + ids)
    news = News(4, expansion, point, rows=rows)
    written = packed(Told("first", told().recipe, news))
    heard = told_by(written[:100], written[100:]).news
    assert np.array_equal(heard.expansion.ids, ids)
    assert np.array_equal(heard.expansion.coef, expansion.coef)
    assert np.array_equal(heard.point.beta, point.beta)
    assert np.array_equal(heard.rows.data, rows.data)
    assert np.array_equal(heard.rows.ids, ids)
    assert heard.expansion.version == 1
    assert sys.getsizeof(told_by(written)) >= len(written)  # what the scheduler thinks it weighs
    other = News(4, Expansion.zero(1), point)  # scores are not known
    heard = told_by(packed(Told("first", told().recipe, other))).news
    assert len(heard.expansion.ids) == 0
    assert heard.rows is None


def test_questions_and_answers_are_bytes(worker):
    written = packed(told())
    heard = told_by(written[:100], written[100:])
    answer = pickle.loads(ask(Station(block()), heard, cloudpickle.dumps((count, ()))))
    assert answer.found == (20, 1)


@pytest.mark.parametrize("gone", [False, True])
def test_a_cancelled_question_ends(worker, gone):
    station = Station(block())
    assert pickle.loads(ask(station, told(), cloudpickle.dumps((look, ())))).found is None
    if gone:
        worker.state.tasks.clear()
    else:
        worker.state.tasks["key"].state = "cancelled"
    with pytest.raises(Reschedule):
        ask(station, told(), cloudpickle.dumps((look, ())))
    worker.state.tasks["key"] = SimpleNamespace(state="executing")
    assert station.answer(told(), count, ()).found[0] == 20  # its lock is free


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_its_size_is_that_of_its_rows_and_their_state(form):
    assert 30 * 3 * 8 < sys.getsizeof(Station(block(form))) < 10_000


def test_sums_are_those_of_the_problem():
    assert isinstance(told().recipe.totals, Totals)
    assert told().recipe.totals.rows == 20
