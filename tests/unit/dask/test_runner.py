"""Samples of a strategy, solved on the workers."""

from __future__ import annotations

import os
import time

import pytest
from sklearn.exceptions import ConvergenceWarning

pytest.importorskip("distributed", reason="dask and distributed are not installed")

import widestreet as ws
from support.cluster import keys_of, station_set
from support.cluster_fits import CASES, partitions, there  # noqa: F401 - a fixture
from widestreet import dask as wd
from widestreet._src.dask import runner
from widestreet._src.dask import station_set as stations_module
from widestreet._src.dask.runner import DaskRunner
from widestreet.strategies import PRSVM, RSVM


def process_and(number):
    return os.getpid(), number


def test_results_come_in_order_from_other_processes(client, monkeypatch):
    stations = station_set(client, [])
    for size in (10**6, 40):  # bytes of a piece
        monkeypatch.setattr(stations_module, "_PIECE", size)
        found = DaskRunner(stations, go_on).map(process_and, range(5))
        assert [number for _, number in found] == list(range(5))
        assert os.getpid() not in {process for process, _ in found}
    assert stations.traffic.wire_bytes > 0
    assert keys_of(client) == []


def go_on():
    """Look at no clock."""


def stop():
    raise KeyboardInterrupt


def test_after_an_interrupt_nothing_is_run(client):
    stations = station_set(client, [])
    with pytest.raises(KeyboardInterrupt):
        DaskRunner(stations, stop).map(process_and, range(2))
    with pytest.raises(KeyboardInterrupt):
        DaskRunner(stations, go_on).map(process_and, range(2))
    assert keys_of(client) == []


@pytest.mark.usefixtures("there")
def test_samples_that_nobody_solves_end_with_the_time(client, monkeypatch):
    """The clock is looked at while samples are waited for, as if no worker came."""
    collect = runner.collect

    def alone(client, futures, look, describe):
        monkeypatch.setattr(time, "perf_counter", lambda: clock() + 2000.0)
        return collect(client, futures, look, describe)

    clock = time.perf_counter
    monkeypatch.setattr(runner, "collect", alone)
    X, y, _ = CASES["svc"].data()
    model = wd.SVC(strategy=PRSVM(sites=2, sample_size=100), max_time=1000.0, random_state=0)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model.fit(partitions(X), partitions(y))
    assert model.certificate_.status == "time_limit"
    assert keys_of(client) == []


@pytest.mark.usefixtures("there")
@pytest.mark.parametrize("strategy", [PRSVM(sites=2, sample_size=100), RSVM(sample_size=100)])
def test_sampling_strategies_reach_the_optimum(client, strategy):
    X, y, _ = CASES["svc"].data()
    far = wd.SVC(strategy=strategy, random_state=0).fit(partitions(X), partitions(y))
    near = ws.SVC(random_state=0).fit(X, y)
    assert far.certificate_.status == "optimal"
    gap = far.certificate_.dual_objective - near.certificate_.dual_objective
    assert abs(gap) <= far.certificate_.tol * near.certificate_.dual_objective
    assert keys_of(client) == []
