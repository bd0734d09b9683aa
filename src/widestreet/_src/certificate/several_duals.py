"""Examine points of many small duals in one call of the core; formulas in examine_point.py."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum

import numpy as np

from widestreet import _core
from widestreet._src.arrays import Floats, Ints
from widestreet._src.certificate.examination_result import Examination
from widestreet._src.certificate.gap_terms import largest_gap_terms
from widestreet._src.certificate.part_of_rows import OVERFLOW, UNIT
from widestreet._src.kernels.gram import Gram
from widestreet._src.problems.dual import Dual, join


def examine_all(
    gram: Gram, duals: Sequence[Dual], betas: Sequence[Floats], scores: Sequence[Floats]
) -> list[Examination]:
    """Examine points of several duals without diagonal terms, from their exact scores.

    Parameters
    ----------
    gram : Gram
        Kernel values that the scores were computed from.
    duals, betas, scores : sequences
        Duals, points and scores in the same order.
    """
    one = len(duals) == 1
    every = duals[0] if one else join(duals)
    beta = np.ascontiguousarray(betas[0]) if one else np.concatenate(betas, axis=1)
    score = scores[0] if one else np.concatenate(scores)
    end = np.cumsum([dual.rows for dual in duals])
    totals = np.array([dual.total for dual in duals])
    found, biases = _core.examine(every.native(), beta, score, end=end, total=totals)
    error = _score_errors(gram, beta, end)
    rounding = _rounding(error, every.target, score, end)
    gaps = _largest_gaps(error, every, beta, score, end, biases, totals)
    return [
        Examination(
            rows=rows,
            bias=bias,
            primal=primal,
            dual=dual,
            violation=worst,
            infeasibility=outside,
            rounding=rough,
            largest_gap=gap,
            mass=mass,
            convex=gram.kernel.positive,
        )
        for rows, bias, (primal, dual, worst, outside), rough, gap, mass in zip(
            [dual.rows for dual in duals],
            biases,
            found.tolist(),
            rounding.tolist(),
            gaps.tolist(),
            np.abs(totals).sum(axis=1).tolist(),
            strict=True,
        )
    ]


def _score_errors(gram: Gram, beta: Floats, end: Ints) -> Floats:
    """Return bounds on the errors of scores, one for all rows of a point."""
    begin = np.append(0, end[:-1])
    coef = beta.sum(axis=0)
    return gram.score_error(
        np.add.reduceat(coef != 0, begin, dtype=np.int64),
        np.add.reduceat(np.abs(coef), begin),
        np.array([fsum(part[part != 0].tolist()) for part in np.split(coef, end[:-1])]),
    )


def _rounding(error: Floats, target: Floats, score: Floats, end: Ints) -> Floats:
    """Return bounds on the rounding errors of the violations."""
    sizes = np.abs(target).max(axis=0) + np.abs(score)
    largest = np.maximum.reduceat(sizes, np.append(0, end[:-1]))
    rounding: Floats = 2.0 * error + 4.0 * UNIT * largest
    return np.nan_to_num(rounding, nan=OVERFLOW, posinf=OVERFLOW)


@np.errstate(over="ignore", invalid="ignore")  # infinite values prove nothing
def _largest_gaps(
    error: Floats,
    dual: Dual,
    beta: Floats,
    score: Floats,
    end: Ints,
    biases: Floats,
    totals: Floats,
) -> Floats:
    """Return bounds on the gaps of the exact scores, as examine_point.py has them."""
    begin = np.append(0, end[:-1])
    point = np.repeat(np.arange(len(end)), end - begin)
    terms = largest_gap_terms(dual, beta, score, error[point], biases[point, dual.group])
    gaps: Floats = np.add.reduceat(terms, begin)
    for g in range(dual.groups):
        sums = np.add.reduceat(np.where(dual.group == g, beta, 0.0).sum(axis=0), begin)
        gaps += np.abs(biases[:, g] * (sums - totals[:, g]))
    gaps *= 1.0 + 2.0 * UNIT * (end - begin)  # rounding of the sums
    return np.nan_to_num(gaps, nan=np.inf, posinf=np.inf)
