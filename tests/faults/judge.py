"""Whether what an estimator says of itself is true: its certificates, from the rows in float64.

Only the reference's kernels and duals are used, nothing of the package.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import is_classifier

from conftest import TOL
from reference import duals, kernels, kkt

MODELS = {
    "SVC": "c_svc",
    "SVR": "eps_svr",
    "NuSVC": "nu_svc",
    "NuSVR": "nu_svr",
    "OneClassSVM": "one_class",
}
_ON_BOUND = 1e-12  # of a box: coefficients were divided by the width of the margin and are not now


def judge(model: Any, X: Any, y: Any) -> None:
    """Raise AssertionError unless a fitted estimator predicts and its certificates are true."""
    values = getattr(model, "decision_function", model.predict)(X[:50])
    assert np.isfinite(values).all(), "predictions are not finite"
    assert np.isin(model.predict(X[:50]), getattr(model, "classes_", [-1, 1])).all() or (
        type(model).__name__ in ("SVR", "NuSVR", "OnlineSVR", "OnlineNuSVR")
    ), "labels that nobody gave"
    for problem, certificate in zip(_problems(model, X, y), model.certificates_, strict=True):
        if type(model).__name__ == "EnsembleSVC":
            _judge_margins(model, *problem, certificate)
        else:
            _judge_dual(model, *problem, certificate)


def _problems(model: Any, X: Any, y: Any):
    """The rows, labels and coefficients of each of the problems that an estimator solved."""
    lines = model.dual_coef_
    lines = lines.toarray() if sparse.issparse(lines) else np.asarray(lines)
    coef = np.zeros((len(lines), X.shape[0]))
    coef[:, model.support_] = lines
    if not is_classifier(model):
        yield X, y, coef[0], 0
        return
    classes = model.classes_
    if len(classes) == 2:
        yield X, np.where(y == classes[1], 1.0, -1.0), coef[0] * model._rho[0], 0
        return
    for p, (i, j) in enumerate(combinations(range(len(classes)), 2)):
        first, second = y == classes[i], y == classes[j]
        own = np.where(first, coef[j - 1], 0.0) + np.where(second, coef[i], 0.0)
        here = first | second
        label = np.where(first, 1.0, -1.0)[here]
        yield X[here], label, own[here] * model._rho[p], p


def _matrix(model: Any, X: Any) -> np.ndarray:
    if callable(model.kernel):
        return model.kernel(X, X)
    return kernels.matrix(
        model.kernel, X, gamma=model._gamma, coef0=model.coef0, degree=model.degree
    )


def _judge_dual(model: Any, X: Any, y: Any, coef: np.ndarray, pair: int, certificate: Any) -> None:
    """Compare a certificate with the objectives and the violation of the point itself."""
    K = _matrix(model, X)
    name = MODELS[type(model).__name__]
    given = {"C": 1.0, "epsilon": 0.0, "nu": 0.5} | {
        key: getattr(model, key) for key in ("C", "epsilon", "nu") if hasattr(model, key)
    }
    dual = duals.in_beta_space(duals.build(name, K, y, **given))
    beta = coef[None] if len(dual.target) == 1 else np.stack([coef.clip(0), coef.clip(None, 0)])
    for bound in (dual.lower, dual.upper):
        near = np.abs(beta - bound) <= _ON_BOUND * (dual.upper - dual.lower)
        beta = np.where(near, bound, beta)
    score = K @ beta.sum(axis=0)
    linear, norm = float((dual.target * beta).sum()), float(beta.sum(axis=0) @ score)
    size = float(np.abs(dual.target * beta).sum()) + norm
    # On the way both variables of a row may differ from zero, and only their sum is shown.
    whole = name != "nu_svr" or certificate.status == "optimal"
    assert not whole or kkt.feasibility(dual, beta) <= TOL.feasibility, "a constraint is broken"
    objective = linear - 0.5 * norm
    if certificate.n_rows == 0:
        assert certificate.status != "optimal", "optimal, though nobody looked"
        assert certificate.gap == np.inf, "a gap that nobody computed"
        assert certificate.dual_objective <= objective + TOL.trace_rel * size, (
            f"the dual is {objective}, not {certificate.dual_objective} as stated"
        )
        return
    violation = _violation(dual, score, beta)
    rounding = TOL.scan_float64 * float(np.abs(K).max() * np.abs(beta).sum() + 1.0)
    assert not whole or abs(certificate.kkt_violation - violation) <= rounding, (
        f"the violation is {violation}, not {certificate.kkt_violation} as stated"
    )
    assert certificate.status != "optimal" or violation <= certificate.tol + rounding, (
        f"optimal at a violation of {violation}"
    )
    assert abs(certificate.dual_objective - objective) <= TOL.scan_float64 * size, (
        f"the dual is {objective}, not {certificate.dual_objective} as stated"
    )
    assert callable(model.kernel) or certificate.gap >= 0, "a negative gap"
    if name in ("c_svc", "eps_svr"):
        excess = dual.target - score - np.atleast_1d(model.intercept_)[pair]
        primal = 0.5 * norm + np.maximum(dual.upper * excess, dual.lower * excess).sum()
        assert certificate.primal_objective <= primal + TOL.scan_float64 * (size + primal), (
            f"the primal is {primal}, not {certificate.primal_objective} as stated"
        )


def _violation(dual: Any, score: np.ndarray, beta: np.ndarray) -> float:
    """The same as the reference's in float64."""
    F, worst = dual.target - score, 0.0
    for g in range(len(dual.totals)):
        member = dual.group == g
        up, down = F[member & (beta < dual.upper)], F[member & (beta > dual.lower)]
        if up.size and down.size:
            worst = max(worst, float(up.max() - down.min()))
    return worst


def _judge_margins(model: Any, X: Any, y: Any, coef: np.ndarray, pair: int, certificate) -> None:
    """The same for an ensemble, whose point is one of the simplex."""
    K = _matrix(model, X) + float(model.intercept)
    weight = y * coef
    assert (weight >= 0).all(), "a weight is negative"
    assert weight.sum() > 0, "nothing has a weight"
    share = y * weight / weight.sum()
    margin = y * (K @ share)
    rho = float(np.abs(share) @ margin)
    if certificate.n_rows == 0:
        assert certificate.status != "optimal", "optimal, though nobody looked"
        return
    assert abs(certificate.dual_objective + 0.5 * rho) <= TOL.twin * float(K.max()), "another dual"
    gap = rho - float(margin.min())
    assert abs(certificate.gap - gap) <= TOL.twin * float(K.max()), "another gap"
    assert certificate.status != "optimal" or gap <= certificate.tol + TOL.twin, "not optimal"
