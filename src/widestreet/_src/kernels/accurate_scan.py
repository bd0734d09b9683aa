"""Digits of scores that a scan in float64 lacks."""

from __future__ import annotations

from typing import cast

import numpy as np

from widestreet._src.arrays import Floats, Ints
from widestreet._src.kernels.accurate_polynomial import accurate_scores
from widestreet._src.kernels.gram import Gram, facing
from widestreet._src.kernels.kernels import Linear, Poly
from widestreet._src.kernels.poll import Poll
from widestreet._src.rows import DenseRows, Vectors


def accurate_scan(
    gram: Gram, J: Ints, coef: Floats, poll: Poll | None = None
) -> tuple[Floats, Floats] | None:
    """Return K[:, J] @ coef from more digits than float64 has, and a bound on each error.

    The result is None if the kernel has no such scan, or if it takes too long.
    """
    if not isinstance(gram.kernel, Poly) or gram.native is None:
        return None
    left, right = cast(Vectors, gram.left), cast(Vectors, gram.right)
    I = gram.left_index(np.arange(gram.shape[0]))
    return accurate_scores(gram.kernel, left, right, I, gram.right_index(J), coef, poll)


def off_centre(gram: Gram, I: Ints | None, net: float) -> Floats | float:
    """Return what the scores of a linear kernel lack if the coefficients do not sum to zero.

    A linear kernel of rows x - m gives the scores of the rows x up to a constant if they do. If
    they sum to `net`, which is a rounding error, net (x - m).m is lacking.
    """
    left = gram.left
    m = getattr(left, "centre", None)
    m = getattr(left, "origin", None) if m is None else m
    if net == 0 or m is None or not isinstance(gram.kernel, Linear):
        return 0.0
    return facing(gram, DenseRows(m[None])).scan(
        gram.left_index(np.arange(gram.shape[0]) if I is None else I), None, np.array([net])
    )
