"""The online machines on the small problems of support/machines.py: what their tests share."""

from __future__ import annotations

from typing import Any

import numpy as np

from conftest import OF_THREE, TOL
from support.fitting import decision
from support.machines import GAMMA, MACHINES, data
from widestreet.online import OnlineNuSVC, OnlineNuSVR, OnlineOneClassSVM, OnlineSVC, OnlineSVR

ONLINE = {
    "svc": OnlineSVC,
    "nu_svc": OnlineNuSVC,
    "svr": OnlineSVR,
    "nu_svr": OnlineNuSVR,
    "one_class": OnlineOneClassSVM,
}
N = 36


def machine(kind: str, **options):
    """The online twin of a machine of machines.py."""
    name = kind.removesuffix(OF_THREE)
    pairs = {"decision_function_shape": "ovo"} if kind.endswith(OF_THREE) else {}
    own = {"gamma": GAMMA, "n_jobs": 1, "random_state": 0}
    return ONLINE[name](**own | MACHINES[name][1] | pairs | options)


def add(model, kind: str, X, y, weight=None, **options):
    return model.partial_fit(
        X, *(() if kind == "one_class" else (y,)), sample_weight=weight, **options
    )


def fit(model, kind: str, X, y, weight=None):
    return model.fit(X, *(() if kind == "one_class" else (y,)), sample_weight=weight)


def assert_same(one, other, X, atol: float = TOL.decision) -> None:
    """The same function, and the conditions of its optimum."""
    np.testing.assert_allclose(decision(one, X), decision(other, X), rtol=0, atol=atol)
    assert one.verify().status == "optimal"


def mixed(kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows in any order, so that every part of them has all classes."""
    X, y = data(kind, N)
    order = np.random.default_rng(1).permutation(N)
    return X[order], y[order]


def begun(kind: str) -> Any:
    """A machine that has seen the first thirty of these."""
    X, y = mixed(kind)
    return add(machine(kind), kind, X[:30], y[:30])
