"""The violation of a model at its own bias, which need not be the best one."""

from __future__ import annotations

import numpy as np

from widestreet._src.arrays import Floats
from widestreet._src.problems.dual import Dual


def violation_at(dual: Dual, beta: Floats, score: Floats, bias: Floats) -> float:
    """Return the largest violation of the optimality conditions at given biases.

    An examination compares rows with one another, which does not depend on the bias. Here the bias
    of each group takes part in the comparison: the result is that of the examination if the bias
    lies between the rows that violate most, and larger if it does not.

    Parameters
    ----------
    dual : Dual
    beta : ndarray of shape (layers, n)
    score : ndarray of shape (n,)
        Scores K c of all rows.
    bias : ndarray of shape (groups,)
    """
    if not np.isfinite(score).all():
        return float("inf")
    F, worst = dual.indicator(score), 0.0
    for g, own in enumerate(bias.tolist()):
        mine = dual.group == g
        high = float(np.max(F, where=mine & (beta < dual.upper), initial=own))
        low = float(np.min(F, where=mine & (beta > dual.lower), initial=own))
        worst = max(worst, high - low)
    return worst
