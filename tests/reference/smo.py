"""Sequential minimal optimisation, LIBSVM's second-order selection, on a dense K in beta space.

    maximise D(beta) = sum t beta - 1/2 c'Kc,  lower <= beta <= upper,  group sums fixed

Within a group, moving delta from variable j to variable i changes D by
delta (F_i - F_j) - delta^2 eta_ij / 2 with eta_ij = K_ii + K_jj - 2 K_ij. In the group with the
largest violation max_up F - min_down F, i = argmax F over beta < upper, and j maximises
(F_i - F_j)^2 / max(eta_ij, tau) among beta > lower with F_j < F_i. Stop when the violation of every
group is at most tol.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

TAU = 1e-12


class SMOResult(NamedTuple):
    beta: np.ndarray
    steps: int
    violation: float


def feasible_start(dual: Any) -> np.ndarray:
    """Beta with the required sums: in each group the same fraction of every box."""
    end = np.asarray(dual.lower, dtype=np.float64) + np.asarray(dual.upper, dtype=np.float64)
    beta = np.zeros_like(end)
    for g, total in enumerate(dual.totals):
        member = np.asarray(dual.group) == g
        if total != 0:
            beta[member] = end[member] * (total / end[member].sum())
    return beta


def smo(K, dual: Any, beta=None, *, tol: float = 1e-6, max_steps: int = 100_000) -> SMOResult:
    """Improve a feasible beta (default: ``feasible_start``) until the violation is <= tol."""
    K = np.asarray(K, dtype=np.float64)
    n = len(K)
    shape = np.shape(dual.target)
    arrays = (dual.target, dual.lower, dual.upper)
    t, lower, upper = (np.ravel(v).astype(np.float64) for v in arrays)
    group, row = np.ravel(dual.group), np.arange(t.size) % n
    beta = np.array(feasible_start(dual) if beta is None else beta, dtype=np.float64).ravel()
    F = t - (K @ beta.reshape(shape).sum(axis=0))[row]
    for step in range(max_steps + 1):
        i, j, violation = select(K, F, beta, lower, upper, group)
        if violation <= tol or step == max_steps:
            return SMOResult(beta.reshape(shape), step, violation)
        eta = K[row[i], row[i]] + K[row[j], row[j]] - 2 * K[row[i], row[j]]
        room_i, room_j = upper[i] - beta[i], beta[j] - lower[j]
        delta = min((F[i] - F[j]) / max(eta, TAU), room_i, room_j)
        beta[i] = upper[i] if delta == room_i else beta[i] + delta
        beta[j] = lower[j] if delta == room_j else beta[j] - delta
        F -= delta * (K[row, row[i]] - K[row, row[j]])
    raise AssertionError("unreachable")


def select(K, F, beta, lower, upper, group) -> tuple[int, int, float]:
    """The pair (i, j) of second-order selection and the violation before the step."""
    row = np.arange(F.size) % len(K)
    diag = np.diag(K)
    pair, violation = (0, 0), 0.0
    for g in np.unique(group):
        up = np.flatnonzero((group == g) & (beta < upper))
        down = np.flatnonzero((group == g) & (beta > lower))
        if not up.size or not down.size:
            continue
        i = up[np.argmax(F[up])]
        drop = F[i] - F[down]
        if drop.max() > violation:
            violation = drop.max()
            eta = np.maximum(diag[row[i]] + diag[row[down]] - 2 * K[row[i], row[down]], TAU)
            gain = np.where(drop > 0, drop, 0.0) ** 2 / eta
            pair = int(i), int(down[np.argmax(gain)])
    return *pair, float(violation)
