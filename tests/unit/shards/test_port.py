"""Ports: who is asked, what is counted, and what travels."""

from __future__ import annotations

import pickle
from functools import partial

import numpy as np
import pytest
from scipy import sparse

from support.fitting import build_dual
from support.ports import PORTS, PicklingPort, sent
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import RBF, Poly, Precomputed
from widestreet._src.kernels.poll import Poll
from widestreet._src.problems.dual import select
from widestreet._src.rows import KernelRows, as_rows
from widestreet._src.shards import score_updates
from widestreet._src.shards.columns import AllRows
from widestreet._src.shards.expansion import Expansion
from widestreet._src.shards.news import News
from widestreet._src.shards.point import Point
from widestreet._src.shards.port import LocalPort
from widestreet._src.shards.runner import LocalRunner
from widestreet._src.shards.shard import Shard
from widestreet.datasets import twonorm

CONNECT = PORTS | {"threads": partial(LocalPort, runner=LocalRunner(3))}
every_port = pytest.mark.parametrize("port", CONNECT)

X, Y = twonorm(60, random_state=0)
DUAL = build_dual("c_svc", np.float64(Y), C=1.0)
NEWS = News(
    1,
    Expansion.zero(1).published(np.arange(5), np.ones(5), np.zeros(1), 1.0),
    Point(np.arange(5), np.ones((1, 5))),
)


def gram_of(form: str) -> Gram:
    if form == "precomputed":
        return Gram(Precomputed(), KernelRows(X @ X.T, np.arange(60)))
    rows = {"dense": X, "centred": X + 5, "csr": sparse.csr_matrix(X)}[form]
    return Gram(RBF(0.1) if form != "csr" else Poly(0.1, 1.0, 2), as_rows(rows, centred=True))


def shards_of(form: str = "dense") -> list[Shard]:
    gram, every = gram_of(form), np.arange(60)
    return [
        Shard(AllRows(gram.select(ids, every)), select(DUAL, ids), begin=int(ids[0]))
        for ids in np.array_split(every, 3)
    ]


@every_port
def test_those_who_are_asked_answer_in_order(port):
    there = CONNECT[port](shards_of())
    assert list(there.sizes) == [20, 20, 20]
    there.publish(NEWS)
    each = {2: (np.arange(4), True), 0: (np.arange(7), True)}
    poll = Poll()
    answers = there.ask(score_updates.scores, each, poll)
    assert list(answers) == [2, 0]
    K = gram_of("dense").block()
    np.testing.assert_array_equal(answers[0].shape, (7,))
    assert np.allclose(answers[2], K[40:44, :5].sum(axis=1))
    assert np.allclose(answers[0], K[:7, :5].sum(axis=1))
    assert poll.kernel_values == 4 * 5 + 7 * 5
    assert there.ask(score_updates.scores, {}, poll) == {}


@every_port
def test_a_poll_may_stop_every_shard(port):
    def stop() -> None:
        raise KeyboardInterrupt

    there = CONNECT[port](shards_of())
    there.publish(NEWS)
    each = dict.fromkeys(range(3), (np.arange(4), True))
    with pytest.raises(KeyboardInterrupt):
        there.ask(score_updates.scores, each, Poll(stop))


@pytest.mark.parametrize("form", ["dense", "centred", "csr", "precomputed"])
def test_a_shard_that_travels_is_the_same_without_its_memory(form):
    for shard in shards_of(form):
        news = NEWS
        variables, score, _ = score_updates.take(shard, news, np.arange(20))
        copy = pickle.loads(pickle.dumps(shard))
        assert "memory" in vars(shard)
        assert "memory" not in vars(copy)
        other, again, _ = score_updates.take(copy, news, np.arange(20))
        assert np.array_equal(score, again)
        assert np.array_equal(variables.target, other.target)
        assert copy.begin == shard.begin


def test_a_gram_that_travels_keeps_its_selection_and_diagonal():
    gram = gram_of("dense").select(np.array([3, 1, 7]), diagonal=np.array([0.5, 1.0, 2.0]))
    copy = pickle.loads(pickle.dumps(gram))
    assert np.array_equal(copy.block(), gram.block())
    assert copy.shape == (3, 3)


def test_forgetful_shards_forget():
    """Otherwise the tests with them would show nothing."""
    there = PicklingPort(shards_of(), forget=0.5, seed=1)
    there.publish(NEWS)
    poll, each = Poll(), dict.fromkeys(range(3), (np.arange(20),))
    for _ in range(20):
        there.ask(score_updates.take, each, poll)
    once = 60 * 5
    assert 2 * once < poll.kernel_values < 20 * once
    lasting = PicklingPort(shards_of())
    lasting.publish(NEWS)
    other = Poll()
    for _ in range(20):
        lasting.ask(score_updates.take, each, other)
    assert other.kernel_values == once


def test_kernels_in_python_need_not_travel():
    assert sent((1, "two", [3.0])) == (1, "two", [3.0])
