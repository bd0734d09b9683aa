"""widestreet over worker processes of a Dask cluster on this machine."""

from __future__ import annotations

import atexit
from functools import cache
from typing import Any

import numpy as np

from widestreet._experiments.harness.solver import CACHE_MB, Solution
from widestreet._experiments.harness.task import Task
from widestreet._experiments.solvers.widestreet import Widestreet

PROCESSES = (1, 2, 4)


@cache
def client(processes: int) -> Any:
    """Return the client of a local cluster with one thread per process; it ends with this one."""
    from distributed import Client, LocalCluster

    cluster = LocalCluster(n_workers=processes, threads_per_worker=1, dashboard_address=":0")
    found = Client(cluster)
    atexit.register(cluster.close)
    atexit.register(found.close)
    return found


class ClusterOfProcesses(Widestreet):
    """This library on a local Dask cluster. The rows lie in the processes before the clock starts.

    Parameters
    ----------
    processes : int
    """

    module = "distributed"

    def __init__(self, processes: int) -> None:
        super().__init__("auto")
        self.processes = processes
        self.name = f"widestreet-cluster-{processes}"
        self.title = f"widestreet ({processes} worker processes)"
        self.note = f"{processes} worker processes of one thread; certificate included"
        self.rank, self.invited = 1, False

    def prepare(self, task: Task, X: Any, y: Any) -> Any:
        import dask.array as da

        n = len(y)
        chunk = -(-n // self.processes)
        rows = da.from_array(np.asarray(X), chunks=(chunk, -1))
        return client(self.processes).persist([rows, da.from_array(np.asarray(y), chunks=chunk)])

    def estimator(self, task: Task, tol: float, threads: int) -> Any:
        from widestreet import dask

        kind: Any = dask.SVC if task.kind == "svc" else dask.SVR
        ours = {"client": client(self.processes), "n_jobs": threads, "random_state": 0}
        ours["cache_size"] = CACHE_MB
        return kind(**self.parameters(task, tol), **ours)

    def solution(self, model: Any, data: Any) -> Solution:
        return super().solution(model.to_local(), data)


SOLVERS = [ClusterOfProcesses(processes) for processes in PROCESSES]
