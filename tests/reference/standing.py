"""Optimality conditions of a working set: extremes of F = t - u, distances from violating."""

from __future__ import annotations

import numpy as np


def extremes(dual, groups, beta, score) -> tuple[np.ndarray, np.ndarray]:
    """Largest F of each group where beta may grow, smallest where it may shrink."""
    F = dual.target - score
    highest, lowest = np.full(groups, -np.inf), np.full(groups, np.inf)
    for g in range(groups):
        mine = dual.group == g
        highest[g] = np.max(F[mine & (beta < dual.upper)], initial=-np.inf)
        lowest[g] = np.min(F[mine & (beta > dual.lower)], initial=np.inf)
    return highest, lowest


def slack(dual, beta, score, least, most) -> np.ndarray:
    """Distance of each row from violating, for these biases of the groups."""
    F = dual.target - score
    above = np.where(beta < dual.upper, F - least[dual.group], -np.inf).max(axis=0)
    below = np.where(beta > dual.lower, most[dual.group] - F, -np.inf).max(axis=0)
    return -np.maximum(above, below)
