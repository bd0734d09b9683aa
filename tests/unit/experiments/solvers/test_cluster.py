"""This library on a cluster of processes, as an experiment runs it."""

from __future__ import annotations

import pytest

from support.experiments import check_solver
from widestreet._experiments.harness.discovery import solvers
from widestreet._experiments.papers import prsvm
from widestreet._experiments.solvers import cluster

pytest.importorskip("distributed", reason="needs dask and distributed")


@pytest.fixture
def two_processes():
    yield
    client = cluster.client(2)
    client.close()
    client.cluster.close()
    cluster.client.cache_clear()


@pytest.mark.usefixtures("two_processes")
def test_its_solutions_are_certified():
    check_solver("widestreet-cluster-2")


def test_a_method_in_processes_is_measured_by_the_solver_of_so_many():
    for sites in prsvm.SITES:
        method = prsvm.in_processes(sites, 100)
        assert method.library is solvers()[f"widestreet-cluster-{sites}"]
        assert method.library.processes == sites
        assert method.options(0, 10.0)["strategy"].sites == sites
