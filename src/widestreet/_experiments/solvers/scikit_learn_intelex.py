"""scikit-learn-intelex: oneDAL's solver with the interface of scikit-learn."""

from __future__ import annotations

from typing import Any

from widestreet._experiments.harness.solver import CACHE_MB, Estimator
from widestreet._experiments.harness.task import Task


class Intelex(Estimator):
    """sklearnex.svm."""

    name = title = package = "scikit-learn-intelex"
    module = "sklearnex"
    note = f"{{threads}} threads; cache_size={CACHE_MB}"
    rank = 3

    def estimator(self, task: Task, tol: float, threads: int) -> Any:
        from sklearnex import svm

        kind = svm.SVC if task.kind == "svc" else svm.SVR
        return kind(**self.parameters(task, tol), cache_size=CACHE_MB, n_jobs=threads)


SOLVERS = [Intelex()]
