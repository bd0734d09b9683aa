"""What a point beta is worth, from a dense K: objectives, KKT violation, feasibility.

A ``dual`` is anything with the arrays target (t), lower, upper, group of shape (layers, n) and
``totals``, one per group; beta has the shape of target. In these terms

    c_r = sum over layers of beta[:, r],   u = Kc,   F = t - u
    D(beta)    = sum t beta - 1/2 c'Kc
    P(beta, b) = 1/2 c'Kc + sum_g [ b_g totals_g
                                    + sum_{v in g} max(upper_v (F_v - b_g), lower_v (F_v - b_g)) ]

and P >= D for every feasible beta and every b. Sums are taken in long double: what is left of
rounding is that of the entries of K.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

LD = np.longdouble


class Primal(NamedTuple):
    """P minimised over the bias, and the bias of each group that attains it."""

    value: float
    bias: np.ndarray


def _wide(values) -> np.ndarray:
    return np.asarray(values, dtype=np.float64).astype(LD)


def scores(K, beta) -> np.ndarray:
    """u = K c (long double)."""
    return _wide(K) @ _wide(beta).sum(axis=0)


def indicator(K, dual: Any, beta) -> np.ndarray:
    """F = t - u, of shape (layers, n) (long double)."""
    return _wide(dual.target) - scores(K, beta)


def quadratic(K, beta) -> np.longdouble:
    """1/2 c'Kc."""
    return _wide(beta).sum(axis=0) @ scores(K, beta) / 2


def dual_objective(K, dual: Any, beta) -> float:
    """D(beta) = sum t beta - 1/2 c'Kc."""
    return float((_wide(dual.target) * _wide(beta)).sum() - quadratic(K, beta))


def loss(F, lower, upper, bias) -> np.longdouble:
    """Sum over variables of max(upper (F - b), lower (F - b))."""
    margin = F - bias
    return np.maximum(_wide(upper) * margin, _wide(lower) * margin).sum()


def primal_objective(K, dual: Any, beta) -> Primal:
    """min_b P(beta, b): convex and piecewise linear in each b_g, so try every breakpoint F_v."""
    F = indicator(K, dual, beta)
    value, bias = quadratic(K, beta), []
    for g, total in enumerate(_wide(dual.totals)):
        member = np.asarray(dual.group) == g
        lower, upper = np.asarray(dual.lower)[member], np.asarray(dual.upper)[member]
        tried = [(b * total + loss(F[member], lower, upper, b), b) for b in F[member]]
        least, best = min(tried)
        value += least
        bias.append(float(best))
    return Primal(float(value), np.array(bias))


def gap(K, dual: Any, beta) -> float:
    """min_b P - D."""
    return primal_objective(K, dual, beta).value - dual_objective(K, dual, beta)


def kkt_violation(K, dual: Any, beta) -> float:
    """The largest over groups of max(0, max F over beta < upper - min F over beta > lower)."""
    F, beta = indicator(K, dual, beta), np.asarray(beta)
    worst = LD(0)
    for g in range(len(dual.totals)):
        member = np.asarray(dual.group) == g
        up = F[member & (beta < dual.upper)]
        down = F[member & (beta > dual.lower)]
        if up.size and down.size:
            worst = max(worst, up.max() - down.min())
    return float(worst)


def feasibility(dual: Any, beta) -> float:
    """The largest box or sum residual, relative to the sizes of the boxes (to 1 when all are 0)."""
    beta, lower, upper = _wide(beta), _wide(dual.lower), _wide(dual.upper)
    size = np.maximum(np.abs(lower), np.abs(upper))
    box = np.maximum(np.maximum(lower - beta, beta - upper), 0).max() / (size.max() or 1)
    residuals = [box]
    for g, total in enumerate(_wide(dual.totals)):
        member = np.asarray(dual.group) == g
        residuals.append(abs(beta[member].sum() - total) / (size[member].sum() or 1))
    return float(max(residuals))


def rounding_floor(K, beta) -> float:
    """eps max_r sum_q |K_rq c_q|: a score in float64 cannot be trusted below this."""
    terms = np.abs(_wide(K)) @ np.abs(_wide(beta).sum(axis=0))
    return float(np.finfo(np.float64).eps * terms.max())
