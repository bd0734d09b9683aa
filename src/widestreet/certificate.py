"""How exact a solution is: a function of the problem and the point, and of nothing else.

Everything is recomputed in float64 over all rows from the coefficients alone:

    score        u = K c
    violation    max over groups of  max_{beta < upper} F - min_{beta > lower} F,   F = t - u
    dual         D = t'beta - 1/2 c'u
    primal       P = 1/2 c'u + sum_g min_b [ b total_g + sum_v loss_v(F_v - b) ],
                 loss_v(f) = max(upper_v f, lower_v f)

P >= D for every feasible point when the kernel is positive semidefinite, so gap = P - D bounds the
distance of either from the optimum. The minimum over the bias is found exactly: the bracket is
convex and piecewise linear in b with its kinks at the F_v.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from widestreet import _core
from widestreet.arrays import Floats, Ints
from widestreet.duals import Dual, join
from widestreet.gram import Gram

STATUSES = ("optimal", "time_limit", "iteration_limit", "interrupted", "approximate", "stalled")

# Constraints may be broken by rounding only: this part of the boxes' width or of their sum.
_FEASIBLE = 1e-10


@dataclass(frozen=True)
class Certificate:
    """What was proved about a solution.

    If an interrupt or `max_time` left no time to look at every row, n_rows is zero and the bounds
    are infinite.

    Attributes
    ----------
    primal_objective, dual_objective : float
        In the scale of the textbook C-SVM: 1/2 |w|^2 + sum of losses, and its dual.
    gap, relative_gap : float
        primal - dual, and the same divided by max(|primal|, |dual|): no model can be better by
        more than this. Not a number where the kernel is not known to be positive semidefinite,
        since then nothing bounds the optimum and "optimal" means that the conditions hold.
    kkt_violation : float
        Largest violation of the optimality conditions over all rows; what `tol` bounds.
    status : str
        "optimal" only if kkt_violation <= tol and all constraints hold.
    n_rows : int
        Rows the certificate looked at; equal rows count once, and those of weight zero not.
    tol : float
    """

    primal_objective: float
    dual_objective: float
    gap: float
    relative_gap: float
    kkt_violation: float
    status: str
    n_rows: int
    tol: float


@dataclass(frozen=True, eq=False)
class Examination:
    """Everything an examination of a point found; the certificate is its summary.

    Attributes
    ----------
    score : ndarray of shape (n,)
        Exact scores of all rows.
    bias : ndarray of shape (groups,)
        Best bias of each group: the middle of the minimisers of the primal.
    primal, dual, violation, infeasibility : float
    convex : bool
        Whether the kernel is known to be positive semidefinite.
    """

    score: Floats
    bias: Floats
    primal: float
    dual: float
    violation: float
    infeasibility: float
    convex: bool

    def certificate(self, status: str, tol: float) -> Certificate:
        """Summarise, never calling a point optimal that is not.

        Parameters
        ----------
        status : str
            What the engine says.
        tol : float
        """
        sound = self.violation <= tol and self.infeasibility <= _FEASIBLE
        if status == "optimal" and not sound:
            status = "stalled"
        elif status in ("stalled", "iteration_limit", "time_limit") and sound:
            status = "optimal"
        gap = max(0.0, self.primal - self.dual)  # rounding may leave it just below zero
        scale = max(abs(self.primal), abs(self.dual))
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
        )


def unexamined(status: str, dual_objective: float, tol: float) -> Certificate:
    """What is known of a point that nobody looked at: no bound but the trivial one."""
    return Certificate(
        primal_objective=float("inf"),
        dual_objective=dual_objective,
        gap=float("inf"),
        relative_gap=float("inf"),
        kkt_violation=float("inf"),
        status=status,
        n_rows=0,
        tol=tol,
    )


def scores(gram: Gram, beta: Floats, place: Ints | None = None) -> Floats:
    """Scores K c of all rows in float64, with the arguments of `examine`."""
    coef = beta.sum(axis=0)
    support = np.flatnonzero(coef)
    columns = support if place is None else place[support]
    return gram.scan(place, columns, coef[support], dtype=np.float64)


def examine(
    gram: Gram, dual: Dual, beta: Floats, place: Ints | None = None, score: Floats | None = None
) -> Examination:
    """Examine a point over all rows in float64.

    Parameters
    ----------
    gram : Gram
        Kernel values between the rows.
    dual : Dual
    beta : ndarray of shape (layers, n)
    place : ndarray, optional
        Where row i of the dual stands among the rows of the Gram.
    score : ndarray, optional
        What `scores` returns, if that is known already.
    """
    if score is None:
        score = scores(gram, beta, place)
    return examine_all([dual], [beta], [score], convex=gram.kernel.positive)[0]


def examine_all(
    duals: Sequence[Dual], betas: Sequence[Floats], scores: Sequence[Floats], *, convex: bool
) -> list[Examination]:
    """Examine points of several duals of the same kind, whose exact scores are known.

    Parameters
    ----------
    duals, betas, scores : sequences
        As many of each.
    convex : bool
        Whether the kernel is known to be positive semidefinite.
    """
    one = len(duals) == 1
    every = duals[0] if one else join(duals)
    found, biases = _core.examine(
        np.cumsum([dual.rows for dual in duals]),
        every.target,
        every.lower,
        every.upper,
        every.group,
        np.array([dual.total for dual in duals]),
        np.ascontiguousarray(betas[0]) if one else np.concatenate(betas, axis=1),
        scores[0] if one else np.concatenate(scores),
    )
    return [
        Examination(score, bias, primal, dual, violation, infeasibility, convex)
        for score, bias, (primal, dual, violation, infeasibility) in zip(
            scores, biases, found.tolist(), strict=True
        )
    ]
