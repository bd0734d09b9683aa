"""LIBSVM, by the Python package of its authors."""

from __future__ import annotations

from typing import Any

import numpy as np

from widestreet._experiments.harness.solver import CACHE_MB, Solution, Solver
from widestreet._experiments.harness.task import Task

KERNELS = {"linear": 0, "rbf": 2}
KINDS = {"svc": 0, "svr": 3}


class Libsvm(Solver):
    """libsvm.svmutil; the conversion to its lists of nonzero entries is not timed."""

    name, title, package, module = "libsvm", "LIBSVM", "libsvm-official", "libsvm"
    note = f"{{threads}} threads (its Python package is built with OpenMP); cache {CACHE_MB} MB"
    rank = 4

    def prepare(self, task: Task, X: Any, y: Any) -> Any:
        from libsvm.svm import svm_problem
        from scipy import sparse

        return svm_problem(y.astype(float), sparse.csr_matrix(X))

    def fit(self, task: Task, data: Any, tol: float, threads: int, **options: Any) -> Any:
        from libsvm.svmutil import svm_parameter, svm_train

        words = f"-q -s {KINDS[task.kind]} -t {KERNELS[task.kernel]} -c {task.C!r} -e {tol!r}"
        words += f" -g {task.gamma!r} -p {task.epsilon!r} -m {CACHE_MB}"
        return svm_train(data, svm_parameter(words))

    def solution(self, model: Any, data: Any) -> Solution:
        classes = [] if model.get_svm_type() == KINDS["svr"] else model.get_labels()
        lines = max(1, model.get_nr_class() - 1)
        coef = np.zeros((lines, data.l))
        if model.l:
            support = np.array(model.sv_indices[: model.l]) - 1
            for k in range(lines):
                coef[k, support] = model.sv_coef[k][: model.l]
        return Solution(coef, np.array(classes))

    def predict(self, model: Any, X: Any) -> Any:
        from libsvm.svmutil import svm_predict
        from scipy import sparse

        found, _, _ = svm_predict([], sparse.csr_matrix(X), model, "-q")
        return np.array(found)


SOLVERS = [Libsvm()]
