"""Examination of a point: it depends only on the problem and the coefficients.

Everything is recomputed over all rows from the coefficients, in float64:

    score        u = K c
    violation    max over groups of  max_{beta < upper} F - min_{beta > lower} F,   F = t - u
    dual         D = t'beta - 1/2 c'u
    primal       P = 1/2 c'u + sum_g min_b [ b total_g + sum_v loss_v(F_v - b) ],
                 loss_v(f) = max(upper_v f, lower_v f)
    rounding     bound on |computed - exact violation|: with |computed - exact u_i| <= e_i,
                 max over groups of  max_{beta < upper} (F + e) - min_{beta > lower} (F - e),
                 less the violation
    largest gap  bound on the exact P - D, given the same errors e_i (gap_terms.py)

For a dual with a diagonal term d, K is replaced by K + D. The exception is its primal, in which
1/2 c'Kc replaces 1/2 c'u and the loss is a function of t - Kc (loss_of_bias.py).

P >= D for every feasible point when the kernel is positive semidefinite, so gap = P - D bounds the
distance of either from the optimum. The minimum over the bias is exact (best_bias.py).

The rows of one dual may be divided into parts (part_of_rows.py), and rows whose float32 scores
prove that they cannot affect any figure are not scored in float64 (float64_where_needed.py).
Neither changes the figures. The core examines many small duals at once by the same formulas
(several_duals.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import isfinite

import numpy as np

from widestreet._src.arrays import Floats
from widestreet._src.certificate.best_bias import BestBias, best_bias
from widestreet._src.certificate.bounds_despite_rounding import largest_gap, reach
from widestreet._src.certificate.exact_sums import Terms, rounded
from widestreet._src.certificate.examination_result import Examination
from widestreet._src.certificate.float64_where_needed import Limits, scores
from widestreet._src.certificate.part_of_rows import Answer, Extremes, Part, Parts
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.poll import Poll
from widestreet._src.problems.dual import Dual
from widestreet._src.problems.goal import Goal

_SMALLEST_WIDTH = 1e-300  # of the boxes of a group, to avoid a division by zero
_SLOPE_ROUNDING = 1e-12  # of the boxes: smaller slopes are rounding


def examine(
    gram: Gram,
    dual: Dual,
    beta: Floats,
    score: Floats | None = None,
    goal: Goal | None = None,
    poll: Poll | None = None,
) -> Examination:
    """Examine a point over all rows in float64.

    Parameters
    ----------
    gram : Gram
        Kernel values between the rows, with the diagonal term of the dual if that has one.
    dual : Dual
    beta : ndarray of shape (layers, n)
    score : ndarray, optional
        Result of `scores`, if it is already known.
    goal : Goal, optional
        If the point meets the goal, but not with the bounds on rounding errors, these bounds are
        computed row by row, which takes a second pass over the rows.
    poll : Poll, optional
        Checks the time limit and counts kernel values.
    """
    if score is None:
        score = scores(gram, beta, poll)
    part = Part.whole(gram, dual, beta, score, poll)
    return examine_parts(LocalParts([part]), dual.total, convex=gram.kernel.positive, goal=goal)


@dataclass(frozen=True, eq=False)
class LocalParts:
    """Parts of this process, asked one after the other."""

    parts: Sequence[Part]

    def ask(self, question: Callable[[Part], Answer]) -> list[Answer]:
        """Return the answers of all parts, in order."""
        return [question(part) for part in self.parts]

    def screen(self, limits: Limits) -> list[int]:
        """Screen the rows of all parts; return how many each scored in float64."""
        return [part.screen(limits) for part in self.parts]


def examine_parts(
    parts: Parts, total: Floats, *, convex: bool, goal: Goal | None = None, compare: bool = False
) -> Examination:
    """Examine a point whose rows lie in several parts.

    Scores that cannot affect the figures are not computed in float64. Given the scores, the figures
    are bit-identical for every division of the rows into parts, unless a part has more than 100,000
    variables with a kink in the band: then the primal is equal up to the rounding of its terms. The
    bound on the rounding of the violation is the largest of all parts.

    Parameters
    ----------
    parts : Parts
    total : ndarray of shape (groups,)
        Required sum of the coefficients of each group.
    convex : bool
        True if the kernel is known to be positive semidefinite.
    goal : Goal, optional
        Same as in `examine`.
    compare : bool
        If True, some scores are compared with a second computation; the bounds on rounding errors
        are infinite if they differ.
    """
    whole = _figures(parts, total, convex=convex)
    if goal is not None and whole.limited_by_rounding(goal):
        whole = _figures(parts, total, convex=convex, row_by_row=True)
        if whole.limited_by_rounding(goal) and all(parts.ask(Part.sharpen)):
            whole = _figures(parts, total, convex=convex, row_by_row=True)
    if compare and any(parts.ask(partial(Part.disagrees, rows=whole.rows))):
        return whole.inconsistent()
    return whole


def _figures(parts: Parts, total: Floats, *, convex: bool, row_by_row: bool = False) -> Examination:
    """Examine a point, with bounds on rounding errors that are the same for all rows or not."""
    while True:
        found = _Merged(parts.ask(Part.extremes))
        best = [found.best_bias(parts, g, float(total[g])) for g in range(len(total))]
        limits = Limits(
            np.minimum(found.high, [one.left for one in best]),
            np.maximum(found.low, [one.right for one in best]),
        )
        if not found.pending or not any(parts.screen(limits)):
            break
    half, bias = 0.5 * found.norm, np.array([one.bias for one in best])
    losses = rounded([[half, -0.5 * found.squares, *(one.loss for one in best)]])
    rounding = found.rounding
    if row_by_row:
        answers = parts.ask(partial(reach, high=found.high, low=found.low, bias=bias))
        extremes = np.max([one.extremes for one in answers], axis=0)
        rounding = min(rounding, _distance(found.violation, extremes))
        terms = [one.gap for one in answers]
    else:
        terms = parts.ask(partial(largest_gap, bias=bias))
    return Examination(
        rows=found.rows,
        bias=bias,
        primal=losses if found.known else float("inf"),
        dual=found.linear - half if found.known else -float("inf"),
        violation=found.violation,
        infeasibility=max(found.outside, *found.missing(total)),
        rounding=rounding,
        largest_gap=_largest_gap(terms, found, bias, total),
        mass=float(np.abs(total).sum()),
        convex=convex,
    )


def _largest_gap(terms: list[Terms], found: _Merged, bias: Floats, total: Floats) -> float:
    """Return a bound on the gap of the exact scores, from the largest terms of all parts.

    Where the coefficients do not add up to the total of a group, the gap is this sum up to the
    product of the difference and the bias.
    """
    if not found.known:
        return float("inf")
    off = [
        abs(b * (have - wanted)) for b, have, wanted in zip(bias, found.beta, total, strict=True)
    ]
    gap = rounded([*terms, off])
    return gap if isfinite(gap) else float("inf")


def _distance(violation: float, reach: Floats) -> float:
    """Return the largest distance of the exact violation from the computed one.

    Parameters
    ----------
    violation : float
    reach : ndarray of shape (2, 2, groups)
        Bounds as `Part.reach` returns them, of all parts.
    """
    both = np.isfinite(reach[0]).all(axis=0)
    most, least = (np.max(ends.sum(axis=0), where=both, initial=0.0) for ends in reach)
    return max(float(most) - violation, violation - float(least))


class _Merged:
    """Extremes of all parts, merged."""

    def __init__(self, parts: list[Extremes]) -> None:
        self.rows = sum(part.rows for part in parts)
        self.pending = sum(part.pending for part in parts)
        self.known = all(part.known for part in parts)
        self.high = np.max([part.high for part in parts], axis=0)
        self.low = np.min([part.low for part in parts], axis=0)
        self.least = np.min([part.least for part in parts], axis=0)
        self.most = np.max([part.most for part in parts], axis=0)
        self.linear = rounded(part.linear for part in parts)
        self.norm = rounded(part.norm for part in parts)
        self.squares = rounded(part.squares for part in parts)
        groups = range(len(self.high))
        self.beta = [rounded(part.beta[g] for part in parts) for g in groups]
        self.width = [rounded(part.width[g] for part in parts) for g in groups]
        self.outside = max(part.outside for part in parts)
        self.rounding = max(part.rounding for part in parts)

    @property
    def violation(self) -> float:
        if not self.known:
            return float("inf")
        return max(0.0, float(np.max(self.high - self.low)))

    def best_bias(self, parts: Parts, g: int, total: float) -> BestBias:
        """Return the best bias of a group; that of a group without variables if none is known."""
        if not self.known:
            return BestBias()
        between = float(self.low[g]), float(self.high[g])
        ends = float(self.least[g]), float(self.most[g])
        return best_bias(parts, g, total, between, ends, _SLOPE_ROUNDING * self.width[g])

    def missing(self, total: Floats) -> list[float]:
        """Return the errors of the sums of coefficients, relative to the boxes."""
        return [
            abs(beta - float(wanted)) / max(width, _SMALLEST_WIDTH)
            for beta, wanted, width in zip(self.beta, total, self.width, strict=True)
        ]
