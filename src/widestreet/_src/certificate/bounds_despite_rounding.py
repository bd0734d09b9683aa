"""Bounds on the figures of exact scores: questions to the parts of a dual (part_of_rows.py).

largest_gap   sum of the largest contributions to the gap, given one bound on the errors of scores
reach         bounds on the exact extremes and on the gap, given bounds of each row
sharpen       scores of all rows with more digits
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from widestreet import _core
from widestreet._src.arrays import Floats
from widestreet._src.certificate.exact_sums import Terms, exact_sum
from widestreet._src.certificate.float64_where_needed import Scores
from widestreet._src.certificate.gap_terms import largest_gap_terms
from widestreet._src.certificate.part_of_rows import UNIT, Part
from widestreet._src.problems.dual import select


@dataclass(frozen=True, eq=False)
class Reach:
    """Bounds on what exact scores would give, from bounds on the error of each row's score.

    Attributes
    ----------
    extremes : ndarray of shape (2, 2, groups)
        Upper and lower bounds (first axis) on the largest F of variables that may grow, and on the
        largest -F of variables that may shrink (second axis).
    gap : Terms
        Sum of the largest contributions to the gap.
    """

    extremes: Floats
    gap: Terms


def largest_gap(part: Part, bias: Floats) -> Terms:
    """Return the sum of the largest contributions of the rows to the gap."""
    part.begin()
    return _gap(part, part.scores.rounding, bias)


def reach(part: Part, high: Floats, low: Floats, bias: Floats) -> Reach:
    """Return bounds on the exact extremes of F and on the gap of the exact scores.

    The computed F of a row that was screened in float32 does not exceed the extremes; the bound on
    its own error limits how far the exact F can exceed them.

    Parameters
    ----------
    part : Part
    high, low : ndarray of shape (groups,)
        Computed extremes of all parts.
    bias : ndarray of shape (groups,)
    """
    part.begin()
    exact, F, dual, rounding = part.scores.exact, part.indicator, part.dual, _roundings(part.scores)
    error = rounding + 2.0 * UNIT * part.sizes
    found = np.full((2, 2, dual.groups), -np.inf)
    sides = (1.0, part.may_grow, high), (-1.0, part.may_shrink, -low)
    for k, (sign, inside, extreme) in enumerate(sides):
        for g in range(dual.groups):
            if np.isfinite(extreme[g]):
                computed = np.where(exact, sign * F, np.minimum(sign * F, extreme[g]))
                which = (dual.group == g) & inside
                found[0, k, g] = np.max(computed + error, where=which, initial=-np.inf)
                found[1, k, g] = np.max(computed - error, where=which, initial=-np.inf)
    return Reach(found, _gap(part, rounding, bias))


@np.errstate(over="ignore", invalid="ignore")  # infinite values prove nothing
def _gap(part: Part, rounding: Floats | float, bias: Floats) -> Terms:
    """Return the sum of the largest contributions, given bounds on the errors of exact scores."""
    dual, error, score = part.dual, part.scores.bounds(), part.scores.score
    if isinstance(rounding, np.ndarray):
        error, rounding = error + rounding, 0.0
    counts, threads = part.scores.exact, part.gram.threads
    # of the others, which have zero coefficients, those that may contribute
    near = _core.rows_that_matter(dual.native(), None, score, error, rounding, bias, bias, threads)
    counts[near] = True
    some = _core.places(counts, threads)
    dual, beta, score = select(dual, some), part.beta[:, some], score[some]
    return exact_sum(largest_gap_terms(dual, beta, score, error[some] + rounding, bias[dual.group]))


def _roundings(scores: Scores) -> Floats:
    """Return bounds on the rounding errors of float64 scores, row by row.

    They take a pass over the rows, unless the scores were computed with more digits.
    """
    if scores.sharp is not None:
        return scores.sharp
    error = scores.gram.score_errors(None, scores.columns, scores.coef, poll=scores.poll)
    updated = scores.rounding > scores.from_scratch
    return np.maximum(error, scores.rounding) if updated else error
