"""Scores of polynomial kernels with nearly all digits.

Values of a polynomial kernel of rows far from the origin are large, and sums over them cancel. The
values and the sums are computed here in pairs of float64 numbers (double_double.py). This takes
some hundred times as long as float64.
"""

from __future__ import annotations

import numpy as np

from widestreet._src.arrays import Floats, Ints
from widestreet._src.kernels.double_double import Pair, column_sums, two_product
from widestreet._src.kernels.kernels import Poly
from widestreet._src.kernels.poll import Poll
from widestreet._src.kernels.rounding_bounds import TINY, UNIT, power_sums
from widestreet._src.rows import Vectors
from widestreet._src.rows.features import features

_VALUES_AT_ONCE = 1 << 14  # kernel values of a block: all arrays of it stay in the cache
_MOST_PRODUCTS = 1e8  # products of features: some seconds
_UNITS = 16  # units of pairs that an operation with pairs costs at most


def accurate_scores(
    kernel: Poly,
    left: Vectors,
    right: Vectors,
    I: Ints,
    J: Ints,
    coef: Floats,
    poll: Poll | None = None,
) -> tuple[Floats, Floats] | None:
    """Return K[I, J] @ coef and a bound on the error of each sum; None if that takes too long."""
    columns, terms = left.shape[1], len(J)
    if len(I) * terms * (columns + 10.0) > _MOST_PRODUCTS or kernel.degree < 1:
        return None
    S = features(right, J)
    score = np.zeros(len(I))
    step = max(1, _VALUES_AT_ONCE // max(1, terms))
    for a in range(0, len(I) if terms else 0, step):
        if poll is not None:
            poll.look()
        part = slice(a, a + step)
        score[part] = _sums(kernel, features(left, I[part]), S, coef)
    lost = _UNITS * (columns + 1) * TINY  # of squares that underflow
    norm, other = np.sqrt(left.squares(I) + lost), np.sqrt(right.squares(J) + lost)
    gamma, coef0, degree, size = kernel.gamma, abs(kernel.coef0), kernel.degree, np.abs(coef)
    largest = power_sums(gamma, coef0, degree, norm, other, size)
    units = _UNITS * (degree * (columns + 4.0) + terms)
    # A base that is wrong by `tiny` changes its power by degree (base + 1)^(degree - 1) tiny.
    tiny = _UNITS * (columns * gamma + degree + 1.0) * TINY
    underflow = degree * tiny * power_sums(gamma, coef0 + 1.0, degree - 1, norm, other, size)
    bound = units * UNIT**2 * largest + underflow + units * TINY
    return score, 2.0 * UNIT * np.abs(score) + bound


def _sums(kernel: Poly, X: Floats, S: Floats, coef: Floats) -> Floats:
    """Return the scores of a block of rows, rounded to float64."""
    dot = Pair(np.zeros((len(S), len(X))), np.zeros((len(S), len(X))))
    for s, x in zip(S.T, X.T, strict=True):
        product = two_product(s[:, None], x[None])
        dot = dot.plus(product.high)
        dot = Pair(dot.high, dot.low + product.low)
    gamma = Pair(np.array(kernel.gamma), np.array(0.0))
    base = dot.times(gamma).plus(np.array(kernel.coef0))
    value = base
    for _ in range(kernel.degree - 1):
        value = value.times(base)
    terms = value.times(Pair(coef[:, None], np.zeros((len(coef), 1))))
    total = column_sums(*terms)
    return total.high + total.low
