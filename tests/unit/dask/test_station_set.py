"""The stations of a fit: keys, homes and what travelled."""

from __future__ import annotations

import pickle
from types import SimpleNamespace

import pytest

pytest.importorskip("distributed", reason="dask and distributed are not installed")

from support.cluster import keys_of
from widestreet._src.dask import station_set as module
from widestreet._src.dask.connection import Worker
from widestreet._src.dask.station import Answer
from widestreet._src.dask.station_set import StationSet, Traffic


def workers(**threads):
    return {name: Worker(name, name, count, 0, "running") for name, count in threads.items()}


def stations(homes, sizes=None, client=None):
    sizes = sizes or [10] * len(homes)
    return StationSet(client, [], sizes, homes, lambda k: (f"station {k}", ""))


def answer(worker, fresh=False):
    return Answer(None, 0, 0.0, fresh, worker)


def test_keys_are_new_and_say_what_they_are():
    some = stations(["a"])
    assert some.key("survey").startswith("widestreet-survey-")
    assert some.key("survey") != some.key("survey")
    assert stations(["a"]).key("x") != stations(["a"]).key("x")


def test_answers_tell_where_stations_are():
    some = stations(["a", "b"])
    some._note({0: answer("a", fresh=True), 1: answer("b", fresh=True)})
    assert some.traffic == Traffic(0, 0, 2)
    some._note({0: answer("b", fresh=True), 1: answer("b")})
    assert some.traffic == Traffic(0, 1, 1)
    assert some._home == ["b", "b"]


def test_one_station_at_a_time_moves_to_an_idle_worker(monkeypatch):
    monkeypatch.setattr(module, "workers_of", lambda client: workers(a=1, b=1))
    some = stations(["a", "a", "a"])
    some._note({k: answer("a", fresh=True) for k in range(3)})
    some.settle()
    assert sorted(some._home) == ["a", "a", "b"]
    some._note({0: answer("b", fresh=True)})
    assert some.traffic.rebuilt == 0  # it was moved, not lost
    some.settle()
    assert sorted(some._home) == ["a", "a", "b"]


def test_paused_workers_get_nothing(monkeypatch):
    there = workers(a=1) | {"b": Worker("b", "b", 1, 0, "paused")}
    monkeypatch.setattr(module, "workers_of", lambda client: there)
    some = stations(["a", "a"])
    some.settle()
    assert some._home == ["a", "a"]


def test_a_question_whose_worker_is_gone_is_asked_once_more_and_names_no_worker(monkeypatch):
    """Later losses are counted by the scheduler, which knows the tasks of a lost worker."""
    submitted, again = [], []

    class Client:
        def submit(self, *given, key, **where):
            submitted.append(where.get("workers"))
            return SimpleNamespace(key=key)

        def processing(self):
            return {}

    def lose(client, futures, look, describe, renew):
        again.extend(sorted(renew([0, 1], workers(c=1))) for _ in range(5))
        return [pickle.dumps(answer("c"))] * 2

    monkeypatch.setattr(module, "collect", lose)
    some = StationSet(Client(), ["x", "y"], [10, 10], ["a", "c"], lambda k: (f"station {k}", ""))
    some.ask(None, len, {0: (), 1: ()}, None)
    assert again == [[0], [], [], [], []]
    assert submitted == [["a"], ["c"], None]
    assert some._home == ["c", "c"]


def test_released_stations_are_forgotten(client):
    future = client.submit(abs, -1, key="widestreet-station-test")
    some = StationSet(client, [future], [1], ["a"], lambda k: ("", ""))
    some.release()
    del future
    assert keys_of(client) == []
