"""How exact a solution is: a function of the problem and the point, and of nothing else.

Everything is recomputed over all rows from the coefficients alone, in float64:

    score        u = K c
    violation    max over groups of  max_{beta < upper} F - min_{beta > lower} F,   F = t - u
    dual         D = t'beta - 1/2 c'u
    primal       P = 1/2 c'u + sum_g min_b [ b total_g + sum_v loss_v(F_v - b) ],
                 loss_v(f) = max(upper_v f, lower_v f)

Rows that cannot matter may be spared float64: a row without coefficient whose float32 score and the
proven bound on its error leave no doubt that it neither violates nor has a loss contributes nothing
to any of these figures, whatever its exact score is (`scores_that_matter`).

P >= D for every feasible point when the kernel is positive semidefinite, so gap = P - D bounds the
distance of either from the optimum. The minimum over the bias is found exactly: the bracket is
convex and piecewise linear in b with its kinks at the F_v.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from widestreet import _core
from widestreet.arrays import Bools, Floats, Ints
from widestreet.duals import Dual, join, select
from widestreet.gram import Gram

STATUSES = ("optimal", "time_limit", "iteration_limit", "interrupted", "approximate", "stalled")

# Constraints may be broken by rounding only: this part of the boxes' width or of their sum.
_FEASIBLE = 1e-10

_LARGE = 10_000_000  # kernel values from which on it pays to ask which rows matter
_SAMPLE = 500  # rows that tell how many do
_MANY = 0.35  # of them: more, and float64 throughout is cheaper


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
        Scores of all rows.
    exact : ndarray of bool, shape (n,)
        Which of them are in float64: all those that matter.
    bias : ndarray of shape (groups,)
        Best bias of each group: the middle of the minimisers of the primal.
    primal, dual, violation, infeasibility : float
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


def scores_that_matter(
    gram: Gram, dual: Dual, beta: Floats, place: Ints | None = None
) -> tuple[Floats, Bools]:
    """Scores of all rows, in float64 wherever that can make a difference to an examination.

    Returns
    -------
    score : ndarray of shape (n,)
    exact : ndarray of bool, shape (n,)
        Which scores are in float64. The others leave no doubt about what they say.
    """
    found = _Scores(gram, dual, beta, place)
    found.settle(np.flatnonzero(beta.any(axis=0)))
    rest = np.flatnonzero(~found.exact)
    sample = np.random.default_rng(0).permutation(rest)[:_SAMPLE]
    large = len(rest) * len(found.support) > _LARGE
    if not (large and found.estimate(sample) and found.doubtful(sample).mean() < _MANY):
        found.settle(rest)
        return found.score, found.exact
    found.estimate(rest)
    while len(doubtful := rest[found.doubtful(rest)]):
        found.settle(doubtful)
        rest = rest[~found.exact[rest]]
    return found.score, found.exact


class _Scores:
    """Scores on their way to be exact where they matter.

    Attributes
    ----------
    score, error : ndarray of shape (n,)
        Of each row, and by how much it is off at the most.
    exact : ndarray of bool, shape (n,)
    """

    def __init__(self, gram: Gram, dual: Dual, beta: Floats, place: Ints | None) -> None:
        self.gram, self.dual, self.beta, self.place = gram, dual, beta, place
        coef = beta.sum(axis=0)
        self.support = np.flatnonzero(coef)
        self.coef = coef[self.support]
        self.score, self.error = np.zeros(len(coef)), np.zeros(len(coef))
        self.exact: Bools = np.zeros(len(coef), dtype=bool)

    def _at(self, rows: Ints) -> Ints:
        return rows if self.place is None else self.place[rows]

    def settle(self, rows: Ints) -> None:
        """Scores in float64. Sets: score, error and exact of the rows."""
        columns = self._at(self.support)
        self.score[rows] = self.gram.scan(self._at(rows), columns, self.coef, dtype=np.float64)
        self.exact[rows], self.error[rows] = True, 0.0

    def estimate(self, rows: Ints) -> bool:
        """Scores in float32, if a bound on their error is known. Sets: score and error."""
        rough = self.gram.rough_scan(self._at(rows), self._at(self.support), self.coef)
        if rough is None:
            return False
        self.score[rows], self.error[rows] = rough
        return True

    def doubtful(self, rows: Ints) -> Bools:
        """Which rows without coefficient may violate or have a loss, given those that are exact.

        At a bound of zero, a variable that may grow has no loss while F is below the bias, and
        does not set the violation while F is below the highest of the others; likewise one that
        may shrink. Nor do such variables move the best bias: to its slope they contribute nothing.
        """
        dual, known = self.dual, np.flatnonzero(self.exact)
        f, beta = dual.target[:, known] - self.score[known], self.beta[:, known]
        lower, upper = dual.lower[:, known], dual.upper[:, known]
        middle = dual.target[:, rows] - self.score[rows]
        least, most = middle - self.error[rows], middle + self.error[rows]
        found = np.zeros(len(rows), dtype=bool)
        for g, total in enumerate(dual.total):
            mine, here = dual.group[:, known] == g, dual.group[:, rows] == g
            if not mine.any():
                return np.ones(len(rows), dtype=bool)
            left, right = flat_part(f[mine], lower[mine], upper[mine], float(total))
            highest = np.max(f, where=mine & (beta < upper), initial=-np.inf)
            lowest = np.min(f, where=mine & (beta > lower), initial=np.inf)
            grow = here & (dual.upper[:, rows] > 0) & ~(most < min(highest, left))
            shrink = here & (dual.lower[:, rows] < 0) & ~(least > max(lowest, right))
            found |= (grow | shrink).any(axis=0)
        return found


def examine(
    gram: Gram,
    dual: Dual,
    beta: Floats,
    place: Ints | None = None,
    score: Floats | None = None,
    exact: Bools | None = None,
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
        What `scores` or `scores_that_matter` returns, if that is known already.
    exact : ndarray of bool, optional
        What `scores_that_matter` returns beside it; all of them by default.
    """
    convex = gram.kernel.positive
    if score is None:
        score = scores(gram, beta, place)
    if exact is None:
        return examine_all([dual], [beta], [score], convex=convex)[0]
    matter = np.flatnonzero(exact)
    found = examine_all([select(dual, matter)], [beta[:, matter]], [score[matter]], convex=convex)
    return replace(found[0], score=score, exact=exact)


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
        Examination(score, np.ones(len(score), bool), bias, primal, dual, worst, outside, convex)
        for score, bias, (primal, dual, worst, outside) in zip(
            scores, biases, found.tolist(), strict=True
        )
    ]


def examine_margins(
    gram: Gram,
    sign: Floats,
    weight: Floats,
    place: Ints,
    *,
    offset: float,
    status: str,
    part: float,
) -> Certificate:
    """How near weights are to those of the hard-margin machine without a bias.

    Its problem is  min 1/2 |w|^2 - rho,  y_i w.phi_i >= rho  with the dual  max -1/2 a'Qa  over the
    simplex. The weights, scaled to sum one, are a point of the dual and make a plane w, whose best
    rho is the smallest margin: the gap between the two is a'h - min h, h = Qa, which is also by how
    much the optimality conditions are violated.

    Parameters
    ----------
    gram : Gram
    sign : ndarray of shape (n,)
        +1 and -1.
    weight : ndarray of shape (n,)
        Not negative.
    place : ndarray of shape (n,)
        Where the rows stand among those of the Gram.
    offset : float
        Added to all kernel values.
    status : str
        What the engine says: "optimal" is for this examination to say, unless it was interrupted.
    part : float
        Of a'h: the violation up to which that is so.
    """
    share = weight / weight.sum()
    used = np.flatnonzero(share)
    coef = sign * share
    score = gram.scan(place, place[used], coef[used]) + offset * float(coef.sum())
    margin = sign * score
    rho, least = float(share @ margin), float(margin.min())
    gap = max(0.0, rho - least)
    primal, dual = 0.5 * rho - least, -0.5 * rho
    scale = max(abs(primal), abs(dual))
    tol = part * max(rho, 0.0)
    if gap <= tol and status in ("approximate", "iteration_limit", "time_limit"):
        status = "optimal"
    return Certificate(
        primal_objective=primal,
        dual_objective=dual,
        gap=gap if gram.kernel.positive else float("nan"),
        relative_gap=(gap / scale if scale > 0 else gap) if gram.kernel.positive else float("nan"),
        kkt_violation=gap,
        status=status,
        n_rows=len(sign),
        tol=tol,
    )


def flat_part(f: Floats, lower: Floats, upper: Floats, total: float) -> tuple[float, float]:
    """The interval of minimisers of b total + sum max(upper (f - b), lower (f - b)).

    The slope in b is total - sum of upper over f > b - sum of lower over f < b, which grows by
    upper - lower at each kink f.
    """
    order = np.argsort(f, kind="stable")
    kinks = f[order]
    slope = total - upper.sum() + np.cumsum((upper - lower)[order])  # to the right of each kink
    slack = 1e-12 * float((upper - lower).sum())
    first = int(np.searchsorted(slope, -slack))  # the first kink with no descent to its right
    if first >= len(kinks):
        return float(kinks[-1]), float(kinks[-1])
    last = first
    if slope[first] <= slack and first + 1 < len(kinks):
        last = min(int(np.searchsorted(slope, slack, side="right")), len(kinks) - 1)
    return float(kinks[first]), float(kinks[last])
