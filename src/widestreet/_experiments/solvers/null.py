"""A solver that does nothing, to test the harness."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from widestreet._experiments.harness.solver import Solution, Solver
from widestreet._experiments.harness.task import Task


class Null(Solver):
    """Zero coefficients; predicts the most frequent label or the median."""

    name, title, package, module = "null", "null", "numpy", "numpy"
    note = "returns zero coefficients: what the harness itself costs and finds"
    rank = 9
    uses_tol = False

    def version(self) -> str:
        return ""

    def fit(self, task: Task, data: Any, tol: float, threads: int, **options: Any) -> Any:
        y = data[1]
        if task.kind == "svr":
            return np.median(y), np.array([])
        return Counter(y.tolist()).most_common(1)[0][0], np.unique(y)

    def solution(self, model: Any, data: Any) -> Solution:
        return Solution(np.zeros((max(1, len(model[1]) - 1), data[0].shape[0])), model[1])

    def predict(self, model: Any, X: Any) -> Any:
        return np.full(X.shape[0], model[0])


SOLVERS = [Null()]
