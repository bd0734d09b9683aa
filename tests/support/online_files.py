"""Histories of online estimators that are written to files."""

from __future__ import annotations

import numpy as np

from widestreet.datasets import friedman, twonorm
from widestreet.online import OnlineNuSVC, OnlineNuSVR, OnlineOneClassSVM, OnlineSVC, OnlineSVR

MACHINES = {
    "svc": OnlineSVC(C=2.0, gamma=0.05, class_weight={-1: 2.0}, n_jobs=1),
    "nu_svc": OnlineNuSVC(nu=0.2, gamma=0.05, n_jobs=1),
    "svr": OnlineSVR(C=5.0, gamma="scale", max_rows=45, n_jobs=1),
    "nu_svr": OnlineNuSVR(C=5.0, kernel="poly", coef0=1.0, degree=2, n_jobs=1),
    "one_class": OnlineOneClassSVM(nu=0.3, gamma=0.1, n_jobs=1),
}


def data(kind: str, n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    return friedman(n, random_state=0) if "svr" in kind else twonorm(n, random_state=0)


def fresh(kind: str):
    machine = MACHINES[kind]
    return type(machine)(**machine.get_params())


def add(machine, kind: str, X, y, **options):
    return machine.partial_fit(X, **({} if kind == "one_class" else {"y": y}), **options)


def values(machine, X) -> np.ndarray:
    return getattr(machine, "decision_function", machine.predict)(X)


def assert_same(one, other, X) -> None:
    assert type(one) is type(other)
    assert one.get_params() == other.get_params()
    assert np.array_equal(one.ids_, other.ids_)
    assert np.array_equal(one.support_, other.support_)
    np.testing.assert_allclose(values(one, X), values(other, X), rtol=0, atol=1e-9)
    assert other.verify().status == "optimal"
