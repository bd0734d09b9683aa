"""Whether fits keep within `max_memory`: the memory of their process, data in memory apart.

Each fit runs in a process of its own; the peak of its memory from just before `fit` on is compared
with the budget.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import linalg, sparse
from threadpoolctl import threadpool_limits

import widestreet as ws
from faults.calls import Failure
from faults.driver import inherited
from widestreet._experiments.harness import memory
from widestreet.datasets import checkerboard, friedman, twonorm
from widestreet.online import OnlineNuSVR, OnlineSVC, OnlineSVR

ALLOWED = 1.2  # times the budget
MB = 1_000_000


def board(n: int) -> tuple[np.ndarray, np.ndarray]:
    return checkerboard(n, random_state=0)


def norm(n: int) -> tuple[np.ndarray, np.ndarray]:
    return twonorm(n, random_state=0)


def classes(n: int) -> tuple[np.ndarray, np.ndarray]:
    X, y = norm(n)
    return X, (y > 0) + 2 * (X[:, 0] > 0)


def noise(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels that the rows do not tell: all of them become support vectors."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 8)), rng.choice([-1, 1], n)


def values(n: int) -> tuple[np.ndarray, np.ndarray]:
    return friedman(n, random_state=0)


def thin(n: int) -> tuple[Any, np.ndarray]:
    rng = np.random.default_rng(0)
    X = sparse.random(n, 2000, density=0.01, format="csr", random_state=0)
    return X, np.where(np.asarray(X[:, :1000].sum(axis=1)).ravel() > rng.normal(5, 1, n), 1, -1)


def single(n: int) -> tuple[np.ndarray, np.ndarray]:
    X, y = board(n)
    return np.asfortranarray(X, dtype=np.float32), y


def product(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    return np.exp(-0.05 * ((A**2).sum(axis=1)[:, None] + (B**2).sum(axis=1) - 2 * A @ B.T))


def matrix(n: int) -> tuple[np.ndarray, np.ndarray]:
    X, y = norm(n)
    return product(X, X), y


def filed(n: int) -> tuple[Any, Any]:
    """A board in a file, beside thirty columns that are equal for all rows."""
    path = Path(tempfile.mkdtemp()) / "rows.npy"
    rows = np.lib.format.open_memmap(path, "w+", np.float32, (n, 33))
    rows[:, :2], rows[:, 2] = board(n)
    rows[:, 3:] = 1.0
    rows.flush()
    return ws.open_rows(path, target=2)


Fit = tuple[Callable[..., Any], dict[str, Any], Callable[[int], tuple[Any, Any]], int, float]


def _fits() -> list[Fit]:
    """Estimator, parameters, data, rows, and millions of bytes."""
    found: list[Fit] = []

    def add(kind: Any, data: Any, n: int, budget: float, **options: Any) -> None:
        found.append((kind, options, data, n, budget))

    for budget in (8, 20, 60, 200):  # working sets that must stay small, or may be large
        add(ws.SVC, board, 20_000, budget, gamma=2.0, C=100.0)
    for budget in (12, 40, 150):  # free variables and factors
        add(ws.SVC, noise, 6_000, budget, gamma=0.5, C=1e3, max_time=20)
    add(ws.SVC, noise, 3_000, 100, gamma=0.2, C=1e4, max_time=20, strategy="smo")
    add(ws.SVC, norm, 20_000, 30, gamma=0.05)
    add(ws.SVC, norm, 20_000, 30, gamma=0.05, n_jobs=1)
    add(ws.SVC, single, 20_000, 20, gamma=2.0, C=100.0)
    add(ws.SVC, thin, 4_000, 70, gamma=0.5)
    add(ws.SVC, thin, 4_000, 100, kernel="linear")
    for kernel in ("linear", "poly", "laplacian", "sigmoid"):
        add(ws.SVC, norm, 8_000, 25, kernel=kernel, gamma=0.02, max_time=20)
    add(ws.SVC, norm, 4_000, 80, kernel=product)
    add(ws.SVC, norm, 4_000, 20, kernel=product)
    add(ws.SVC, matrix, 3_000, 75, kernel="precomputed")
    for strategy in ("smo", "isvm", "randsvm", "rsvm", "prsvm"):
        add(ws.SVC, norm, 10_000, 25, gamma=0.05, strategy=strategy, max_time=20)
        add(ws.SVC, board, 6_000, 100, gamma=2.0, C=10.0, strategy=strategy, max_time=20)
    for jobs in (1, 2):  # one-vs-one: one after the other, and side by side
        add(ws.SVC, classes, 8_000, 20, gamma=0.05, n_jobs=jobs)
        add(ws.SVC, classes, 8_000, 100, gamma=0.05, C=100.0, n_jobs=jobs)
    add(ws.NuSVC, classes, 6_000, 40, gamma=0.05, nu=0.1)
    add(ws.NuSVC, norm, 10_000, 20, gamma=0.05, nu=0.1)
    add(ws.NuSVC, norm, 10_000, 150, gamma=0.05, nu=0.5)
    add(ws.SVR, values, 10_000, 20, C=100.0, max_time=20)
    add(ws.SVR, values, 10_000, 150, C=100.0, max_time=20)
    add(ws.NuSVR, values, 6_000, 20, C=10.0, max_time=20)
    add(ws.NuSVR, values, 6_000, 150, C=10.0, max_time=20)
    add(ws.OneClassSVM, norm, 20_000, 25, gamma=0.05, nu=0.1)
    add(ws.OneClassSVM, norm, 20_000, 200, gamma=0.05, nu=0.4)
    add(ws.EnsembleSVC, norm, 3_000, 200, gamma=0.05)  # held
    add(ws.EnsembleSVC, norm, 3_000, 40, gamma=0.05, max_iter=10)  # streamed
    add(ws.EnsembleSVC, norm, 10_000, 100, gamma=0.05, rank=500)
    add(ws.EnsembleSVC, norm, 10_000, 60, gamma=0.05, rank=0.6)
    add(ws.EnsembleSVC, norm, 30_000, 100, gamma=0.05, rank=100)
    add(ws.EnsembleSVC, classes, 4_000, 80, gamma=0.05, rank=300)
    add(ws.SVC, filed, 150_000, 15, gamma=2.0, C=1e4)  # less than the rows
    add(ws.SVC, filed, 150_000, 60, gamma=2.0, C=1e4)
    add(ws.SVR, filed, 50_000, 15, gamma=2.0, C=1.0, epsilon=0.5, max_time=20)
    add(OnlineSVC, norm, 3_000, 100, gamma=0.05)
    add(OnlineSVR, values, 1_500, 60, C=1.0)
    add(OnlineNuSVR, values, 400, 60, C=1.0, method="insvr")
    return found


FITS = _fits()
TWO_GROUPS = next(i for i, fit in enumerate(FITS) if fit[0] is ws.NuSVR)
STORED = next(i for i, fit in enumerate(FITS) if fit[2] is filed)


def peak(number: int) -> float:
    """Megabytes (of 10^6 bytes) that a fit takes at the most beside its data."""
    kind, options, data, n, budget = FITS[number]
    few = board if data is filed else data
    small = [array[:40] for array in few(80)]  # libraries load, threads start
    if options.get("kernel") == "precomputed":
        small[0] = small[0][:, :40]
    rank = {"rank": 2} if "rank" in options else {}
    kind(**options | {"max_memory": None} | rank).fit(*small)
    _use_blas()
    X, y = data(n)
    model = kind(**options, max_memory=int(budget * MB))
    begun = memory.begin()
    model.fit(X, y)
    return (memory.peak() - begun) * 2**20 / MB


def _use_blas() -> None:
    """Let linear algebra take its buffers, which it keeps until the process ends."""
    with threadpool_limits(1):
        for dtype in (np.float32, np.float64):
            K = np.eye(1000, dtype=dtype) + np.asarray(0.5, dtype=dtype)
            potrf, trsm = (
                linalg.get_lapack_funcs("potrf", (K,)),
                linalg.get_blas_funcs("trsm", (K,)),
            )
            factor, _ = potrf(K @ K, lower=True)
            trsm(1.0, factor, K, lower=True)


class Budgets:
    """Measures one fit at a time."""

    def __call__(self, i: int, rng: np.random.Generator) -> tuple[str, str, str]:
        """Measure a fit; return its estimator, what it was, and whether it kept its budget."""
        number = i % len(FITS)
        kind, options, data, n, budget = FITS[number]
        command = [sys.executable, "-W", "ignore", "-m", "faults.budgets", str(number)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=inherited())
        if done.returncode:
            raise Failure(f"{kind.__name__}({options}): {done.stderr}")
        found = json.loads(done.stdout)
        text = f"{kind.__name__}({options}) on {n:,} rows of {data.__name__}"
        if found > ALLOWED * budget:
            raise Failure(f"{text}: {found:.1f} MB of {budget} MB")
        return kind.__name__, text, "within max_memory"


FAULT = Budgets

if __name__ == "__main__":
    print(json.dumps(peak(int(sys.argv[1]))))
