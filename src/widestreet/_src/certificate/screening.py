"""Scores of rows, in float64 wherever that can make a difference to an examination.

A row with a zero coefficient is first scored in float32, with a proven bound on the error. It is
scored again in float64 unless the bound shows that the row satisfies the optimality conditions and
has no loss, so that it cannot affect any figure of the certificate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from widestreet._src.arrays import Bools, Floats, Ints
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.poll import Poll
from widestreet._src.problems.dual import Dual

_LARGE = 10_000_000  # kernel values from which on screening in float32 pays
_SAMPLE = 500  # rows that tell how many need float64
_MANY = 0.35  # of them: more, and float64 throughout is cheaper


def scores(gram: Gram, beta: Floats, poll: Poll | None = None) -> Floats:
    """Return the scores K c of all rows in float64, with the arguments of `examine`."""
    coef = beta.sum(axis=0)
    support = np.flatnonzero(coef)
    return gram.scan(None, support, coef[support], poll=poll)


@dataclass(frozen=True, eq=False)
class Limits:
    """Between which indicators a variable with a zero coefficient can matter, group by group.

    Attributes
    ----------
    grow : ndarray of shape (groups,)
        A variable that may grow has no loss while F is below the best bias, and does not set the
        violation while F is below the highest of the others. Nor does it move the best bias: to
        the slope it contributes nothing.
    shrink : ndarray of shape (groups,)
        The same for a variable that may shrink, while F is above.
    """

    grow: Floats
    shrink: Floats


class Scores:
    """Scores of rows, which become exact where they matter.

    Parameters
    ----------
    gram : Gram
        Kernel values between the rows (left) and the support vectors (right).
    rows : int
    columns : ndarray
        Where the support vectors stand among the right rows.
    coef : ndarray
        Their coefficients.
    poll : Poll, optional

    Attributes
    ----------
    score, error : ndarray of shape (n,)
        Of each row, and the bound on the difference from the score in float64.
    exact : ndarray of bool, shape (n,)
        Which scores are in float64.
    """

    def __init__(
        self, gram: Gram, rows: int, columns: Ints, coef: Floats, poll: Poll | None
    ) -> None:
        self.gram, self.columns, self.coef, self.poll = gram, columns, coef, poll
        self.score, self.error = np.zeros(rows), np.zeros(rows)
        self.exact: Bools = np.zeros(rows, dtype=bool)
        self._estimated: Bools = np.zeros(rows, dtype=bool)

    def given(self, score: Floats) -> None:
        """Accept exact scores of all rows. Sets: score and exact."""
        self.score = score
        self.exact[:] = True

    def begin(self, support: Ints) -> None:
        """Compute the scores of support vectors, and all of them where screening does not pay.

        Sets: score and exact.
        """
        rest = len(self.score) - len(support)
        large = rest * len(self.coef) > _LARGE
        self.settle(support if large else np.arange(len(self.score)))

    def settle(self, rows: Ints) -> None:
        """Compute scores in float64. Sets: score, error and exact of the rows."""
        self.score[rows] = self.gram.scan(rows, self.columns, self.coef, poll=self.poll)
        self.exact[rows], self.error[rows] = True, 0.0

    def screen(self, dual: Dual, limits: Limits) -> int:
        """Compute the scores that may matter in float64; return how many they were.

        Sets: score, error and exact.
        """
        rest = np.flatnonzero(~self.exact)
        if not self._estimated[rest].all():
            sample = np.random.default_rng(0).permutation(rest)[:_SAMPLE]
            if not self._estimate(sample) or self.doubtful(dual, sample, limits).mean() >= _MANY:
                self.settle(rest)
                return len(rest)
            self._estimate(rest)
        doubtful = rest[self.doubtful(dual, rest, limits)]
        self.settle(doubtful)
        return len(doubtful)

    def _estimate(self, rows: Ints) -> bool:
        """Compute scores in float32, if a bound on their error is known. Sets: score and error."""
        rough = self.gram.rough_scan(rows, self.columns, self.coef, poll=self.poll)
        if rough is None:
            return False
        self.score[rows], self.error[rows] = rough
        self._estimated[rows] = True
        return True

    def doubtful(self, dual: Dual, rows: Ints, limits: Limits) -> Bools:
        """Tell which rows with zero coefficients may violate or have a loss."""
        middle = dual.target[:, rows] - self.score[rows]
        least, most = middle - self.error[rows], middle + self.error[rows]
        group = dual.group[:, rows]
        grow = (dual.upper[:, rows] > 0) & ~(most < limits.grow[group])
        shrink = (dual.lower[:, rows] < 0) & ~(least > limits.shrink[group])
        return np.asarray((grow | shrink).any(axis=0))
