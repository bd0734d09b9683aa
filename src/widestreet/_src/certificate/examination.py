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

Rows whose float32 scores prove that they cannot affect any of these figures are not scored in
float64 (screening.py).

P >= D for every feasible point when the kernel is positive semidefinite, so gap = P - D bounds the
distance of either from the optimum. The minimum over the bias is found exactly: the bracket is
convex and piecewise linear in b with its kinks at the F_v.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import fsum

import numpy as np

from widestreet import _core
from widestreet._src.arrays import Bools, Floats, Ints
from widestreet._src.certificate.certificate import GAP_TOL, Certificate
from widestreet._src.certificate.screening import scores
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.poll import Poll
from widestreet._src.problems.dual import Dual, join, select
from widestreet._src.problems.goal import Goal

# Constraints may be broken by rounding only: this part of the boxes' width or of their sum.
_FEASIBLE = 1e-10
_UNIT = 2.0**-53
_OVERFLOW = float(np.finfo(np.float64).max)  # bounds that overflow; infinity means wrong scores
_GAP_SHARE = 0.3  # of the gap allowed: aimed at, since a gap does not fall as the violation does
_LEAST_AIM = 0.1  # of tol: where rounding takes the rest, a smaller violation is not asked for
_SLOWEST, _FASTEST = 0.5, 1e-3  # factors by which the violation aimed at may fall at once


@dataclass(frozen=True, eq=False)
class Examination:
    """Everything an examination of a point found; the certificate is its summary.

    Attributes
    ----------
    score : ndarray of shape (n,)
        Scores of all rows.
    exact : ndarray of bool, shape (n,)
        Which of them are in float64: all those that matter.
    bias : ndarray of shape (groups,)
        Best bias of each group: the middle of the minimisers of the primal.
    primal, dual, violation, infeasibility : float
    rounding : float
        Bound on the error of the violation by rounding.
    mass : float
        Sum of the sizes of the groups' totals.
    convex : bool
        Whether the kernel is known to be positive semidefinite.
    """

    score: Floats
    exact: Bools
    bias: Floats
    primal: float
    dual: float
    violation: float
    infeasibility: float
    rounding: float
    mass: float
    convex: bool

    @property
    def gap(self) -> float:
        """Primal less dual; rounding may leave it just below zero."""
        return max(0.0, self.primal - self.dual)

    @property
    def _scale(self) -> float:
        return max(abs(self.primal), abs(self.dual))

    def _goal(self, tol: float, gap_tol: float | None) -> Goal:
        """Return what a point must meet; there is no gap where the kernel may be indefinite."""
        return Goal(tol, gap_tol if self.convex else None)

    def meets(self, tol: float, gap_tol: float | None) -> bool:
        """Tell whether the point is proved to be optimal."""
        return self.infeasibility <= _FEASIBLE and self._goal(tol, gap_tol).met(
            self.violation + self.rounding,
            gap=abs(self.primal - self.dual),
            scale=self._scale,
            mass=self.mass,
        )

    def next_violation(self, tol: float, gap_tol: float | None) -> float | None:
        """Return the violation to aim at next; None if the engine has nothing left to gain.

        That is so at a point that is proved to be optimal, and at one that float64 cannot tell
        from it.
        """
        if not self.violation <= tol:  # then the rounding is bounded for all rows at once only
            return tol
        aim = max(tol - self.rounding, _LEAST_AIM * tol) if self.rounding < tol else tol
        if self.violation > aim:
            return aim
        allowed = self._goal(tol, gap_tol).allowed_gap(self._scale, self.mass)
        if self.gap <= allowed or self.violation == 0:
            return None
        return self.violation * float(np.clip(_GAP_SHARE * allowed / self.gap, _FASTEST, _SLOWEST))

    def certificate(self, status: str, tol: float, gap_tol: float | None = GAP_TOL) -> Certificate:
        """Summarise, never calling a point optimal that is not.

        Parameters
        ----------
        status : str
            What the engine says.
        tol, gap_tol : float
            Violation and relative gap up to which a point is optimal.
        """
        sound = self.meets(tol, gap_tol)
        if status == "optimal" and not sound:
            status = "stalled"
        elif status in ("stalled", "iteration_limit", "time_limit") and sound:
            status = "optimal"
        gap, scale = self.gap, self._scale
        relative = gap / scale if 0 < scale < float("inf") else gap
        if not self.convex:
            gap = relative = float("nan")
        return Certificate(
            primal_objective=float(self.primal),
            dual_objective=self.dual,
            gap=gap,
            relative_gap=relative,
            kkt_violation=self.violation,
            status=status,
            n_rows=len(self.score),
            tol=tol,
            rounding=self.rounding,
            gap_tol=gap_tol,
            n_distinct_rows=len(self.score),
        )


def examine(
    gram: Gram,
    dual: Dual,
    beta: Floats,
    score: Floats | None = None,
    exact: Bools | None = None,
    tol: float | None = None,
    poll: Poll | None = None,
) -> Examination:
    """Examine a point over all rows in float64.

    Parameters
    ----------
    gram : Gram
        Kernel values between the rows.
    dual : Dual
    beta : ndarray of shape (layers, n)
    score : ndarray, optional
        What `scores` or `scores_that_matter` returns, if that is known already.
    exact : ndarray of bool, optional
        What `scores_that_matter` returns beside it; all of them by default.
    tol : float, optional
        Bound the rounding row by row, which costs a second pass over the rows, if the violation is
        at most `tol` and only the bound for all rows leaves doubt about that.
    poll : Poll, optional
        Looks at the clock and counts kernel values.
    """
    if score is None:
        score = scores(gram, beta, poll)
    if exact is None:
        [found] = examine_all(gram, [dual], [beta], [score])
    else:
        matter = np.flatnonzero(exact)
        [found] = examine_all(gram, [select(dual, matter)], [beta[:, matter]], [score[matter]])
        found = replace(found, score=score, exact=exact)
    if tol is not None and found.violation <= tol < found.violation + found.rounding:
        sharper = _rounding_by_rows(gram, dual, beta, found, poll)
        found = replace(found, rounding=min(found.rounding, sharper))
    return found


def examine_all(
    gram: Gram, duals: Sequence[Dual], betas: Sequence[Floats], scores: Sequence[Floats]
) -> list[Examination]:
    """Examine points of several duals of the same kind, whose exact scores are known.

    Parameters
    ----------
    gram : Gram
        Where the scores come from.
    duals, betas, scores : sequences
        As many of each.
    """
    one = len(duals) == 1
    every = duals[0] if one else join(duals)
    beta = np.ascontiguousarray(betas[0]) if one else np.concatenate(betas, axis=1)
    score = scores[0] if one else np.concatenate(scores)
    end = np.cumsum([dual.rows for dual in duals])
    totals = np.array([dual.total for dual in duals])
    found, biases = _core.examine(
        end, every.target, every.lower, every.upper, every.group, totals, beta, score
    )
    rounding = _rounding(gram, every.target, beta, score, end)
    return [
        Examination(
            score=score,
            exact=np.ones(len(score), bool),
            bias=bias,
            primal=primal,
            dual=dual,
            violation=worst,
            infeasibility=outside,
            rounding=error,
            mass=mass,
            convex=gram.kernel.positive,
        )
        for score, bias, (primal, dual, worst, outside), error, mass in zip(
            scores,
            biases,
            found.tolist(),
            rounding.tolist(),
            np.abs(totals).sum(axis=1).tolist(),
            strict=True,
        )
    ]


def _rounding(gram: Gram, target: Floats, beta: Floats, score: Floats, end: Ints) -> Floats:
    """Bound the error of the violations of several points, by one bound for all rows of each."""
    begin = np.append(0, end[:-1])
    coef = beta.sum(axis=0)
    error = gram.score_error(
        np.add.reduceat(coef != 0, begin, dtype=np.int64),
        np.add.reduceat(np.abs(coef), begin),
        np.array([fsum(part[part != 0].tolist()) for part in np.split(coef, end[:-1])]),
    )
    sizes = np.abs(target).max(axis=0) + np.abs(score)
    rounding: Floats = 2.0 * error + 4.0 * _UNIT * np.maximum.reduceat(sizes, begin)
    return np.nan_to_num(rounding, nan=_OVERFLOW, posinf=_OVERFLOW)


def _rounding_by_rows(
    gram: Gram, dual: Dual, beta: Floats, found: Examination, poll: Poll | None
) -> float:
    """Bound the error of a violation by bounds for each row.

    A row that was screened in float32 has a computed score below the extremes; by how much the
    exact score can exceed them is bounded by its own error.
    """
    coef = beta.sum(axis=0)
    support = np.flatnonzero(coef)
    error = gram.score_errors(None, support, coef[support], poll=poll)
    error = error + 2.0 * _UNIT * (np.abs(dual.target).max(axis=0) + np.abs(found.score))
    f, worst = dual.target - found.score, 0.0
    for g in range(dual.groups):
        mine = dual.group == g
        sides = []
        for sign, inside in ((1.0, beta < dual.upper), (-1.0, beta > dual.lower)):
            which = mine & inside & found.exact
            if not which.any():
                break
            extreme = float((sign * f)[which].max())
            reached = np.where(found.exact, sign * f, np.minimum(sign * f, extreme)) + error
            sides.append(float(reached[mine & inside].max()))
        if len(sides) == 2:
            worst = max(worst, sum(sides))
    return max(0.0, worst - found.violation)
