"""Questions to shards on workers: who answers, what is counted, and what a lost worker costs."""

from __future__ import annotations

import os
import time

import numpy as np
import pytest

pytest.importorskip("distributed", reason="dask and distributed are not installed")

from support.cluster import (
    PATIENCE,
    Sabotage,
    dask_port,
    keys_of,
    sabotaged,
    whole_again,
)
from support.fitting import build_dual
from widestreet._src.dask import station_set as module
from widestreet._src.dask.station import Answer
from widestreet._src.engines.budget import Budget
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import RBF
from widestreet._src.kernels.poll import Poll
from widestreet._src.rows import as_rows
from widestreet._src.shards.first_rows import count_negative
from widestreet._src.shards.shard_set import ShardSet
from widestreet.datasets import twonorm

pytestmark = pytest.mark.filterwarnings("ignore:the Dask cluster has had no workers")
X, Y = twonorm(60, random_state=0)
DUAL = build_dual("c_svc", np.float64(Y), C=1.0)


@pytest.fixture
def shards(client):
    """Three shards behind a port of the cluster; nothing is left on the scheduler after a test."""
    ports = []

    def connect(shards):
        ports.append(dask_port(client, shards))
        return ports[0]

    gram = Gram(RBF(0.1), as_rows(X))
    yield ShardSet.of(gram, DUAL, parts=3, connect=connect)
    ports[0].close()
    ports[0]._stations.release()
    assert keys_of(client) == []
    whole_again(client)


def begin_of(shard, news, factor=1, *, poll):
    poll.kernel_values += 7
    return factor * shard.begin


def process_of(shard, news, *, poll):
    return os.getpid()


def remembered(shard, news, *, poll):
    """Count the questions in the memory of a shard."""
    shard.asked = getattr(shard, "asked", 0) + 1
    return shard.asked


def linger(shard, news, path, *, poll):
    """Work until nobody wants the answer."""
    with open(path, "w") as file:
        file.write("began")
    for _ in range(600):
        time.sleep(0.05)
        try:
            poll.look()
        except Exception:
            with open(path, "w") as file:
                file.write("ended")
            raise


def fail(shard, news, *, poll):
    raise ArithmeticError("no such thing")


def ask(shards, question, *arguments, each=range(3), look=None):
    poll = Poll(look or Budget(PATIENCE).look_at_end)
    return shards.port.ask(question, dict.fromkeys(each, arguments), poll), poll


def test_those_who_are_asked_answer_in_order(shards):
    answers, poll = ask(shards, begin_of, 2, each=(2, 0))
    assert list(answers.items()) == [(2, 80), (0, 0)]
    assert poll.kernel_values == 14
    assert ask(shards, begin_of, each=())[0] == {}
    assert list(shards.port.sizes) == [20, 20, 20]


def test_shards_are_in_other_processes_and_remember(shards):
    processes = set(ask(shards, process_of)[0].values())
    assert len(processes) == 2
    assert os.getpid() not in processes
    for times in (1, 2, 3):  # the cluster may move one of them, which then begins again
        assert max(ask(shards, remembered)[0].values()) == times


def test_what_travels_is_counted(shards):
    traffic = shards.port._stations.traffic
    ask(shards, begin_of)
    before = traffic.wire_bytes
    assert before > 0
    ask(shards, begin_of)
    assert 0 < traffic.wire_bytes - before < before  # the news have been told
    assert traffic.rebuilt == 0
    assert traffic.workers == 2


def test_large_news_travel_in_pieces(shards, monkeypatch):
    monkeypatch.setattr(module, "_PIECE", 100)
    shards.port.publish(shards.news)
    answers, _ = ask(shards, begin_of)
    assert list(answers.values()) == [0, 20, 40]


def test_errors_of_a_shard_are_raised_here(shards):
    with pytest.raises(ArithmeticError, match="no such thing"):
        ask(shards, fail)


def test_the_clock_ends_a_question_here_and_there(shards, tmp_path):
    path = tmp_path / "state"

    def look():
        if path.exists() and path.read_text() == "began":
            raise TimeoutError("over")

    with pytest.raises(TimeoutError, match="over"):
        ask(shards, linger, str(path), each=(1,), look=look)
    until = time.monotonic() + 20
    while path.read_text() != "ended" and time.monotonic() < until:
        time.sleep(0.05)
    assert path.read_text() == "ended"
    assert ask(shards, begin_of)[0] == {0: 0, 1: 20, 2: 40}


def test_after_an_interrupt_nobody_is_asked(shards):
    def look():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ask(shards, begin_of, look=look)
    with pytest.raises(KeyboardInterrupt):
        ask(shards, begin_of)


def test_a_lost_worker_costs_nothing_but_memory(shards, tmp_path, monkeypatch):
    ask(shards, remembered)
    with sabotaged(monkeypatch, Sabotage(tmp_path, "count_negative")):
        answers, _ = ask(shards, count_negative)
    assert sum(answers.values()) == np.count_nonzero(DUAL.lower < 0)
    assert shards.port._stations.traffic.rebuilt >= 1
    assert 1 in ask(shards, remembered)[0].values()


def test_stations_move_to_a_worker_that_has_none(shards, client):
    """A station that has moved is not counted as rebuilt, unless it is lost there."""
    stations = shards.port._stations
    [busy, *_] = sorted(client.scheduler_info()["workers"])
    stations._home = [busy] * 3
    shards.port.publish(shards.news)
    [moved] = [k for k, home in enumerate(stations._home) if home != busy]
    rebuilt = stations.traffic.rebuilt
    for more in (0, 1):
        stations._note({moved: Answer(None, 0, 0.0, True, stations._home[moved])})
        assert stations.traffic.rebuilt == rebuilt + more
    assert ask(shards, begin_of)[0] == {0: 0, 1: 20, 2: 40}
