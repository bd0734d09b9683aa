"""Scores of all rows, in float64 wherever that can make a difference to an examination.

A row with a zero coefficient is first scored in float32, with a proven bound on the error. It is
scored again in float64 unless the bound shows that the row satisfies the optimality conditions and
has no loss, so that it cannot affect any figure of the certificate.
"""

from __future__ import annotations

import numpy as np

from widestreet._src.arrays import Bools, Floats, Ints
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.poll import Poll
from widestreet._src.problems.dual import Dual

_LARGE = 10_000_000  # kernel values from which on screening in float32 pays
_SAMPLE = 500  # rows that tell how many need float64
_MANY = 0.35  # of them: more, and float64 throughout is cheaper


def scores(gram: Gram, beta: Floats, poll: Poll | None = None) -> Floats:
    """Scores K c of all rows in float64, with the arguments of `examine`."""
    coef = beta.sum(axis=0)
    support = np.flatnonzero(coef)
    return gram.scan(None, support, coef[support], dtype=np.float64, poll=poll)


def scores_that_matter(
    gram: Gram, dual: Dual, beta: Floats, poll: Poll | None = None
) -> tuple[Floats, Bools, Floats]:
    """Scores of all rows, in float64 wherever that can make a difference to an examination.

    Returns
    -------
    score : ndarray of shape (n,)
    exact : ndarray of bool, shape (n,)
        Which scores are in float64. The others leave no doubt about what they say.
    error : ndarray of shape (n,)
        Bound on the difference of each score from that of float64.
    """
    found = _Scores(gram, dual, beta, poll)
    found.settle(np.flatnonzero(beta.any(axis=0)))
    rest = np.flatnonzero(~found.exact)
    sample = np.random.default_rng(0).permutation(rest)[:_SAMPLE]
    large = len(rest) * len(found.support) > _LARGE
    if not (large and found.estimate(sample) and found.doubtful(sample).mean() < _MANY):
        found.settle(rest)
        return found.score, found.exact, found.error
    found.estimate(rest)
    while len(doubtful := rest[found.doubtful(rest)]):
        found.settle(doubtful)
        rest = rest[~found.exact[rest]]
    return found.score, found.exact, found.error


class _Scores:
    """Scores on their way to be exact where they matter.

    Attributes
    ----------
    score, error : ndarray of shape (n,)
        Of each row, and by how much it is off at the most.
    exact : ndarray of bool, shape (n,)
    """

    def __init__(self, gram: Gram, dual: Dual, beta: Floats, poll: Poll | None = None) -> None:
        self.gram, self.dual, self.beta, self.poll = gram, dual, beta, poll
        coef = beta.sum(axis=0)
        self.support = np.flatnonzero(coef)
        self.coef = coef[self.support]
        self.score, self.error = np.zeros(len(coef)), np.zeros(len(coef))
        self.exact: Bools = np.zeros(len(coef), dtype=bool)

    def settle(self, rows: Ints) -> None:
        """Scores in float64. Sets: score, error and exact of the rows."""
        self.score[rows] = self.gram.scan(rows, self.support, self.coef, poll=self.poll)
        self.exact[rows], self.error[rows] = True, 0.0

    def estimate(self, rows: Ints) -> bool:
        """Scores in float32, if a bound on their error is known. Sets: score and error."""
        rough = self.gram.rough_scan(rows, self.support, self.coef, poll=self.poll)
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
