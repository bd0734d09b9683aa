"""Rows of an online machine with the optimum of the problems that they make."""

from __future__ import annotations

import numpy as np

from support.machines import GAMMA, C, data
from support.settings import settings
from widestreet._src.estimators.online.path_optimum import PathOptimum
from widestreet._src.estimators.online.problem import OnlineProblem
from widestreet._src.estimators.online.row_store import RowStore
from widestreet._src.estimators.online.state import OnlineState
from widestreet._src.kernels.kernels import RBF
from widestreet._src.problems.formulations import CSVC, DualFormulation, EpsilonSVR

N = 30
FORMULATIONS: dict[str, DualFormulation] = {
    "svc": CSVC(C=C),
    "svr": EpsilonSVR(C=C, epsilon=0.1),
}


def rows(kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows in any order; targets are values, or the numbers of two classes."""
    X, y = data(kind, N)
    order = np.random.default_rng(1).permutation(N)
    return X[order], (y[order] > 0).astype(np.float64) if kind == "svc" else y[order]


def store(kind: str, count: int = N) -> RowStore:
    """A store of the first rows."""
    X, y = rows(kind)
    made = RowStore(RBF(GAMMA), X, X.mean(axis=0), 1)
    made.add(X[:count], y[:count], np.ones(count))
    return made


def problem(kind: str) -> OnlineProblem:
    return OnlineProblem(FORMULATIONS[kind], 0 if kind == "svc" else None)


def optimum(kind: str, count: int = N) -> PathOptimum:
    """The optimum over the first rows."""
    return PathOptimum(store(kind, count), np.arange(count), problem(kind), settings())


def state(kind: str, count: int = N) -> OnlineState:
    """A state whose one problem is solved."""
    found = optimum(kind, count)
    classes = np.array([0, 1]) if kind == "svc" else None
    return OnlineState(found.store, {"n_features_in_": 3}, classes, {(0, 1): found})
