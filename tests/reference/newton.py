"""One Newton step on the free variables of the dual, stopped at the first bound.

With S the variables strictly inside their box and A_S the indicator of their groups, the best
point that leaves the others alone is beta_S + delta,

    [ K_SS  A_S' ] [ delta ]   [ F_S ]
    [ A_S   0    ] [  b    ] = [  0  ]

The ratio test takes the largest step theta <= 1 with lower <= beta + theta delta <= upper.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import null_space


class NewtonStep(NamedTuple):
    """The new point, the step length theta and the number of free variables before the step."""

    beta: np.ndarray
    theta: float
    n_free: int


def newton_step(K, dual: Any, beta) -> NewtonStep:
    """Solve the system in the null space of A_S (delta = Z h), pseudo-inverse where singular."""
    K = np.asarray(K, dtype=np.float64)
    beta = np.array(beta, dtype=np.float64)
    lower, upper = np.asarray(dual.lower), np.asarray(dual.upper)
    free = (lower < beta) & (beta < upper)
    if not free.any():
        return NewtonStep(beta, 0.0, 0)
    row = np.broadcast_to(np.arange(len(K)), beta.shape)[free]
    F = (np.asarray(dual.target) - K @ beta.sum(axis=0))[free]
    present = np.unique(np.asarray(dual.group)[free])
    A = (np.asarray(dual.group)[free] == present[:, None]).astype(np.float64)
    Z = null_space(A)
    H = Z.T @ K[np.ix_(row, row)] @ Z
    delta = Z @ (np.linalg.pinv(H, rcond=1e-13, hermitian=True) @ (Z.T @ F))
    bound = np.where(delta > 0, upper[free], lower[free])
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(delta == 0, np.inf, (bound - beta[free]) / delta)
    theta = min(1.0, ratio.min())
    beta[free] = np.where(ratio <= theta, bound, beta[free] + theta * delta)
    return NewtonStep(beta, float(theta), int(free.sum()))
