"""Working sets for the tests of what happens inside one."""

from __future__ import annotations

import numpy as np

from reference import kernels, smo
from support.fitting import in_reference_terms
from support.model_duals import build, labels
from support.problems import random_feasible
from widestreet._src.engines.working_set.tile import WorkingSet
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import RBF, Linear
from widestreet._src.problems.dual import Dual, select
from widestreet._src.rows import as_rows
from widestreet._src.shards.columns import AllRows
from widestreet._src.shards.shard import Candidates

KERNELS = {"rbf": (RBF(2.0), {"gamma": 2.0}), "linear": (Linear(), {})}


class Bench:
    """Rows with their dual and kernel matrix, and a working set that holds some of them.

    With the linear kernel the matrix has rank d.
    """

    def __init__(
        self,
        model: str,
        n: int,
        seed: int,
        *,
        kernel: str = "rbf",
        capacity: int = 0,
        d: int = 3,
    ) -> None:
        self.rng = np.random.default_rng(seed)
        X = self.rng.uniform(-1.2, 1.2, size=(n, d))
        values, params = KERNELS[kernel]
        self.K = kernels.matrix(kernel, X, **params)
        self.dual: Dual = build(model, labels(self.rng, model, n), np.ones(n))
        self.work = WorkingSet(AllRows(Gram(values, as_rows(X))), self.dual, capacity or n, 1)
        self.beta = np.zeros_like(self.dual.target)

    @property
    def score(self) -> np.ndarray:
        """Scores of all rows at `beta`."""
        return self.K @ self.beta.sum(axis=0)

    def admit(self, ids, leaving=None) -> None:
        """Let rows in, with the present coefficients."""
        ids = np.asarray(ids, dtype=np.int64)
        rows = Candidates(ids, select(self.dual, ids), self.beta[:, ids].copy(), self.score[ids])
        if leaving is None:
            leaving = np.zeros(self.work.size, dtype=bool)
        self.work.exchange(leaving, rows)

    def collect(self) -> np.ndarray:
        """Coefficients of all rows after the working set changed some."""
        beta = self.beta.copy()
        beta[:, self.work.ids[self.work.present]] = self.work.beta[:, self.work.present]
        return beta


def bench_at(model: str, n: int, seed: int, beta=None, *, double: bool = True, **options) -> Bench:
    """All rows in the working set, at a random point or the given one."""
    bench = Bench(model, n, seed, **options)
    dual = in_reference_terms(bench.dual)
    bench.beta = random_feasible(dual, bench.rng) if beta is None else beta(bench.K, dual)
    if double:
        bench.work.use_double()
    bench.admit(np.arange(n))
    bench.work.score[:n] = bench.work.tile[:n, :n].astype(np.float64) @ bench.beta.sum(axis=0)
    return bench


def nearly_solved(K, dual) -> np.ndarray:
    return smo.smo(K, dual, tol=1e-2).beta
