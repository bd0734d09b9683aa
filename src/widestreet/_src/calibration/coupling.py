"""Probabilities of several classes from those of pairs of classes.

Wu, Lin and Weng, "Probability estimates for multi-class classification by pairwise coupling",
JMLR 5 (2004), 975-1005, their second approach, which LIBSVM uses as well. With r_ij the probability
of class i if the class is i or j, it solves

    min_p  sum_i sum_{j != i} (r_ji p_i - r_ij p_j)^2    s.t.  sum_i p_i = 1.

The solution is not negative, and it is that of one linear system of size k + 1:

    [Q  e] [p]   [0]        Q_ii = sum_{s != i} r_si^2,    Q_ij = -r_ji r_ij
    [e' 0] [b] = [1]
"""

from __future__ import annotations

import numpy as np

from widestreet._src.arrays import Floats
from widestreet._src.problems.class_pairs import PairLayout

_CERTAIN = 1e-7  # distance of r from 0 and 1, below which the system is too ill-conditioned
_BLOCK_VALUES = 1 << 20  # numbers in the systems that are solved at a time


def coupled(layout: PairLayout, first: Floats) -> Floats:
    """Return the probability of each class, of shape (n, classes).

    Parameters
    ----------
    layout : PairLayout
        At least three classes.
    first : ndarray of shape (n, pairs)
        Probability of the first class of each pair, if it is one of the two.
    """
    k, n = layout.classes, len(first)
    found = np.empty((n, k))
    step = max(1, _BLOCK_VALUES // (k + 1) ** 2)
    for a in range(0, n, step):
        found[a : a + step] = _solved(layout, np.clip(first[a : a + step], _CERTAIN, 1 - _CERTAIN))
    return found


def _solved(layout: PairLayout, first: Floats) -> Floats:
    """Return the probabilities of some rows."""
    k, n = layout.classes, len(first)
    r = np.zeros((n, k, k))
    r[:, layout.first, layout.second] = first
    r[:, layout.second, layout.first] = 1.0 - first
    system = np.ones((n, k + 1, k + 1))
    system[:, k, k] = 0.0
    system[:, :k, :k] = -r * r.transpose(0, 2, 1)
    system[:, np.arange(k), np.arange(k)] = np.square(r).sum(axis=1)
    right = np.zeros((n, k + 1, 1))
    right[:, k] = 1.0
    p = np.clip(np.linalg.solve(system, right)[:, :k, 0], 0.0, None)
    found: Floats = p / p.sum(axis=1, keepdims=True)
    return found
