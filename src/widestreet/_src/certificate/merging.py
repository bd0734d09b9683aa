"""Examine how exact a solution is: a function of the problem and the point alone.

Everything is recomputed over all rows from the coefficients, in float64:

    score        u = K c
    violation    max over groups of  max_{beta < upper} F - min_{beta > lower} F,   F = t - u
    dual         D = t'beta - 1/2 c'u
    primal       P = 1/2 c'u + sum_g min_b [ b total_g + sum_v loss_v(F_v - b) ],
                 loss_v(f) = max(upper_v f, lower_v f)
    rounding     bound on |computed - exact violation|: with |computed - exact u_i| <= e_i,
                 max over groups of  max_{beta < upper} (F + e) - min_{beta > lower} (F - e),
                 less the violation

A dual with a diagonal term d has the kernel matrix K + D in all this, but for its primal, in which
1/2 c'Kc takes the place of 1/2 c'u, and a loss that is a function of t - Kc (loss.py).

P >= D for every feasible point when the kernel is positive semidefinite, so gap = P - D bounds the
distance of either from the optimum. The minimum over the bias is found exactly: the bracket is
convex and piecewise linear in b with its kinks at the F_v.

The rows of one dual may lie in several parts (parts.py), and rows whose float32 scores prove that
they cannot affect any of these figures are not scored in float64 (screening.py). Neither changes
the figures. The core examines many small duals at once by the same formulas (many.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import isfinite

import numpy as np

from widestreet._src.arrays import Floats
from widestreet._src.certificate.examination import Examination
from widestreet._src.certificate.loss import Objective
from widestreet._src.certificate.parts import Answer, Ask, Extremes, Part
from widestreet._src.certificate.screening import Limits, scores
from widestreet._src.certificate.sums import rounded
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.poll import Poll
from widestreet._src.problems.dual import Dual

_LEAST = 1e-300
_FLAT = 1e-12  # of the boxes: a slope that is rounding
_MOST_KINKS = 100_000  # variables that a part lists
_PIVOTS = 33  # biases at which parts tell their slopes: a band becomes 32 times narrower


def examine(
    gram: Gram,
    dual: Dual,
    beta: Floats,
    score: Floats | None = None,
    tol: float | None = None,
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
        What `scores` returns, if that is known already.
    tol : float, optional
        Bound the rounding row by row, which costs a second pass over the rows, if the violation is
        at most `tol` and only the bound for all rows leaves doubt about that.
    poll : Poll, optional
        Looks at the clock and counts kernel values.
    """
    if score is None:
        score = scores(gram, beta, poll)
    part = Part.whole(gram, dual, beta, score, poll)
    return examine_parts(here([part]), dual.total, convex=gram.kernel.positive, tol=tol)


def here(parts: Sequence[Part]) -> Ask:
    """Return a function that asks parts in this process, one after the other."""

    def ask(question: Callable[[Part], Answer], /) -> list[Answer]:
        return [question(part) for part in parts]

    return ask


def examine_parts(
    ask: Ask, total: Floats, *, convex: bool, tol: float | None = None, compare: bool = False
) -> Examination:
    """Examine a point whose rows lie in several parts.

    Scores that do not matter are spared. Given the scores, the figures are equal bit by bit however
    the rows are split, unless a part has more than 100,000 variables with a kink in the band: then
    the primal is equal up to the rounding of its terms. The bound on the rounding is that of the
    part with the largest.

    Parameters
    ----------
    ask : callable
        Puts a question to all parts.
    total : ndarray of shape (groups,)
        What the coefficients of each group sum to.
    convex : bool
        Whether the kernel is known to be positive semidefinite.
    tol : float, optional
        As in `examine`.
    compare : bool
        Compare some scores with a second computation: the rounding is infinite if they disagree.
    """
    while True:
        found = _Merged(ask(Part.extremes))
        best = [_best_bias(ask, g, found, float(total[g])) for g in range(len(total))]
        limits = Limits(
            np.minimum(found.high, [one.left for one in best]),
            np.maximum(found.low, [one.right for one in best]),
        )
        if not found.pending or not any(ask(partial(Part.screen, limits=limits))):
            break
    violation, rounding = found.violation, found.rounding
    if tol is not None and violation <= tol < violation + rounding:
        high, low = np.max(ask(partial(Part.reach, high=found.high, low=found.low)), axis=0)
        both = np.isfinite(high) & np.isfinite(low)
        sharper = float(np.max(high + low, where=both, initial=0.0)) - violation
        rounding = min(rounding, max(0.0, sharper))
    if compare and any(ask(Part.disagrees)):
        rounding = float("inf")
    half = 0.5 * found.norm
    losses = rounded([[half, -0.5 * found.squares, *(one.loss for one in best)]])
    return Examination(
        rows=found.rows,
        bias=np.array([one.bias for one in best]),
        primal=losses if found.known else float("inf"),
        dual=found.linear - half if found.known else -float("inf"),
        violation=violation,
        infeasibility=max(found.outside, *found.missing(total)),
        rounding=rounding,
        mass=float(np.abs(total).sum()),
        convex=convex,
    )


class _Merged:
    """The extremes of all parts, with the attributes of those of one."""

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

    def missing(self, total: Floats) -> list[float]:
        """Return by how much the sums are missed, relative to the boxes."""
        return [
            abs(beta - float(wanted)) / max(width, _LEAST)
            for beta, wanted, width in zip(self.beta, total, self.width, strict=True)
        ]


@dataclass(frozen=True)
class _Best:
    """The interval of the best biases of a group, and what it adds to the primal there."""

    left: float = -float("inf")  # without a variable nothing is known
    right: float = float("inf")
    bias: float = 0.0
    loss: float = 0.0


def _best_bias(ask: Ask, g: int, found: _Merged, total: float) -> _Best:
    """Find the best bias of a group between the extremes, or outside if it is not between them."""
    least, most, slack = float(found.least[g]), float(found.most[g]), _FLAT * found.width[g]
    if not found.known or least > most:
        return _Best()
    a, z = sorted((float(found.low[g]), float(found.high[g])))
    a, z = a if isfinite(a) else least, z if isfinite(z) else most
    limit: int | None = _MOST_KINKS
    while True:
        bands = ask(partial(Part.band, group=g, a=a, z=z, most=limit))
        if any(band.inside is None for band in bands):
            before = a, z
            a, z = _narrowed(ask, g, a, z, total, slack)
            limit = None if (a, z) == before else limit
            continue
        objective = Objective(bands, total)
        wide = a, z
        if objective.slope(a, right=False) >= -slack:
            a = min(a, least)
        if objective.slope(z, right=True) <= slack:
            z = max(z, most)
        if (a, z) == wide:
            break
    left, right = objective.minimisers(slack)
    bias = left if left == right else 0.5 * (left + right)
    return _Best(left, right, bias, objective.value(bias))


def _narrowed(
    ask: Ask, g: int, a: float, z: float, total: float, slack: float
) -> tuple[float, float]:
    """Return biases between two others between which the slope still changes its sign."""
    pivots = np.linspace(a, z, _PIVOTS)
    slope = total - np.sum(ask(partial(Part.slopes, group=g, pivots=pivots)), axis=0)
    falls, rises = np.flatnonzero(slope < -2 * slack), np.flatnonzero(slope > 2 * slack)
    return (
        float(pivots[falls[-1]]) if len(falls) else a,
        float(pivots[rises[0]]) if len(rises) else z,
    )
