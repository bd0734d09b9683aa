"""Waiting for tasks: the clock is looked at, and troubles of the cluster are said once."""

from __future__ import annotations

import asyncio
import re
import time
import warnings
from types import SimpleNamespace

import pytest

pytest.importorskip("distributed", reason="dask and distributed are not installed")

from support.cluster import keys_of
from widestreet._src.dask import waiting
from widestreet._src.dask.connection import Worker


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(waiting, "time", SimpleNamespace(perf_counter=lambda: self.now))


def worker(status: str) -> dict[str, Worker]:
    return {"tcp://a:1": Worker("tcp://a:1", "first", 1, 4_000_000_000, status)}


@pytest.mark.parametrize(
    ("workers", "after", "match"),
    [
        ({}, 10.0, "has had no workers for 10 s"),
        (worker("paused"), 60.6, r"worker first \(tcp://a:1\) has been paused .* 4.00 GB"),
    ],
)
def test_trouble_that_lasts_is_said_once(monkeypatch, workers, after, match):
    clock = Clock(monkeypatch)
    monkeypatch.setattr(waiting, "workers_of", lambda client: workers)
    watch = waiting.Watch(None)
    clock.now = 0.6
    assert watch.look() == workers
    assert watch.look() is None  # it has just looked
    clock.now = after - 2
    watch.look()
    clock.now = after + 0.6
    with pytest.warns(UserWarning, match=match):
        watch.look()
    clock.now += 100
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        watch.look()


def test_trouble_that_ends_is_not_said(monkeypatch):
    clock = Clock(monkeypatch)
    found = [worker("paused"), worker("running"), worker("paused")]
    monkeypatch.setattr(waiting, "workers_of", lambda client: found.pop(0))
    watch = waiting.Watch(None)
    for clock.now in (1.0, 50.0, 70.0):
        watch.look()
    assert not found


def test_workers_are_waited_for(monkeypatch):
    found = [{}, {}, worker("running")]
    monkeypatch.setattr(waiting, "workers_of", lambda client: found.pop(0))
    looks = []
    assert waiting.wait_for_workers(None, lambda: looks.append(1)) == worker("running")
    assert len(looks) == 2


def test_a_wait_for_workers_may_be_ended(monkeypatch):
    monkeypatch.setattr(waiting, "workers_of", lambda client: {})

    def look():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        waiting.wait_for_workers(None, look)


def test_results_are_collected_and_released(client):
    futures = [client.submit(abs, -k, key=f"widestreet-abs-{k}") for k in range(3)]
    assert waiting.collect(client, futures, lambda: None, str) == [0, 1, 2]
    assert keys_of(client) == []


def test_a_result_that_is_lost_before_it_is_gathered_is_asked_for_again(client, monkeypatch):
    futures = [client.submit(abs, -k, key=f"widestreet-lost-{k}") for k in range(2)]
    gather, lost, renewed = client.gather, [], asyncio.Event()

    async def losing(futures, asynchronous):
        if not lost:
            lost.append(futures[1].key)
            futures[1]._state.lose()
            await renewed.wait()
        return await gather(futures, asynchronous=asynchronous)

    def renew(undone, workers):
        client.loop.add_callback(renewed.set)
        return {i: client.submit(abs, -i, key=f"widestreet-again-{i}") for i in undone}

    monkeypatch.setattr(client, "gather", losing)
    assert waiting.collect(client, futures, lambda: None, str, renew) == [0, 1]
    assert lost == ["widestreet-lost-1"]
    assert keys_of(client) == []


def test_the_end_of_a_wait_does_not_end_what_others_gather(client, monkeypatch):
    """A client has one request for the results of all threads."""
    gather, may_end, ended = client.gather, asyncio.Event(), []

    async def slow(futures, asynchronous):
        try:
            await may_end.wait()
        finally:
            ended.append(may_end.is_set())
        return await gather(futures, asynchronous=asynchronous)

    looks = iter([None, None])

    def look():
        if next(looks, "over") == "over":
            raise KeyboardInterrupt

    monkeypatch.setattr(client, "gather", slow)
    with pytest.raises(KeyboardInterrupt):
        waiting.collect(client, [client.submit(abs, -1, key="widestreet-slow")], look, str)
    client.loop.add_callback(may_end.set)
    until = time.monotonic() + 20
    while not ended and time.monotonic() < until:
        time.sleep(0.01)
    assert ended == [True]
    assert keys_of(client) == []


def test_the_own_future_of_the_user_is_kept(client):
    mine, same = (client.submit(abs, -7, key="widestreet-mine") for _ in range(2))
    assert waiting.collect(client, [same], lambda: None, str) == [7]
    assert mine.result() == 7
    del mine, same
    assert keys_of(client) == []


def test_what_was_cancelled_is_an_error_with_a_cure(client):
    future = client.submit(abs, -1, key="widestreet-cancelled")
    client.cancel([future])
    with pytest.raises(RuntimeError, match="scattered, their worker has died"):
        waiting.collect(client, [future], lambda: None, str)


def test_the_error_about_lost_workers_names_the_limit():
    error = waiting.ended("partition 3", "use less", 4, worker("running"))
    assert str(error) == ("partition 3 ended 4 workers, whose memory limit is 4.00 GB: use less")
    assert str(waiting.ended("partition 3", "use less", 4, {})) == (
        "partition 3 ended 4 workers: use less"
    )


def test_the_error_names_all_tasks_that_are_blamed(monkeypatch):
    monkeypatch.setattr(waiting, "workers_of", lambda client: {})
    states = ["error", "finished", "error", "pending", "error", "error"]
    futures = [SimpleNamespace(status=state) for state in states]
    error = waiting.KilledWorker("key", None, 3)
    for some, match in (
        (futures[:2], "^partition 0 ended 4 workers: use less$"),
        (futures[:4], "^partition 0 or partition 2 ended 4 workers: use less$"),
        (futures, "^partition 0 or partition 2 or partition 4 or 1 more ended 4 workers"),
    ):
        found = waiting._killed(None, some, error, lambda i: (f"partition {i}", "use less"))
        assert re.search(match, str(found))
