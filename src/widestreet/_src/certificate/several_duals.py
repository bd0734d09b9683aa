"""Examine points of many small duals in one call of the core, by the formulas of merging.py."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum

import numpy as np

from widestreet import _core
from widestreet._src.arrays import Floats, Ints
from widestreet._src.certificate.examination import Examination
from widestreet._src.certificate.parts import OVERFLOW, UNIT
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
    rounding = _rounding(gram, every.target, beta, score, end)
    return [
        Examination(
            rows=rows,
            bias=bias,
            primal=primal,
            dual=dual,
            violation=worst,
            infeasibility=outside,
            rounding=error,
            mass=mass,
            convex=gram.kernel.positive,
        )
        for rows, bias, (primal, dual, worst, outside), error, mass in zip(
            [dual.rows for dual in duals],
            biases,
            found.tolist(),
            rounding.tolist(),
            np.abs(totals).sum(axis=1).tolist(),
            strict=True,
        )
    ]


def _rounding(gram: Gram, target: Floats, beta: Floats, score: Floats, end: Ints) -> Floats:
    """Return bounds on the rounding errors of the violations, one for all rows of a point."""
    begin = np.append(0, end[:-1])
    coef = beta.sum(axis=0)
    error = gram.score_error(
        np.add.reduceat(coef != 0, begin, dtype=np.int64),
        np.add.reduceat(np.abs(coef), begin),
        np.array([fsum(part[part != 0].tolist()) for part in np.split(coef, end[:-1])]),
    )
    sizes = np.abs(target).max(axis=0) + np.abs(score)
    rounding: Floats = 2.0 * error + 4.0 * UNIT * np.maximum.reduceat(sizes, begin)
    return np.nan_to_num(rounding, nan=OVERFLOW, posinf=OVERFLOW)
