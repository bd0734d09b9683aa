"""Duals of all five support vector machines over kernels of low rank."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from reference.duals import MODELS
from widestreet._src.engines.budget import Budget
from widestreet._src.engines.interior.low_rank_factor import Factor, factor_of
from widestreet._src.engines.interior.predictor_corrector import InteriorEngine
from widestreet._src.kernels.gram import Gram, without_diagonal
from widestreet._src.kernels.kernels import RBF, Linear, NativeKernel, Poly
from widestreet._src.kernels.poll import Poll
from widestreet._src.problems.dual import Dual
from widestreet._src.problems.formulations import (
    CSVC,
    EpsilonSVR,
    c_svc,
    eps_svr,
    nu_svc,
    nu_svr,
    one_class,
)
from widestreet._src.rows import as_rows

KERNELS: dict[str, NativeKernel] = {
    "linear": Linear(),
    "poly": Poly(0.5, 1.0, 2),
    "homogeneous": Poly(0.5, 0.0, 3),
    "rbf": RBF(0.05),
}
SQUARED = ("squared c_svc", "squared eps_svr")
EVERY = (*MODELS, *SQUARED)


def dual_of(model: str, y, weight, C: float = 10.0) -> Dual:
    """Return the dual of a model; classifiers take the signs of the targets."""
    sign = np.where(y > np.median(y), 1.0, -1.0)
    match model:
        case "c_svc":
            return c_svc(sign, C * weight)
        case "eps_svr":
            return eps_svr(y, C * weight, 0.1)
        case "nu_svc":
            return nu_svc(sign, 0.3, weight)
        case "nu_svr":
            return nu_svr(y, 0.4, C * weight)
        case "one_class":
            return one_class(len(y), 0.3, weight)
        case "squared c_svc":
            return CSVC(C, loss="squared").dual(sign, C * weight)
        case _:
            return EpsilonSVR(C, loss="squared").dual(y, C * weight)


def problem(
    model: str, kernel: str, seed: int, n: int = 40, d: int = 3, C: float = 10.0
) -> tuple[Gram, Dual]:
    """Return kernel values and dual of random rows with different weights and noisy targets."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = X[:, 0] + 0.5 * rng.standard_normal(n)
    dual = dual_of(model, y, rng.uniform(0.5, 2.0, n), C)
    rows = as_rows(X, centred=float(dual.total.sum()) == 0.0 and kernel != "poly")
    gram = Gram(KERNELS[kernel], rows)
    return gram.select(None, diagonal=dual.diagonal), dual


def factor(gram: Gram, dual: Dual, **options) -> Factor:
    """Return the factor of a problem."""
    given = {"most": 1000, "memory": 1 << 30, "threads": 1, "poll": Poll()}
    centred = float(dual.total.sum()) == 0.0
    return factor_of(without_diagonal(gram), **given | {"centred": centred} | options)


def engine(gram: Gram, dual: Dual, observe=lambda record: None, budget=None) -> InteriorEngine:
    """Return an engine before its first iteration."""
    return InteriorEngine(factor(gram, dual), dual, budget or Budget(), observe)


def fixed(dual: Dual, rows) -> Dual:
    """Return a dual in which the variables of some rows are fixed at zero."""
    lower, upper = dual.lower.copy(), dual.upper.copy()
    lower[:, rows] = upper[:, rows] = 0.0
    return replace(dual, lower=lower, upper=upper)
