"""The duality gap as a sum over rows of terms that are not negative.

With F' = t - Kc and any bias b,

    P - D = sum_r g_r,     g_r = sum over the variables v of row r of
                                 loss_v(b) - beta_v (F'_v - b)  +  1/2 d_r c_r^2

A term is convex in the score of its row. If the score is known up to an error, the term is largest
at one end of the interval. The sum of these largest terms bounds the gap of the exact scores. A
variable at a bound, on the right side of the bias by more than the error, contributes nothing.
"""

from __future__ import annotations

import numpy as np

from widestreet._src.arrays import Floats
from widestreet._src.certificate.loss_of_bias import Variables
from widestreet._src.kernels.double_double import Pair, two_sum
from widestreet._src.kernels.rounding_bounds import UNIT
from widestreet._src.problems.dual import Dual


def gap_terms(dual: Dual, beta: Floats, excess: Floats) -> Floats:
    """Return the contributions of rows to the gap.

    Parameters
    ----------
    dual : Dual
        Variables of the rows.
    beta : ndarray of shape (layers, n)
    excess : ndarray of shape (layers, n)
        F' - b of each variable.
    """
    coef, d = beta.sum(axis=0), dual.diagonal
    each = None if d is None else np.broadcast_to(d, excess.shape)
    best = Variables(excess, dual.lower, dual.upper, each).coefficient(0.0, right=True)
    terms: Floats = ((best - beta) * excess).sum(axis=0)
    if d is not None:
        terms += 0.5 * d * (coef**2 - (best**2).sum(axis=0))
    return terms


def excess_of(dual: Dual, beta: Floats, score: Floats, bias: Floats) -> Pair:
    """Return F' - b of each variable, rounded, and what the rounding of its terms leaves out.

    Parameters
    ----------
    dual : Dual
    beta : ndarray of shape (layers, n)
    score : ndarray of shape (n,)
    bias : ndarray of shape (layers, n)
        Bias of the group of each variable.
    """
    if dual.diagonal is not None:
        score = score - dual.diagonal * beta.sum(axis=0)
    first = two_sum(dual.target, -score)
    second = two_sum(first.high, -bias)
    left = second.low + first.low
    return Pair(second.high + left, left)


def largest_gap_terms(
    dual: Dual, beta: Floats, score: Floats, error: Floats | float, bias: Floats
) -> Floats:
    """Return the largest contributions of rows whose scores have errors of at most `error`.

    The rounding of this computation is included, and half of each row's part in the error of c'Kc,
    which is the error of the dual objective.
    """
    coef = np.abs(beta.sum(axis=0))
    middle, left = excess_of(dual, beta, score, bias)
    more = error + 2.0 * UNIT * (np.abs(middle) + np.abs(left)).max(axis=0)
    if dual.diagonal is not None:
        more = more + 2.0 * UNIT * (dual.diagonal * coef + np.abs(score))
    ends = (gap_terms(dual, beta, middle + side) for side in (-more, more))
    terms: Floats = (1.0 + 8.0 * UNIT) * np.maximum(*ends) + 0.5 * coef * more
    return terms
