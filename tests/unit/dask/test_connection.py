"""Which client is used, and which are refused."""

from __future__ import annotations

import pytest

pytest.importorskip("distributed", reason="dask and distributed are not installed")

from widestreet._src.dask import connection
from widestreet._src.dask.connection import connected, workers_of


def test_the_given_client_is_used_or_the_default_one(client):
    with connected(client) as used:
        assert used is client
    with connected(None) as used:
        assert used is client


def test_without_a_client_the_user_is_told(monkeypatch):
    def none():
        raise ValueError("No clients found")

    monkeypatch.setattr(connection, "default_client", none)
    with (
        pytest.raises(RuntimeError, match=r"create one with distributed\.Client\(\)"),
        connected(None),
    ):
        pass


def test_other_objects_are_no_client():
    with (
        pytest.raises(TypeError, match=r"client must be a distributed\.Client, got 'tcp"),
        connected("tcp://a:1"),
    ):
        pass


def test_an_asynchronous_client_is_refused_with_the_cure(client, monkeypatch):
    monkeypatch.setattr(type(client), "asynchronous", property(lambda self: True))
    with pytest.raises(TypeError, match=r"asyncio\.to_thread"), connected(client):
        pass


def where_a_task_runs():
    with connected(None) as client:
        return client.submit(abs, -2).result()


def test_within_a_task_the_client_is_that_of_the_worker(client):
    assert client.submit(where_a_task_runs, pure=False).result() == 2


def test_workers_have_threads_and_memory(client):
    found = workers_of(client)
    assert len(found) == 2
    for address, worker in found.items():
        assert worker.address == address
        assert worker.threads == 1
        assert worker.memory == 2_000_000_000
        assert worker.status == "running"


def test_all_workers_are_known_however_many():
    """Some versions of distributed return five workers unless they are asked for all."""
    every = {f"tcp://a:{k}": {"nthreads": 1} for k in range(9)}

    class Few:
        def scheduler_info(self, n_workers=5):
            return {
                "workers": dict(list(every.items())[: len(every) if n_workers < 0 else n_workers])
            }

    assert workers_of(Few()).keys() == every.keys()
