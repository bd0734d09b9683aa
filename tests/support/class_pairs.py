"""Problems of several classes, and everything that trains them pair by pair."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

import widestreet as ws
from conftest import TOL
from reference import kernels as reference
from support.fitting import cut_short
from widestreet._src.estimators.callbacks import RoundReporter
from widestreet._src.kernels import kernels
from widestreet._src.kernels.gram import Gram
from widestreet._src.problems.class_pairs import PairLayout
from widestreet._src.problems.formulations import c_svc, nu_svc
from widestreet._src.reporting.observers import Observers
from widestreet._src.rows import KernelRows, as_rows
from widestreet._src.training.one_vs_one import train_pairs
from widestreet._src.training.pair_problems import PairProblems
from widestreet._src.training.problem import Problem
from widestreet._src.training.trained import Trained
from widestreet.strategies import Auto

GAMMA, C, NU = 0.5, 5.0, 0.4
TIGHT = {"gamma": GAMMA, "tol": TOL.violation, "n_jobs": 1, "random_state": 0}
SMALL = Auto(start_size=16, max_size=32)
FORMS = ("dense", "csr", "precomputed", "callable")


def clouds(k: int = 4, n: int = 160, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Overlapping classes of unequal size, in no order."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.append(rng.integers(0, k, n - 2 * k), np.repeat(np.arange(k), 2)))
    X = 2 * rng.normal(size=(k, 3))[y] + rng.normal(size=(n, 3))
    X[np.abs(X[:, 0]) < 0.5, 0] = 0.0  # something for CSR to leave out
    return X, y


def machine(name: str = "SVC", **options: Any) -> ws.SVC | ws.NuSVC:
    """A classifier to be fitted tightly."""
    own = {"C": C} if name == "SVC" else {"nu": NU}
    return getattr(ws, name)(**TIGHT | own | options)


def quietly(model: Any, *data: Any) -> Any:
    """Fit, whatever the certificate says."""
    with cut_short():
        return model.fit(*data)


def ovo(model: Any, X: Any) -> np.ndarray:
    """Decision values of all pairs."""
    return model.set_params(decision_function_shape="ovo").decision_function(X)


# -- rows --------------------------------------------------------------------------------------


def rbf(A: Any, B: Any) -> np.ndarray:
    return reference.matrix("rbf", A, B, gamma=GAMMA)


def in_form(form: str, X: np.ndarray) -> tuple[Any, Any]:
    """What an estimator is fitted to, and its kernel."""
    return {
        "dense": (X, "rbf"),
        "csr": (sparse.csr_matrix(X), "rbf"),
        "precomputed": (rbf(X, X), "precomputed"),
        "callable": (X, rbf),
    }[form]


def gram_in_form(form: str, X: np.ndarray) -> Gram:
    if form == "precomputed":
        return Gram(kernels.Precomputed(), KernelRows(rbf(X, X), np.arange(len(X))))
    kernel = kernels.Callable(rbf) if form == "callable" else kernels.RBF(GAMMA)
    return Gram(kernel, as_rows(in_form(form, X)[0]))


# -- without an estimator ----------------------------------------------------------------------


def machines_of(y: np.ndarray, model: str = "c_svc") -> PairProblems:
    """The problems between all pairs of classes."""
    members = [np.flatnonzero(y == c) for c in range(y.max() + 1)]
    problems = []
    for i, j in PairLayout(len(members)).pairs:
        sign = np.repeat([1.0, -1.0], [len(members[i]), len(members[j])])
        dual = c_svc(sign, C) if model == "c_svc" else nu_svc(sign, NU)
        problems.append(Problem(dual))
    return PairProblems(members, problems)


def train(
    X: np.ndarray, y: np.ndarray, model: str = "c_svc", **options: Any
) -> tuple[PairProblems, list[Trained]]:
    """Train all pairs as an estimator with these options would."""
    estimator = machine(**options)
    settings, machines = estimator._settings(), machines_of(y, model)
    names = [str(pair) for pair in machines.layout.pairs]
    with Observers(0, settings.goal.tol, RoundReporter(estimator, X, y), names) as watch:
        rows = as_rows(X, centred=True)
        return machines, train_pairs(kernels.RBF(GAMMA), rows, machines, settings, watch)
