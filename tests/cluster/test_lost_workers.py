"""A lost worker costs time, never the fit."""

from __future__ import annotations

import os
import signal

import pytest

pytest.importorskip("distributed", reason="dask and distributed are not installed")

from conftest import TOL
from support.cluster import Sabotage, keys_of, one_failure_allowed, sabotaged, whole_again
from support.cluster_fits import CASES, N, partitions, there  # noqa: F401 - a fixture

pytestmark = [
    pytest.mark.usefixtures("there"),
    pytest.mark.filterwarnings("ignore:the Dask cluster has had no workers"),
]
CASE = CASES["svc"]


@pytest.fixture(autouse=True)
def repaired(client):
    """Both workers are back after a test, and the scheduler has forgotten the fit."""
    yield
    assert keys_of(client) == []
    whole_again(client)


@pytest.fixture(scope="module")
def objective():
    """The dual objective of a fit in one process."""
    X, y, _ = CASE.data()
    return CASE.models(None)[1].fit(X, y).certificate_.dual_objective


def fitted(client, **parameters):
    X, y, _ = CASE.data()
    far, _ = CASE.models(client)
    return far.set_params(**parameters).fit(partitions(X), partitions(y))


@pytest.mark.parametrize("question", ["targets", "take", "survey", "answer"])
def test_a_worker_is_killed_in_a_question(client, question, objective, tmp_path, monkeypatch):
    from widestreet._src.dask.station_set import StationSet

    plan = Sabotage(tmp_path, question)
    monkeypatch.setattr(StationSet, "settle", lambda self: None)  # a moved station is new anyway
    with sabotaged(monkeypatch, plan):
        model = fitted(client)
    assert plan.done
    assert model.certificate_.status == "optimal"
    assert abs(model.certificate_.dual_objective - objective) <= TOL.strategies_rel * objective
    if question == "survey":
        assert model.trace_[-1].notes["rebuilt"] >= 1


def test_both_workers_are_killed_at_once(client, objective, tmp_path, monkeypatch):
    plan = Sabotage(tmp_path, "survey", begins=tuple(range(N)))
    with sabotaged(monkeypatch, plan):
        model = fitted(client)
    assert len(list(tmp_path.iterdir())) == 2
    assert abs(model.certificate_.dual_objective - objective) <= TOL.strategies_rel * objective


def test_a_worker_is_killed_between_rounds(client, objective, monkeypatch):
    from widestreet._src.dask import fit

    observers, killed = fit._TrafficObservers, []

    class Deadly(observers):
        def problem(self, number=0):
            if not killed:
                [pid, *_] = client.run(os.getpid).values()
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)
            return super().problem(number)

    monkeypatch.setattr(fit, "_TrafficObservers", Deadly)
    model = fitted(client)
    assert killed
    assert abs(model.certificate_.dual_objective - objective) <= TOL.strategies_rel * objective


def test_a_station_that_kills_its_workers_is_an_error(client, tmp_path, monkeypatch):
    with (
        sabotaged(monkeypatch, Sabotage(tmp_path, "survey", times=99)),
        one_failure_allowed(client),
        pytest.raises(RuntimeError, match=r"partitions? \d.* rows, .* ended 2 workers.*: use more"),
    ):
        fitted(client)
