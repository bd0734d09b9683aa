"""Problems whose rows get and lose weight, for the tests of the homotopy."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from conftest import TOL
from reference import kernels, kkt
from support.fitting import in_reference_terms
from widestreet._src.engines.homotopy.parametric_optimum import Endpoint, ParametricOptimum
from widestreet._src.problems import formulations
from widestreet._src.problems.dual import Dual

MODELS = ("c_svc", "eps_svr", "nu_svr", "one_class", "nu_svc")
KERNELS = {
    "rbf": {"gamma": 1.0},
    "linear": {},
    "poly": {"gamma": 1.0, "coef0": 1.0, "degree": 2},
}


class ChangingProblem:
    """Rows of which some have a weight, and the optimum over them as weights change."""

    def __init__(self, model: str, kernel: str, seed: int, n: int = 24) -> None:
        rng = self.rng = np.random.default_rng([seed, MODELS.index(model)])
        self.model, self.n = model, n
        X = np.round(rng.normal(size=(n, int(rng.integers(1, 4)))), int(rng.choice([1, 8])))
        X[rng.integers(n, size=n // 4)] = X[rng.integers(n, size=n // 4)]
        self.K = kernels.matrix(kernel, X, **KERNELS[kernel])
        self.y = np.sign(X[:, 0] + 0.5 * rng.normal(size=n) + 1e-9)
        self.y[:2] = [1, -1]
        self.value = np.round(np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=n), 1)
        self.C, self.nu = 10 ** rng.uniform(-2, 4), rng.uniform(0.05, 0.95)
        self.epsilon = float(rng.choice([0.0, 0.1, 0.5]))
        self.weight = np.zeros(n)

    def dual(self, weight: np.ndarray) -> Dual:
        make: dict[str, Callable[[], Dual]] = {
            "c_svc": lambda: formulations.c_svc(self.y, self.C * weight),
            "eps_svr": lambda: formulations.eps_svr(self.value, self.C * weight, self.epsilon),
            "nu_svr": lambda: formulations.nu_svr(self.value, self.nu, self.C * weight),
            "one_class": lambda: formulations.one_class(self.n, self.nu, weight),
            "nu_svc": lambda: formulations.nu_svc(self.y, self.nu, weight),
        }
        return make[self.model]()

    def block(self, I: np.ndarray, J: np.ndarray | None) -> np.ndarray:
        return self.K[I] if J is None else self.K[np.ix_(I, J)]

    def scan(self, J: np.ndarray, coef: np.ndarray) -> np.ndarray:
        return self.K[:, J] @ coef

    def optimum(self, beta: np.ndarray | None = None) -> ParametricOptimum:
        """Return the optimum for the present weights, found from a feasible point."""
        dual = self.dual(self.weight)
        beta = dual.feasible_point() if beta is None else beta
        return ParametricOptimum(self, np.diag(self.K).copy(), dual, beta)

    def end(self, weight: np.ndarray) -> Endpoint:
        return Endpoint.of(self.dual(weight))

    def change(self, optimum: ParametricOptimum, weight: np.ndarray) -> None:
        """Follow a change of the weights."""
        optimum.follow(self.end(weight))
        self.weight = weight

    def history(self, optimum: ParametricOptimum, changes: int) -> Iterator[None]:
        """Add, remove and reweight rows; yield after each change."""
        for _ in range(changes):
            weight = self.next()
            if weight is not None:
                self.change(optimum, weight)
                yield

    def check(self, optimum: ParametricOptimum) -> None:
        """Check KKT conditions by the reference, sums, boxes and the engine's own scores."""
        dual, beta = self.dual(self.weight), optimum.layered(optimum.beta)
        reference = in_reference_terms(dual)
        scale = max(1.0, np.abs(self.value).max())
        assert kkt.kkt_violation(self.K, reference, beta) <= 1e-8 * scale
        assert kkt.feasibility(reference, beta) <= TOL.feasibility
        assert (beta >= dual.lower).all()
        assert (beta <= dual.upper).all()
        np.testing.assert_allclose(
            optimum.score, self.K @ beta.sum(axis=0), rtol=0, atol=1e-9 * scale
        )

    def next(self) -> np.ndarray | None:
        """Return weights after some rows were added, removed or reweighted."""
        rng, weight = self.rng, self.weight.copy()
        come = rng.random() < 0.65
        able = np.flatnonzero((weight == 0) == come)
        if len(able) == 0:
            return None
        count = 1 if rng.random() < 0.8 else int(rng.integers(1, 6))
        chosen = rng.choice(able, min(count, len(able)), replace=False)
        weight[chosen] = rng.choice([0.5, 1.0, 1.0, 2.0]) if come else 0.0
        try:
            self.dual(weight)
        except ValueError:  # nu is infeasible
            return None
        return weight
