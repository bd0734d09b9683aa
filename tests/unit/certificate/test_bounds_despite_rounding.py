"""Bounds on the figures of exact scores, compared with rational arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from widestreet._src.certificate import Part, examine, examine_all, scores
from widestreet._src.certificate.bounds_despite_rounding import largest_gap, reach
from widestreet._src.certificate.exact_sums import rounded
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import RBF, Linear, Poly
from widestreet._src.problems.formulations import CSVC
from widestreet._src.problems.goal import Goal
from widestreet._src.rows import as_rows

pytestmark = pytest.mark.numeric


def exact_gap(X, sign, C, beta, bias):
    """Return P - D of a linear C-SVC at a bias, in rational numbers."""
    exact = np.vectorize(Fraction, otypes=[object])
    rows, coef = exact(X), exact(beta)
    u = rows @ (rows.T @ coef)
    margins = exact(sign) * (u + Fraction(bias))
    return coef @ u + Fraction(C) * sum(max(Fraction(0), 1 - m) for m in margins) - sum(abs(coef))


@pytest.mark.parametrize("C", [1.0, 1e9, 1e15])
@pytest.mark.parametrize("off", [0.0, 0.3])
def test_the_bound_holds_for_the_exact_gap(C, off, rng):
    """With a huge C the rounding of a score costs more than the objective.

    The coefficients need not add up to the total.
    """
    for _ in range(20):
        X = rng.normal(size=(6, 2)) * 10.0 ** rng.integers(-2, 4)
        sign = np.where(np.arange(6) % 2, 1.0, -1.0)
        dual, gram = CSVC(C).dual(sign, np.full(6, C)), Gram(Linear(), as_rows(X))
        beta = dual.nearest(sign[None] * rng.random(6) * 10.0 ** rng.integers(-6, 1))
        beta[0, 0] = -np.sum(beta[0, 1:]) - off
        score = scores(gram, beta)
        for found in (
            examine(gram, dual, beta, score=score),
            examine(gram, dual, beta, score=score, goal=Goal(1e9, 1e-12)),
            *examine_all(gram, [dual], [beta], [score]),
        ):
            exact = exact_gap(X, sign, C, beta[0], found.bias[0])
            assert exact <= Fraction(found.largest_gap)


def point(rng, kernel, n=30):
    """A part with random coefficients, far from the origin."""
    X = rng.normal(size=(n, 2)) + 100.0
    sign = np.where(np.arange(n) % 2, 1.0, -1.0)
    dual = CSVC(1.0).dual(sign, np.ones(n))
    return Part.whole(Gram(kernel, as_rows(X)), dual, dual.nearest(sign[None] * rng.random(n)))


def test_bounds_row_by_row_are_tighter(rng):
    part = point(rng, Poly(1.0, 1.0, 3))
    found, bias = part.extremes(), np.zeros(1)
    rows = reach(part, found.high, found.low, bias)
    assert rounded([rows.gap]) < rounded([largest_gap(part, bias)])
    violation = found.high[0] - found.low[0]
    assert rows.extremes[1].sum() < violation < rows.extremes[0].sum()


def test_more_digits_leave_less_in_doubt(rng):
    part, bias = point(rng, Poly(1.0, 1.0, 3)), np.zeros(1)
    before, rounding = rounded([largest_gap(part, bias)]), part.extremes().rounding
    assert part.sharpen()
    assert part.extremes().rounding < rounding
    assert rounded([largest_gap(part, bias)]) < before
    assert not point(rng, RBF(1.0)).sharpen()
