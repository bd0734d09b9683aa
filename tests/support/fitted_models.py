"""Fitted models of every kind: estimators, kernels, storages of rows, numbers of classes."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

import widestreet as ws
from conftest import KINDS, OF_THREE
from support.machines import KERNELS, data, machine
from widestreet import online

ROWS = 60
ONLINE = {
    "online svc": (online.OnlineSVC, "svc"),
    "online svc of three": (online.OnlineSVC, "svc" + OF_THREE),
    "online nu_svc": (online.OnlineNuSVC, "nu_svc"),
    "online svr": (online.OnlineSVR, "svr"),
    "online nu_svr": (online.OnlineNuSVR, "nu_svr"),
    "online one_class": (online.OnlineOneClassSVM, "one_class"),
}


class Fitted(NamedTuple):
    """A model, its training rows and targets, and rows to predict."""

    model: Any
    X: Any
    y: Any
    new: Any


def names() -> list[str]:
    """Names of all models: KIND/KERNEL/STORAGE."""
    found = [f"{kind}/{kernel}/dense" for kind in KINDS for kernel in KERNELS]
    found += [f"{kind}/{kernel}/csr" for kind in KINDS for kernel in ("linear", "rbf")]
    found += [f"{kind}/precomputed/dense" for kind in KINDS]
    found += [f"{kind}/rbf/float32" for kind in ("svc", "svr")]
    found += [f"{kind}/rbf/squared" for kind in ("svc", "svr")]
    found += [f"ensemble{k}/rbf/{form}" for k in ("", OF_THREE) for form in ("dense", "csr")]
    return found


def online_names() -> list[str]:
    return [f"{kind}/rbf/dense" for kind in ONLINE]


@cache
def fitted(name: str) -> Fitted:
    """Fit a model; every call returns the same one."""
    kind, kernel, form = name.split("/")
    own = ONLINE[kind][1] if kind in ONLINE else kind.replace("ensemble", "svc")
    X, y = data(own, ROWS)
    new = X[::3] * 1.125
    if kernel == "precomputed":
        X, new = X @ X.T, new @ X.T
    if form == "csr":
        X, new = sparse.csr_matrix(X), sparse.csr_matrix(new)
    if form == "float32":
        X, new = X.astype(np.float32), new.astype(np.float32)
    model = _estimator(kind, KERNELS.get(kernel, {"kernel": kernel}), form)
    given = (X,) if "one_class" in kind else (X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a margin of zero, or of rounding
        return Fitted(model.fit(*given), X, y, new)


def _estimator(kind: str, kernel: dict[str, Any], form: str) -> Any:
    if kind in ONLINE:
        return ONLINE[kind][0](**kernel, n_jobs=1)
    if kind.startswith("ensemble"):
        return ws.EnsembleSVC(**kernel, n_jobs=1, random_state=0, keep_stages=True)
    own = dict(kernel)
    if form == "squared":
        own["loss"] = "squared_hinge" if kind == "svc" else "squared_epsilon_insensitive"
    if kind.startswith("nu_svc"):
        own["nu"] = 0.5
    return machine(kind, **own | {"tol": 1e-3})
