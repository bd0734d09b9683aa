"""ThunderSVM on the processor: the wheel thundersvm-cpu, of 2019, for Linux on x86-64."""

from __future__ import annotations

from typing import Any

import numpy as np

from widestreet._experiments.harness.solver import Estimator, Solution
from widestreet._experiments.harness.task import Task

FLOAT32 = 2.0**-22  # a coefficient this close to C, relatively, was C before it was rounded


class ThunderSVM(Estimator):
    """thundersvm; it computes in float32 whatever it is given."""

    name, title, package, module = "thundersvm", "ThunderSVM", "thundersvm-cpu", "thundersvm"
    note = "{threads} threads; float32 throughout; dense rows only, since it crashes on CSR"
    rank = 6
    takes_sparse = False  # it does, and dies of it: it reads integer labels as floats

    def estimator(self, task: Task, tol: float, threads: int) -> Any:
        import thundersvm

        kind = thundersvm.SVC if task.kind == "svc" else thundersvm.SVR
        return kind(**self.parameters(task, tol), n_jobs=threads)

    def solution(self, model: Any, data: Any) -> Solution:
        coef = np.zeros((len(model.dual_coef_), data[0].shape[0]))
        coef[:, model.support_] = model.dual_coef_
        bound = np.abs(np.abs(coef) - model.C) <= FLOAT32 * model.C
        coef[bound] = np.copysign(model.C, coef[bound])
        if model._impl == "epsilon_svr":
            return Solution(coef, np.array([]))
        classes, first = np.unique(data[1], return_index=True)
        return Solution(coef, classes[np.argsort(first)])  # in the order of appearance


SOLVERS = [ThunderSVM()]
