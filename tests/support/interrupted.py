"""Fits that take long, and kernels that are interrupted."""

from __future__ import annotations

import numpy as np

import widestreet as ws
from reference import kernels
from widestreet.datasets import friedman, twonorm

GENEROUS = 10.0  # seconds by which a busy machine may be late


def long_problem(task: str, n: int = 40_000):
    """Rows and an estimator that would take minutes."""
    if task == "svc":
        X, y = twonorm(n, random_state=0, dtype=np.float32)
        return X, y, ws.SVC(C=10.0, gamma=0.2, tol=1e-7, random_state=0)
    if task == "ensemble":
        X, y = twonorm(n, random_state=0, dtype=np.float32)
        return X, y, ws.EnsembleSVC(gamma=0.05, random_state=0)
    X, y = friedman(n, random_state=0, dtype=np.float32)
    return X, y, ws.SVR(C=100.0, gamma=0.5, tol=1e-7, random_state=0)


class InterruptedScores:
    """Accuracies of which the one with this number is interrupted."""

    def __init__(self, number):
        self.number, self.calls = number, 0

    def __call__(self, truth, found):
        self.calls += 1
        if self.calls == self.number:
            raise KeyboardInterrupt
        return float((truth == found).mean())

    def __deepcopy__(self, memo):
        return self


class Interrupting:
    """A kernel that is interrupted at one of its calls."""

    def __init__(self, at: int | None) -> None:
        self.at, self.calls = at, 0

    def __call__(self, A, B):
        self.calls += 1
        if self.calls == self.at:
            raise KeyboardInterrupt
        return kernels.matrix("rbf", A, B, gamma=0.5)
