"""What a shard answers about its rows, given their scores u, coefficients beta and the biases.

F = t - u; a variable violates upwards when beta < upper and F - b > tol, downwards when
beta > lower and b - F > tol, b being the bias of its group.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def _margin(u, dual: Any, bias) -> np.ndarray:
    """F - b, of shape (layers, n)."""
    return np.asarray(dual.target) - np.asarray(u) - np.asarray(bias)[np.asarray(dual.group)]


def violators(u, beta, dual: Any, bias, tol: float) -> np.ndarray:
    """Flat indices (layer * n + row) of the violating variables, ascending."""
    margin = _margin(u, dual, bias)
    up = (np.asarray(beta) < dual.upper) & (margin > tol)
    down = (np.asarray(beta) > dual.lower) & (-margin > tol)
    return np.flatnonzero(up | down)


def excess(u, beta, dual: Any, bias) -> np.ndarray:
    """Per row the largest violation of its variables; negative where none can violate yet."""
    margin, worst = _margin(u, dual, bias), np.full(np.shape(beta), -np.inf)
    up, down = np.asarray(beta) < dual.upper, np.asarray(beta) > dual.lower
    worst[up] = margin[up]
    worst[down] = np.maximum(worst[down], -margin[down])
    return worst.max(axis=0)


def walk(n: int, offset: int, stride: int, begin: int, end: int) -> list[int]:
    """The rows that steps begin to end - 1 of a walk through n rows come to."""
    return [(offset + j * stride) % n for j in range(begin, end)]


def extremes(u, beta, dual: Any) -> np.ndarray:
    """Per group (max F over beta < upper, min F over beta > lower); -inf, +inf where none is."""
    F = np.asarray(dual.target) - np.asarray(u)
    rows = []
    for g in range(len(dual.totals)):
        member = np.asarray(dual.group) == g
        up = F[member & (np.asarray(beta) < dual.upper)]
        down = F[member & (np.asarray(beta) > dual.lower)]
        rows.append([up.max(initial=-np.inf), down.min(initial=np.inf)])
    return np.array(rows)


def loss_sum(u, dual: Any, bias) -> np.ndarray:
    """Per group the sum of max(upper (F - b), lower (F - b)): the loss part of the primal."""
    margin = _margin(u, dual, bias)
    loss = np.maximum(dual.upper * margin, dual.lower * margin)
    return np.array([loss[np.asarray(dual.group) == g].sum() for g in range(len(dual.totals))])


def may_skip(u, beta, dual: Any, bias, tol: float, drift: float, diag) -> np.ndarray:
    """Rows none of whose variables can violate now, when u is the score of an older model.

    The model has since moved by at most ``drift`` = ||w - w_old|| (a number, or one per row), so
    the score of row r lies within u_r +- drift sqrt(K_rr). ``bias`` is the present one.
    """
    margin = _margin(u, dual, bias)
    reach = drift * np.sqrt(diag)
    up = (np.asarray(beta) < dual.upper) & (margin + reach > tol)
    down = (np.asarray(beta) > dual.lower) & (-margin + reach > tol)
    return ~(up | down).any(axis=0)
