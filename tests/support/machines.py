"""The five estimators on a small problem each, solved tightly: what tests of equivalences share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import widestreet as ws
from conftest import OF_THREE, TOL
from support.fitting import decision
from support.problems import toy_svc, toy_svr

# Whether a street is wider than tol can be a matter of rounding, of labels by chance for instance.
any_street = pytest.mark.filterwarnings("ignore:the margin is zero")
CLASSIFIERS = ("svc", "nu_svc", "svc" + OF_THREE, "nu_svc" + OF_THREE)
C, GAMMA, NU = 10.0, 0.5, 0.3
TIGHT = {"gamma": GAMMA, "tol": TOL.twins, "n_jobs": 1, "random_state": 0}
MACHINES = {
    "svc": (ws.SVC, {"C": C}),
    "nu_svc": (ws.NuSVC, {"nu": NU}),
    "svr": (ws.SVR, {"C": C}),
    "nu_svr": (ws.NuSVR, {"C": C, "nu": NU}),
    "one_class": (ws.OneClassSVM, {"nu": NU}),
}
CONVEX = {
    "linear": {"kernel": "linear"},
    "rbf": {"kernel": "rbf", "gamma": GAMMA},
    "poly": {"kernel": "poly", "gamma": GAMMA, "coef0": 1.0, "degree": 2},
    "laplacian": {"kernel": "laplacian", "gamma": GAMMA},
}
# The sigmoid kernel has more than one stationary point: it is left out where the way matters.
KERNELS = CONVEX | {"sigmoid": {"kernel": "sigmoid", "gamma": 0.05, "coef0": 0.1}}


def data(kind: str, n: int = 120) -> tuple[np.ndarray, np.ndarray]:
    """Rows and labels or targets of a kind of machine; for one class, labels to be ignored."""
    problem = toy_svc(n, 3) if kind in ("svc", "nu_svc", "one_class") else toy_svr(n, 3)
    X, y = problem.X, problem.y
    if kind.endswith(OF_THREE):
        y = np.arange(n) % 3
        X = X + 2.0 * np.eye(3)[y]
    X = np.round(X * 64) / 64  # float32 holds the same numbers
    X[np.abs(X) < 0.25] = 0.0  # something for CSR to leave out
    return X, y


def machine(kind: str, **options: Any) -> Any:
    """A machine to be fitted tightly; of three classes, one that decides for each pair."""
    make, own = MACHINES[kind.removesuffix(OF_THREE)]
    pairs = {"decision_function_shape": "ovo"} if kind.endswith(OF_THREE) else {}
    return make(**TIGHT | own | pairs | options)


def assert_same_function(one: Any, other: Any, X: Any, Z: Any = None) -> None:
    """Equal decision values, on X and (for another form of the same rows) on Z.

    Coefficients are never compared: they need not be unique.
    """
    difference = np.abs(decision(one, X) - decision(other, X if Z is None else Z)).max()
    assert difference <= TOL.decision


def assert_same_objective(one: Any, other: Any) -> None:
    """Equal optima, pair by pair."""
    values = [[c.dual_objective for c in model.certificates_] for model in (one, other)]
    np.testing.assert_allclose(*values, rtol=TOL.objective_rel)
