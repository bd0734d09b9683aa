"""On which worker each station is, and when one should move."""

from __future__ import annotations

import pytest

pytest.importorskip("dask", reason="dask is not installed")

from widestreet._src.dask.homes import move, placed


def test_partitions_stay_where_they_are():
    found = placed([10, 10, 10, 10], [{"a"}, {"b"}, {"a"}, {"b"}], {"a": 1, "b": 1})
    assert found == [("a", [0, 2]), ("b", [1, 3])]


def test_partitions_of_one_worker_are_shared_out():
    found = placed([10] * 6, [{"a"}] * 6, {"a": 1, "b": 2})
    assert [home for home, _ in found] == ["a", "b", "b"]
    assert sorted(k for _, parts in found for k in parts) == list(range(6))
    assert [len(parts) for _, parts in found] == [2, 2, 2]


def test_a_thread_without_partitions_has_no_station():
    assert placed([5], [set()], {"a": 2, "b": 1}) == [("a", [0])]


@pytest.mark.parametrize(
    ("sizes", "homes", "threads", "found"),
    [
        ([10, 10], ["a", "a"], {"a": 1, "b": 1}, (0, "b")),  # b has come back
        ([10, 10], ["a", "b"], {"a": 1, "b": 1}, None),
        ([10, 10, 10], ["a", "a", "b"], {"a": 1, "b": 1}, None),  # moving would help nobody
        ([10, 10, 10], ["a", "a", "a"], {"a": 2, "b": 1}, (0, "b")),
        ([10, 10], ["a", "a"], {"a": 2, "b": 2}, (0, "b")),
        ([10, 30], ["a", "a"], {"a": 1, "b": 1}, (0, "b")),  # the smallest moves
        ([10, 10], ["gone", "b"], {"b": 1, "c": 1}, None),  # goes wherever it is made again
        ([10, 10], ["gone", None], {"b": 1, "c": 1}, None),
        ([10, 10], ["a", "a"], {"a": 1}, None),
        ([10, 10], ["a", "a"], {}, None),
    ],
)
def test_a_station_moves_if_the_busiest_worker_gains(sizes, homes, threads, found):
    assert move(sizes, homes, threads) == found
