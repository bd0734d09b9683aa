"""Small problems for the tests: every kernel, storage and nastiness, always the same ones."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from scipy import sparse

from reference import duals, kernels
from reference.qp import Optimum, solve_qp

TASKS = ("svc", "svr")
TRAITS = (
    "plain",  # overlapping classes, noisy targets
    "separable",  # a wide street; for regression a target without noise
    "duplicates",  # a third of the rows are copies, label included
    "contradictory",  # equal rows with different labels
    "constant",  # one column without any variation
    "zero_weight",  # a quarter of the rows weigh nothing
    "weighted",  # weights over two orders of magnitude
    "all_bound",  # C so small that every variable ends at its bound
    "huge_C_separable",
    "huge_C_noisy",
)
STORAGES = (
    "dense C float64",
    "dense F float32",
    "csr int32 float64",
    "dense C float32",
    "csr int64 float32",
    "dense F float64",
    "csr array int64 float64",
)


@dataclass(frozen=True, eq=False)
class Problem:
    """One training problem, as a user would hold it.

    ``convex`` is False for the sigmoid kernel, whose matrix need not be positive semidefinite:
    its stationary points differ, so objectives are not to be compared.
    """

    name: str
    task: str
    X: Any
    y: np.ndarray
    sample_weight: np.ndarray | None
    kernel: str
    params: dict[str, float] = field(default_factory=dict)
    C: float = 1.0
    epsilon: float = 0.1

    @property
    def convex(self) -> bool:
        return self.kernel != "sigmoid"

    @property
    def box(self) -> np.ndarray:
        """C_i = C times weight."""
        weight = 1.0 if self.sample_weight is None else self.sample_weight
        return np.broadcast_to(self.C * np.float64(weight), len(self.y))

    @property
    def sign(self) -> np.ndarray:
        """The labels as -1 and +1 (+1 is the greater label)."""
        return np.where(self.y == self.y.max(), 1.0, -1.0)


@cache
def kernel_matrix(problem: Problem) -> np.ndarray:
    """The float64 kernel matrix of all rows."""
    return kernels.matrix(problem.kernel, problem.X, **problem.params)


@cache
def reference_qp(problem: Problem) -> duals.QP:
    """The textbook QP over all rows (nothing merged, nothing dropped)."""
    K = kernel_matrix(problem)
    if problem.task == "svc":
        return duals.c_svc(K, problem.sign, problem.box)
    return duals.eps_svr(K, problem.y, problem.box, problem.epsilon)


@cache
def reference_optimum(problem: Problem) -> Optimum:
    """The solution of ``reference_qp``; the optimal dual objective is minus its objective."""
    if not problem.convex:
        raise ValueError(f"{problem.name}: not convex, there is no optimum to refer to")
    qp = reference_qp(problem)
    return solve_qp(qp.Q, qp.p, qp.A, qp.d, qp.upper)


def generate(count: int = 200, seed: int = 0) -> list[Problem]:
    """The first ``count`` problems of a fixed sequence; problem i does not depend on ``count``.

    Kernel, task and trait run through all their combinations (100 of them), storage runs through
    its own cycle, the rest is drawn: C log-uniformly from 1e-4 to 1e6, unless the trait fixes it.
    """
    return list(_generate(count, seed))


@cache
def _generate(count: int, seed: int) -> tuple[Problem, ...]:
    return tuple(_problem(i, np.random.default_rng([seed, i])) for i in range(count))


def _problem(i: int, rng: np.random.Generator) -> Problem:
    kernel = kernels.KERNELS[i % 5]
    task = TASKS[i // 5 % 2]
    trait = TRAITS[i // 10 % len(TRAITS)]
    storage = STORAGES[i % len(STORAGES)]
    n, d = 2 * int(rng.integers(3, 31)), int(rng.integers(1, 9))
    X = _rows(rng, n, d, trait)
    y, weight = _labels(rng, X, task, kernel, trait), None
    if kernel == "linear":
        X /= 4.0  # K(x, x) about 1, as for the other kernels: at C = 1e6 every digit counts
    if trait in ("duplicates", "contradictory"):
        copied = rng.permutation(n)[: 2 * (n // 3)].reshape(2, -1)
        X[copied[0]] = X[copied[1]]
        y[copied[0]] = y[copied[1]]
        if trait == "contradictory":
            y[copied[0][::2]] = -y[copied[1][::2]] if task == "svc" else y[copied[1][::2]] + 1.0
        if task == "svc":
            y[np.setdiff1d(np.arange(n), copied)[:2]] = [-1, 1]  # both labels stay
    if trait == "zero_weight":
        weight = np.where(rng.permutation(n) < n // 4, 0.0, rng.choice([0.5, 1.0, 2.0], n))
        weight[[0, n - 1]] = 1.0
    if trait == "weighted":
        weight = 10.0 ** rng.uniform(-1, 1, n)
    return Problem(
        name=f"{i:03d} {task} {kernel} {trait} {storage}",
        task=task,
        X=_store(X, storage),
        y=y.astype(np.int64) if task == "svc" else y,
        sample_weight=weight,
        kernel=kernel,
        params=_params(rng, kernel, d),
        C=_penalty(rng, trait),
        epsilon=0.0 if trait == "all_bound" else float(rng.choice([0, 0.01, 0.1, 0.3]) * y.std()),
    )


def _rows(rng: np.random.Generator, n: int, d: int, trait: str) -> np.ndarray:
    """Rows within [-2, 2]^d on a grid of 1/64, so that float32 holds the same numbers."""
    X = np.round(64 * np.clip(rng.normal(size=(n, d)), -2, 2)) / 64
    X[np.abs(X) < 0.25] = 0.0  # something for CSR to leave out
    if trait in ("separable", "huge_C_separable"):
        X[:, 0] = np.sort(X[:, 0]) + np.where(np.arange(n) < n // 2, -1.0, 1.0)
    if trait == "constant":
        X[:, -1] = 1.5
    return X


def _labels(
    rng: np.random.Generator, X: np.ndarray, task: str, kernel: str, trait: str
) -> np.ndarray:
    n = len(X)
    if task == "svr":
        if "separable" in trait and kernel == "linear":
            return X.sum(axis=1) / 4  # exact, so that nothing but w has to be found
        noise = 0.0 if "separable" in trait else 0.5
        return np.sin(2 * X[:, 0]) + X.mean(axis=1) + noise * rng.normal(size=n)
    if "separable" in trait:
        return np.where(np.arange(n) < n // 2, -1.0, 1.0)
    if trait == "all_bound":
        return rng.permutation(np.repeat([-1.0, 1.0], n // 2))
    y = np.where(X.sum(axis=1) + rng.normal(size=n) > 0, 1.0, -1.0)
    y[[0, -1]] = [-1.0, 1.0]
    return y


def _params(rng: np.random.Generator, kernel: str, d: int) -> dict[str, float]:
    scale = float(rng.choice([0.25, 1.0, 4.0]))
    if kernel in ("rbf", "laplacian"):
        return {"gamma": scale / d}
    if kernel == "poly":
        degree = int(rng.integers(2, 4))
        return {"gamma": 0.25 / d, "coef0": float(rng.choice([0.0, 1.0])), "degree": degree}
    if kernel == "sigmoid":
        return {"gamma": 0.02 / d, "coef0": float(rng.choice([0.0, 0.1]))}
    return {}


def _penalty(rng: np.random.Generator, trait: str) -> float:
    if trait == "all_bound":
        return 1e-4
    if trait.startswith("huge_C"):
        return 1e6
    return float(10.0 ** rng.uniform(-4, 5 if trait == "weighted" else 6))


def _store(X: np.ndarray, storage: str) -> Any:
    X = X.astype(storage.split()[-1])
    if not storage.startswith("csr"):
        return np.asarray(X, order=storage.split()[1])
    csr = sparse.csr_array(X) if "array" in storage else sparse.csr_matrix(X)
    index = np.int64 if "int64" in storage else np.int32
    csr.indices, csr.indptr = csr.indices.astype(index), csr.indptr.astype(index)
    return csr


def two_points(C: float = 10.0) -> tuple[Problem, float]:
    """x = -1 and x = +1, linear kernel: alpha = min(C, 1/2) on both; with the dual objective."""
    alpha = min(C, 0.5)
    X, y = np.array([[-1.0], [1.0]]), np.array([-1, 1])
    return Problem("two points", "svc", X, y, None, "linear", {}, C), 2 * alpha - 2 * alpha**2


def toy_svc(n: int = 40, d: int = 2, *, C: float = 1.0, gamma: float = 0.5, seed: int = 0):
    """Two overlapping clouds, RBF kernel."""
    rng = np.random.default_rng(seed)
    y = np.repeat([-1, 1], [n // 2, n - n // 2])
    X = rng.normal(size=(n, d)) + 0.8 * y[:, None]
    return Problem("toy svc", "svc", X, y, None, "rbf", {"gamma": gamma}, C)


def toy_svr(n: int = 40, d: int = 2, *, C: float = 1.0, gamma: float = 0.5, seed: int = 0):
    """A noisy wave, RBF kernel."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, d))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=n)
    return Problem("toy svr", "svr", X, y, None, "rbf", {"gamma": gamma}, C, 0.1)


def toy_model(
    model: str, n: int = 30, *, C: float = 3.0, epsilon: float = 0.1, nu: float = 0.4, weight=None
) -> tuple[Problem, np.ndarray, duals.QP]:
    """One of the five models on a toy problem: the problem (its rows and labels), K and the QP."""
    problem = toy_svr(n) if model.endswith("svr") else toy_svc(n)
    K = kernel_matrix(problem)
    parameters = {"C": C, "epsilon": epsilon, "nu": nu, "weight": weight}
    return problem, K, duals.build(model, K, problem.y, **parameters)


def random_feasible(dual: Any, rng: np.random.Generator) -> np.ndarray:
    """A random point of a dual: the mean of three that fill their boxes in a random order.

    Where a total is 0 each of the three moves some beta from one negative to one positive box.
    """
    end = np.ravel(dual.lower + dual.upper)
    mean = np.zeros(end.size)
    for _ in range(3):
        beta = np.zeros(end.size)
        for g, total in enumerate(dual.totals):
            order = rng.permutation(np.flatnonzero(np.ravel(dual.group) == g))
            if total == 0:
                i, j = order[end[order] > 0][0], order[end[order] < 0][0]
                beta[i] = rng.random() * min(end[i], -end[j])
                beta[j] = -beta[i]
                continue
            filled = np.minimum(np.cumsum(np.abs(end[order])), abs(total))
            beta[order] = np.sign(total) * np.diff(filled, prepend=0.0)
        mean += beta / 3
    return mean.reshape(dual.target.shape)
