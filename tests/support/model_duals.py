"""Duals of the five models at fixed parameters, and labels for them."""

from __future__ import annotations

import numpy as np

from widestreet._src.problems import dual as duals
from widestreet._src.problems import formulations

C, EPSILON, NU = 3.0, 0.1, 0.4


def build(model: str, y, weight, *, C: float = C, nu: float = NU) -> duals.Dual:
    """The package's dual for the parameters that reference.duals.build takes."""
    return {
        "c_svc": lambda: formulations.c_svc(y, C * weight),
        "eps_svr": lambda: formulations.eps_svr(y, C * weight, EPSILON),
        "nu_svc": lambda: formulations.nu_svc(y, nu, weight),
        "nu_svr": lambda: formulations.nu_svr(y, nu, C * weight),
        "one_class": lambda: formulations.one_class(len(y), nu, weight),
    }[model]()


def labels(rng, model: str, n: int) -> np.ndarray:
    if model.endswith("svr"):
        return rng.normal(size=n)
    return rng.permutation(np.where(np.arange(n) < n // 2, -1.0, 1.0))
