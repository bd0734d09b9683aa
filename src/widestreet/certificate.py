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

from dataclasses import dataclass

import numpy as np

from widestreet.arrays import Floats, Ints
from widestreet.duals import Dual
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
    convex = gram.kernel.positive
    if score is None:
        score = scores(gram, beta, place)
    bias = np.zeros(dual.groups)
    if not np.isfinite(score).all():  # comparisons with what is no number prove nothing
        inf = float("inf")
        return Examination(score, bias, inf, -inf, inf, infeasibility(dual, beta), convex)
    norm = float(beta.sum(axis=0) @ score)
    f = dual.target - score
    loss = violation = 0.0
    for g, total in enumerate(dual.total):
        mine = dual.group == g
        values, lower, upper = f[mine], dual.lower[mine], dual.upper[mine]
        bias[g] = best_bias(values, lower, upper, float(total))
        excess = values - bias[g]
        loss += float(bias[g] * total) + float(np.maximum(upper * excess, lower * excess).sum())
        highest = np.max(values, where=beta[mine] < upper, initial=-np.inf)
        lowest = np.min(values, where=beta[mine] > lower, initial=np.inf)
        violation = max(violation, float(highest - lowest))
    return Examination(
        score=score,
        bias=bias,
        primal=0.5 * norm + loss,
        dual=float((dual.target * beta).sum()) - 0.5 * norm,
        violation=violation,
        infeasibility=infeasibility(dual, beta),
        convex=convex,
    )


def infeasibility(dual: Dual, beta: Floats) -> float:
    """Largest breach of a constraint, relative to the boxes."""
    width = dual.upper - dual.lower
    outside = np.maximum(beta - dual.upper, dual.lower - beta)
    box = float(np.max(outside / np.where(width > 0, width, 1.0), initial=0.0))
    sums = [
        abs(float(beta[dual.group == g].sum()) - total)
        / max(float(width[dual.group == g].sum()), 1e-300)
        for g, total in enumerate(dual.total)
    ]
    return max(box, *map(float, sums))


def best_bias(f: Floats, lower: Floats, upper: Floats, total: float) -> float:
    """Minimise b total + sum max(upper (f - b), lower (f - b)) over b.

    The slope in b is total - sum of upper over f > b - sum of lower over f < b, which grows by
    upper - lower at each kink f. The middle is returned where the minimiser is an interval.
    """
    order = np.argsort(f, kind="stable")
    kinks = f[order]
    slope = total - upper.sum() + np.cumsum((upper - lower)[order])  # to the right of each kink
    slack = 1e-12 * float((upper - lower).sum())
    first = int(np.searchsorted(slope, -slack))  # the first kink with no descent to its right
    if first >= len(kinks):
        return float(kinks[-1])
    if slope[first] <= slack and first + 1 < len(kinks):
        flat_end = int(np.searchsorted(slope, slack, side="right"))
        return 0.5 * float(kinks[first] + kinks[min(flat_end, len(kinks) - 1)])
    return float(kinks[first])
