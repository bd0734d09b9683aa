"""Random histories of the online machines, and what has to be true after every call."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import widestreet as ws
from conftest import TOL
from reference import duals, kernels, kkt
from reference.qp import solve_qp
from support.fitting import as_exact_as_float64, build_dual, cut_short, in_reference_terms
from widestreet import online

KERNELS: dict[str, dict[str, Any]] = {
    "rbf": {"kernel": "rbf", "gamma": 1.0},
    "linear": {"kernel": "linear"},
    "poly": {"kernel": "poly", "gamma": 1.0, "coef0": 1.0, "degree": 2},
}
TWINS = {
    "c_svc": (online.OnlineSVC, ws.SVC, ("C",)),
    "nu_svc": (online.OnlineNuSVC, ws.NuSVC, ("nu",)),
    "eps_svr": (online.OnlineSVR, ws.SVR, ("C", "epsilon")),
    "nu_svr": (online.OnlineNuSVR, ws.NuSVR, ("C", "nu")),
    "one_class": (online.OnlineOneClassSVM, ws.OneClassSVM, ("nu",)),
}
MODELS = tuple(TWINS)


@dataclass
class Row:
    """A row that is there, as the test remembers it."""

    id: int
    x: np.ndarray
    y: float
    weight: float


class History:
    """An online machine, the rows that it should have, and a pool that more of them come from."""

    def __init__(self, model: str, kernel: str, seed: int) -> None:
        rng = self.rng = np.random.default_rng([seed, MODELS.index(model)])
        self.model, self.kernel = model, kernel
        d = int(rng.integers(1, 4))
        pool = np.round(rng.normal(size=(16, d)), int(rng.choice([1, 8])))
        self.pool, self.probe = pool, rng.normal(size=(5, d))
        self.classes = int(rng.choice([2, 2, 3]))
        self.size = float(rng.choice([1.0, 1.0, 30.0])) if model.endswith("svr") else 1.0
        self.rows: list[Row] = []
        self.arrived = 0
        window = int(rng.integers(5, 15)) if seed % 4 == 3 else None
        shape: dict[str, Any] = {"decision_function_shape": "ovo"} if self.classifies else {}
        if model == "nu_svr" and seed % 3 == 1:
            shape["scaling"] = "schoelkopf"
        make, _, names = TWINS[model]
        self.machine = make(
            **KERNELS[kernel], **{name: self.draw(name) for name in names}, **shape,
            max_rows=window, n_jobs=1, random_state=0,
        )  # fmt: skip

    @property
    def classifies(self) -> bool:
        return self.model.endswith("svc")

    def draw(self, name: str) -> float:
        """A value of a parameter."""
        rng = self.rng
        if name == "C":
            return float(10 ** rng.uniform(-2, 4))
        if name == "nu":
            return float(rng.uniform(0.05, 0.95))
        return float(self.size * rng.choice([0.0, 0.1, 0.5]))

    # -- calls -------------------------------------------------------------------------------------

    def step(self) -> None:
        """One call of the machine, and the same for the rows that the test remembers."""
        n = len(self.rows)
        calls = [self.add, self.forget, self.reweigh, self.move]
        chances = np.array([0.6, 0.25, 0.1, 0.05]) if n < 20 else np.array([0.3, 0.55, 0.1, 0.05])
        call = self.rng.choice(np.array(calls), p=chances) if n else self.add
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "nu=.* is infeasible|the margin is zero", UserWarning)
            call()

    def some(self, most: int) -> int:
        """How many rows at once: mostly one."""
        return 1 if self.rng.random() < 0.75 else int(self.rng.integers(1, most))

    def add(self) -> None:
        """Rows come: some of the pool for another time, with the same label or another."""
        rng, count = self.rng, self.some(7)
        X = self.pool[rng.integers(len(self.pool), size=count)]
        wave = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=count)
        y = self.size * np.round(wave, 1)
        if self.classifies:
            y = np.floor(self.classes / 2 * (np.clip(wave, -0.99, 0.99) + 1))
        weight = rng.choice([0.5, 1.0, 1.0, 2.0, 0.0], size=count)
        if not any(row.weight for row in self.rows):
            weight[0] = 1.0
        given = () if self.model == "one_class" else (y,)
        self.machine.partial_fit(X, *given, sample_weight=weight)
        for x, target, w in zip(X, y, weight, strict=True):
            self.rows.append(Row(self.arrived, x, float(target), float(w)))
            self.arrived += 1
        if self.machine.max_rows is not None:
            self.rows = self.rows[-self.machine.max_rows :]

    def chosen(self) -> list[Row]:
        count = min(len(self.rows), self.some(5))
        return [self.rows[i] for i in self.rng.choice(len(self.rows), count, replace=False)]

    def forget(self) -> None:
        gone = [row.id for row in self.chosen()]
        self.machine.forget(gone)
        self.rows = [row for row in self.rows if row.id not in gone]

    def reweigh(self) -> None:
        rows = self.chosen()
        weight = self.rng.choice([0.0, 0.3, 1.0, 3.0], size=len(rows))
        self.machine.change_weight([row.id for row in rows], weight)
        for row, w in zip(rows, weight, strict=True):
            row.weight = float(w)

    def move(self) -> None:
        """Another C, nu or epsilon, at once."""
        name = str(self.rng.choice(TWINS[self.model][2]))
        self.machine.set_params(**{name: self.draw(name)}).change_weight([], [])

    # -- what has to be true -----------------------------------------------------------------------

    @property
    def X(self) -> np.ndarray:
        return np.array([row.x for row in self.rows]).reshape(-1, self.pool.shape[1])

    @property
    def y(self) -> np.ndarray:
        return np.array([row.y for row in self.rows])

    @property
    def weight(self) -> np.ndarray:
        return np.array([row.weight for row in self.rows])

    def matrix(self, X: np.ndarray, S: np.ndarray) -> np.ndarray:
        options = {k: v for k, v in KERNELS[self.kernel].items() if k != "kernel"}
        return kernels.matrix(self.kernel, X, S, **options)

    def check(self, reference: bool = False) -> None:
        """Everything; with `reference`, the objectives against the dense QP solver as well."""
        machine = self.machine
        assert machine.ids_.tolist() == [row.id for row in self.rows]
        assert machine.n_rows_ == len(self.rows)
        if self.rows:
            self.check_attributes()
        if (self.weight > 0).any():
            self.check_optimality(reference)
            self.check_values()
        else:
            assert not machine._state.optima
            for question in (machine.verify, lambda: machine.predict(self.probe)):
                with pytest.raises(NotFittedError, match="no rows"):
                    question()

    def check_attributes(self) -> None:
        machine = self.machine
        np.testing.assert_array_equal(machine.support_vectors_, self.X[machine.support_])
        order = np.arange(len(self.rows))
        if self.classifies:
            order = np.lexsort((order, self.y))
            assert machine.classes_.tolist() == sorted({*machine.classes_, *self.y})
            count = [(self.y[machine.support_] == label).sum() for label in machine.classes_]
            assert machine.n_support_.tolist() == count
        assert machine.support_.tolist() == [i for i in order if i in set(machine.support_)]
        assert (self.weight[machine.support_] > 0).all()

    def problems(self) -> list[tuple[Any, np.ndarray, float]]:
        """The name of each problem there is, its rows, and a nu that is possible for it."""
        there = np.flatnonzero(self.weight > 0)
        nu = float(getattr(self.machine, "nu", 0.5))
        if not self.classifies:
            return [(None, there, nu)] if len(there) else []
        known, found = self.machine.classes_.tolist(), []
        for i, j in combinations(np.unique(self.y[there]).tolist(), 2):
            rows = there[np.isin(self.y[there], (i, j))]
            first = self.weight[rows] @ (self.y[rows] == i)
            total = self.weight[rows].sum()
            most = 2 * min(first, total - first) / total
            found.append(((known.index(i), known.index(j)), rows, min(nu, most)))
        return found

    def targets(self, key: Any, rows: np.ndarray) -> np.ndarray:
        """Of a problem: +1 for the second class."""
        if self.model == "one_class":
            return np.zeros(len(rows))
        if key is None:
            return self.y[rows]
        return np.where(self.y[rows] == self.machine.classes_[key[1]], 1.0, -1.0)

    def price(self, weight: np.ndarray) -> float:
        """C of every row."""
        C = float(getattr(self.machine, "C", 1.0))
        mean = getattr(self.machine, "scaling", "libsvm") == "schoelkopf"
        return C / float(weight.sum()) if mean else C

    def check_optimality(self, reference: bool) -> None:
        """By the machine's own certificate, and by the reference on a dense kernel matrix."""
        machine, bound = self.machine, TOL.online * max(1.0, np.abs(self.y).max())
        found = self.problems()
        assert set(machine._state.optima) == {key for key, _, _ in found}
        if not found:
            return
        assert as_exact_as_float64(machine.verify())
        assert max(one.kkt_violation for one in machine.certificates_) <= bound
        for key, rows, nu in found:
            exact, weight, y = (
                machine._state.optima[key],
                self.weight[rows],
                self.targets(key, rows),
            )
            added = machine._state.store.weight[
                exact.members
            ]  # in the order in which the machine does
            options = {
                "C": self.price(added), "epsilon": getattr(machine, "epsilon", 0.0), "nu": nu,
            }  # fmt: skip
            dual = build_dual(self.model, y, weight=weight, **options)
            place = {int(machine._state.store.ids[m]): at for at, m in enumerate(exact.members)}
            at = [place[self.rows[r].id] for r in rows]
            beta = exact.beta
            K = self.matrix(self.X[rows], self.X[rows])
            terms = in_reference_terms(dual)
            assert kkt.kkt_violation(K, terms, beta[:, at]) <= bound
            assert kkt.feasibility(terms, beta[:, at]) <= TOL.feasibility
            assert not np.delete(beta, at, axis=1).any()  # rows of no weight
            if reference:
                qp = duals.build(self.model, K, y, weight=weight, **options)
                optimum = solve_qp(qp.Q, qp.p, qp.A, qp.d, qp.upper)
                objective = kkt.dual_objective(K, terms, beta[:, at])
                size = max(abs(optimum.objective), 1.0)
                assert abs(objective + optimum.objective) <= TOL.objective_rel * size

    def values(self, Z: np.ndarray) -> np.ndarray:
        values = getattr(self.machine, "decision_function", self.machine.predict)(Z)
        return np.asarray(values).reshape(len(Z), -1)

    def check_values(self) -> None:
        """Decision values are those of another fit to the rows that there are."""
        if self.classifies and len(self.machine.classes_) < 2:
            return
        Z = np.vstack([self.X, self.probe])
        values = self.values(Z)
        k = len(self.machine.classes_) if self.classifies else 0
        columns = {pair: p for p, pair in enumerate(combinations(range(k), 2))}
        sign = -1.0 if len(columns) > 1 else 1.0  # of several pairs, the first is positive
        for key, rows, nu in self.problems():
            mine = sign * values[:, columns.pop(key, 0)]
            model = self.refitted(key, rows, nu)
            other = getattr(model, "decision_function", model.predict)(Z)
            size = max(10.0, np.abs(model.dual_coef_).sum())
            np.testing.assert_allclose(mine, other, rtol=0, atol=TOL.decision * size)
        there = np.unique(self.y[self.weight > 0])
        for (i, j), column in columns.items():  # pairs of which somebody is missing
            here = np.isin(self.machine.classes_[[i, j]], there)
            assert (sign * values[:, column] == float(here[1]) - float(here[0])).all()

    def refitted(self, key: Any, rows: np.ndarray, nu: float) -> Any:
        _, make, names = TWINS[self.model]
        options = {name: getattr(self.machine, name) for name in names}
        if "nu" in options:
            options["nu"] = nu
        if "C" in options:
            options["C"] = self.price(self.weight[rows])
        plain = make(**KERNELS[self.kernel], **options, tol=TOL.twins, n_jobs=1, random_state=0)
        given = () if self.model == "one_class" else (self.targets(key, rows),)
        with cut_short():  # a large C: the rounding of scores may exceed so small a tol
            warnings.filterwarnings("ignore", "the margin is zero", UserWarning)
            return plain.fit(self.X[rows], *given, sample_weight=self.weight[rows])
