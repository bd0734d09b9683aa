"""The problems of the fits: generators, kernels and parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from widestreet import datasets


@dataclass(frozen=True)
class Problem:
    name: str
    make: Callable[..., Any]
    task: str
    gamma: float
    C: float
    epsilon: float = 0.0

    def data(self, rows: int, dtype: str) -> tuple[Any, Any]:
        X, y = self.make(rows, random_state=7)
        return X.astype(dtype), y

    def parameters(self) -> dict[str, Any]:
        parameters = {"kernel": "rbf", "gamma": self.gamma, "C": self.C, "tol": 1e-3}
        if self.task == "svr":
            parameters["epsilon"] = self.epsilon
        return parameters


PROBLEMS = {
    p.name: p
    for p in (
        Problem("checkerboard", datasets.checkerboard, "svc", gamma=2.0, C=100.0),
        Problem("twonorm", datasets.twonorm, "svc", gamma=0.05, C=1.0),
        Problem("ringnorm", datasets.ringnorm, "svc", gamma=0.05, C=1.0),
        Problem("friedman", datasets.friedman, "svr", gamma=0.5, C=10.0, epsilon=1.0),
    )
}
