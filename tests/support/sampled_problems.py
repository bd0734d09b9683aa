"""Small problems without ties for the strategies that sample rows, and a look at their rounds."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import numpy as np

from conftest import TOL
from reference import kernels as reference_kernels
from reference.duals import QP, BetaDual, build
from reference.restricted import Point
from support.fitting import Solved, build_dual, in_reference_terms, solve_dual
from widestreet._src.kernels import kernels
from widestreet._src.problems.dual import Dual
from widestreet._src.problems.goal import MARGIN
from widestreet.strategies import Proposal, Situation, Strategy

MODELS = ("c_svc", "eps_svr")
KERNELS: dict[str, kernels.NativeKernel] = {
    "rbf": kernels.RBF(0.5),
    "linear": kernels.Linear(),
    "poly": kernels.Poly(gamma=0.5, coef0=1.0, degree=2),
}
C, EPSILON = 10.0, 0.3
TIGHT = 1e-9  # asked for, so that every decision is the one of an exact solution
SLIGHT = MARGIN * TIGHT  # then a violation that counts


@dataclass(frozen=True, eq=False)
class Case:
    """Rows and dual for the engine; kernel matrix, dual and QP for the references."""

    X: np.ndarray
    kernel: kernels.NativeKernel
    dual: Dual
    K: np.ndarray
    reference: BetaDual
    qp: QP


@cache
def case(
    model: str, kernel: str = "rbf", n: int = 80, *, seed: int = 0, penalty: float = C
) -> Case:
    """Gaussian rows: two overlapping classes, or a noisy wave."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    if model == "c_svc":
        y = np.where(X[:, 0] + 0.1 * X[:, 1] ** 2 + 0.2 * rng.normal(size=n) > 0, 1.0, -1.0)
    else:
        y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=n)
    return _case(X, y, model, kernel, penalty)


@cache
def easy(model: str, n: int = 200, *, seed: int = 0) -> Case:
    """At most three support vectors: two classes apart, or a line within a tube; linear kernel."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 2 if model == "c_svc" else 1))
    if model == "c_svc":
        y = np.where(X @ [1.0, 2.0] > 0, 1.0, -1.0)
        X += 0.05 * y[:, None]
    else:
        y = X[:, 0] + rng.uniform(-0.25, 0.25, n)
    return _case(X, y, model, "linear", 1e6)


def _case(X: np.ndarray, y: np.ndarray, model: str, kernel: str, penalty: float) -> Case:
    K = reference_kernels.matrix(kernel, X, **asdict(KERNELS[kernel]))
    dual = build_dual(model, y, C=penalty, epsilon=EPSILON)
    qp = build(model, K, y, C=penalty, epsilon=EPSILON, nu=0.0)
    return Case(X, KERNELS[kernel], dual, K, in_reference_terms(dual), qp)


@dataclass(frozen=True, eq=False)
class Look:
    """What one round solved, which rows it was told to look at, and what it found there."""

    W: list[int]
    support: list[int]
    asked: list[int] | None
    visited: int
    violators: list[int]
    notes: dict[str, Any]


class Watched(Strategy):
    """A strategy whose rounds are written down."""

    def __init__(self, strategy: Strategy) -> None:
        self.strategy, self.looks = strategy, list[Look]()

    def search(self) -> _Watcher:
        return _Watcher(self.strategy.search(), self.looks)


class _Watcher:
    def __init__(self, search: Any, looks: list[Look]) -> None:
        self.search, self.looks = search, looks

    def __getattr__(self, name: str) -> Any:
        return getattr(self.search, name)

    def propose(self, situation: Situation, rng: np.random.Generator) -> Proposal:
        self.plan: Proposal = self.search.propose(situation, rng)
        return self.plan

    def observe(self, situation: Situation) -> dict[str, Any]:
        notes: dict[str, Any] = self.search.observe(situation)
        asked = self.plan.survey.rows
        self.looks.append(
            Look(
                sorted(situation.ids.tolist()),
                sorted(situation.ids[situation.support].tolist()),
                None if asked is None else asked.tolist(),
                situation.visited,
                situation.violators.tolist(),
                notes,
            )
        )
        return notes


def watch(problem: Case, strategy: Strategy, seed: int) -> tuple[list[Look], Solved]:
    """Run the engine with a strategy, and look on."""
    watched = Watched(strategy)
    solved = solve_dual(
        problem.X, problem.dual, watched, kernel=problem.kernel, tol=TIGHT, seed=seed
    )
    return watched.looks, solved


def assert_same_function(problem: Case, solved: Solved, point: Point) -> None:
    """Equal scores and biases; coefficients need not be unique."""
    difference = problem.K @ (solved.solution.beta - point.beta).sum(axis=0)
    assert np.abs(difference).max() <= TOL.decision
    assert np.abs(solved.solution.bias - point.bias).max() <= TOL.decision
