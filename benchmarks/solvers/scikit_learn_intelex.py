"""scikit-learn-intelex: oneDAL's solver in the clothes of scikit-learn."""

from __future__ import annotations

from typing import Any

from ..solver import CACHE_MB, Estimator
from ..task import Task


class Intelex(Estimator):
    """sklearnex.svm, which sets its threads by a context that it inherits from its daal4py."""

    name = title = package = "scikit-learn-intelex"
    module = "sklearnex"
    note = f"{{threads}} threads; cache_size={CACHE_MB}"
    rank = 3

    def estimator(self, task: Task, tol: float, threads: int) -> Any:
        import daal4py
        from sklearnex import svm

        daal4py.daalinit(threads)
        kind = svm.SVC if task.kind == "svc" else svm.SVR
        return kind(**self.parameters(task, tol), cache_size=CACHE_MB)


SOLVERS = [Intelex()]
