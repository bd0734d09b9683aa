"""scikit-learn: LIBSVM's solver, adapted."""

from __future__ import annotations

from typing import Any

from widestreet._experiments.harness.solver import CACHE_MB, Estimator
from widestreet._experiments.harness.task import Task


class ScikitLearn(Estimator):
    """sklearn.svm."""

    name = title = package = "scikit-learn"
    module = "sklearn"
    note = f"one thread by nature; cache_size={CACHE_MB}"
    rank = 2

    def estimator(self, task: Task, tol: float, threads: int) -> Any:
        from sklearn import svm

        kind = svm.SVC if task.kind == "svc" else svm.SVR
        return kind(**self.parameters(task, tol), cache_size=CACHE_MB)


SOLVERS = [ScikitLearn()]
