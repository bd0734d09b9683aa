"""Scores of rows, in float64 if they can affect an examination.

A row with a zero coefficient is first scored in float32, with a proven bound on the error. It is
scored again in float64 unless the bound shows that the row satisfies the optimality conditions and
has no loss, so that it cannot affect any figure of the certificate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from widestreet._src.arrays import Bools, Floats, Ints
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.poll import Poll
from widestreet._src.problems.dual import Dual

_SCREENING_VALUES = 10_000_000  # kernel values from which on screening in float32 saves time
_SAMPLE_ROWS = 500  # rows from which the fraction that needs float64 is estimated
_FLOAT64_FRACTION = 0.35  # of the sample: above it, float64 for all rows is faster


def scores(gram: Gram, beta: Floats, poll: Poll | None = None) -> Floats:
    """Return the scores K c of all rows in float64, with the arguments of `examine`."""
    coef = beta.sum(axis=0)
    support = np.flatnonzero(coef)
    return gram.scan(None, support, coef[support], poll=poll)


@dataclass(frozen=True, eq=False)
class Limits:
    """Limits of F beyond which a variable with a zero coefficient can affect the figures.

    Attributes
    ----------
    grow : ndarray of shape (groups,)
        Limit for variables that may grow. Below the best bias such a variable has no loss and does
        not contribute to the slope, so it does not move the best bias. Below the largest F of the
        other variables it does not determine the violation.
    shrink : ndarray of shape (groups,)
        Limit for variables that may shrink; they have no effect above it.
    """

    grow: Floats
    shrink: Floats


class Scores:
    """Scores of rows, exact for all rows that can affect an examination.

    Parameters
    ----------
    gram : Gram
        Kernel values between the rows (left) and the support vectors (right).
    rows : int
    columns : ndarray
        Positions of the support vectors among the right rows.
    coef : ndarray
        Coefficients of the support vectors.
    poll : Poll, optional

    Attributes
    ----------
    score, error : ndarray of shape (n,)
        Score of each row, and bound on its difference from the score in float64.
    exact : ndarray of bool, shape (n,)
        Mask of the scores in float64.
    estimated : ndarray of bool, shape (n,)
        Mask of the rows that were scored in float32.
    begun : bool
        True if the scores of the support vectors are known.
    counts : list of int
        Number of rows that each screening scored in float64.
    """

    begun: bool
    counts: list[int]

    def __init__(
        self, gram: Gram, rows: int, columns: Ints, coef: Floats, poll: Poll | None
    ) -> None:
        self.gram, self.columns, self.coef, self.poll = gram, columns, coef, poll
        self.score, self.error = np.zeros(rows), np.zeros(rows)
        self.exact: Bools = np.zeros(rows, dtype=bool)
        self.estimated: Bools = np.zeros(rows, dtype=bool)
        self.begun, self.counts = False, []

    @property
    def arrays(self) -> tuple[Floats, Floats, Bools, Bools]:
        """Arrays that change: score, error, exact and estimated."""
        return self.score, self.error, self.exact, self.estimated

    def restore(self, counts: Sequence[int], arrays: tuple[Floats, Floats, Bools, Bools]) -> None:
        """Continue from stored arrays of the same rows. Sets: everything that changes."""
        self.begun, self.counts = True, list(counts)
        self.score, self.error, self.exact, self.estimated = arrays

    def given(self, score: Floats) -> None:
        """Accept exact scores of all rows. Sets: score and exact."""
        self.score = score
        self.exact[:] = self.begun = True

    def begin(self, support: Ints) -> None:
        """Compute the scores of support vectors, or of all rows if screening saves no time.

        Sets: score and exact.
        """
        rest = len(self.score) - len(support)
        large = rest * len(self.coef) > _SCREENING_VALUES
        self.settle(support if large else np.arange(len(self.score)))
        self.begun = True

    def settle(self, rows: Ints) -> None:
        """Compute scores in float64. Sets: score, error and exact of the rows."""
        self.score[rows] = self.gram.scan(rows, self.columns, self.coef, poll=self.poll)
        self.exact[rows], self.error[rows] = True, 0.0

    def screen(self, dual: Dual, limits: Limits) -> int:
        """Compute scores that may affect the figures in float64; return their number.

        Sets: score, error, exact and counts.
        """
        rows = self._pending(dual, limits)
        self.settle(rows)
        self.counts.append(len(rows))
        return len(rows)

    def _pending(self, dual: Dual, limits: Limits) -> Ints:
        """Return the rows to be scored in float64. Sets: score and error of the others."""
        rest = np.flatnonzero(~self.exact)
        if not self.estimated[rest].all():
            sample = np.random.default_rng(0).permutation(rest)[:_SAMPLE_ROWS]
            if (
                not self._estimate(sample)
                or self.doubtful(dual, sample, limits).mean() >= _FLOAT64_FRACTION
            ):
                return rest
            self._estimate(rest)
        return rest[self.doubtful(dual, rest, limits)]

    def _estimate(self, rows: Ints) -> bool:
        """Compute scores in float32, if a bound on their error is known. Sets: score and error."""
        rough = self.gram.rough_scan(rows, self.columns, self.coef, poll=self.poll)
        if rough is None:
            return False
        self.score[rows], self.error[rows] = rough
        self.estimated[rows] = True
        return True

    def doubtful(self, dual: Dual, rows: Ints, limits: Limits) -> Bools:
        """Return the mask of rows with zero coefficients that may violate or have a loss."""
        middle = dual.target[:, rows] - self.score[rows]
        least, most = middle - self.error[rows], middle + self.error[rows]
        group = dual.group[:, rows]
        grow = (dual.upper[:, rows] > 0) & ~(most < limits.grow[group])
        shrink = (dual.lower[:, rows] < 0) & ~(least > limits.shrink[group])
        return np.asarray((grow | shrink).any(axis=0))
