"""Scores of rows, in float64 if they can affect an examination.

A row with a zero coefficient is first scored in float32, with a proven bound on the error. It is
scored again in float64 unless the bound shows that the row satisfies the optimality conditions and
has no loss, so that it cannot affect any figure of the certificate. A score of an earlier
examination may show this as well, if the point has not moved too far since (earlier_scores.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from widestreet import _core
from widestreet._src.arrays import Bools, Floats, Ints
from widestreet._src.certificate.earlier_scores import (
    EXACT,
    LAST,
    OLDER,
    ROUGH,
    UNKNOWN,
    Change,
    Examined,
    Record,
    lengths,
)
from widestreet._src.certificate.exact_sums import exact_sum, rounded
from widestreet._src.kernels.accurate_scan import accurate_scan, off_centre
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.poll import Poll
from widestreet._src.problems.dual import Dual

_SCREENING_VALUES = 10_000_000  # kernel values from which on screening in float32 saves time
_SAMPLE_ROWS = 500  # rows from which the fraction that needs float64 is estimated
_LOOSE_FRACTION = 0.15  # of the sample: above it, a tight bound on float32 scores saves time
FLOAT64_FRACTION = 0.35  # of the sample: above it, float64 for all rows is faster
_LARGEST_ROUNDING = 8.0  # of scores from scratch: above it, scores are not updated any more


def scores(gram: Gram, beta: Floats, poll: Poll | None = None) -> Floats:
    """Return the scores K c of all rows in float64, with the arguments of `examine`."""
    coef = beta.sum(axis=0)
    support = np.flatnonzero(coef)
    return exact_scan(gram, None, support, coef[support], poll=poll)


def exact_scan(
    gram: Gram,
    rows: Ints | None,
    columns: Ints,
    coef: Floats,
    *,
    out: Floats | None = None,
    poll: Poll | None = None,
) -> Floats:
    """Scan in float64, as `Gram.scan`; scores of centred rows are those of the rows themselves."""
    score = gram.scan(rows, columns, coef, out=out, poll=poll)
    lacking = off_centre(gram, rows, rounded([exact_sum(coef)]))
    return score if isinstance(lacking, float) and lacking == 0.0 else score + lacking


def screens(rows: int, support: int) -> bool:
    """Return whether so many rows with a zero coefficient are first scored in float32."""
    return rows * support > _SCREENING_VALUES


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
    drift : mapping
        Bounds on the distance of the present point from points that were examined before, by
        their numbers.
    """

    grow: Floats
    shrink: Floats
    drift: Mapping[int, float] = field(default_factory=dict)


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
        Score of each row, and bound on its error in addition to `rounding`.
    state : ndarray of int8, shape (n,)
        What is known of the score of each row (earlier_scores.py).
    begun : bool
        True if the scores of the support vectors are known.
    counts : list of int
        Number of rows that each screening scored in float64.
    drift : float
        Bound on the distance from the point examined before.
    rounding : float
        Bound on the rounding error of a float64 score.
    sharp : ndarray of shape (n,), or None
        Bounds on the errors of scores with more digits than those of float64.
    """

    begun: bool
    counts: list[int]
    drift: float
    sharp: Floats | None

    def __init__(
        self, gram: Gram, rows: int, columns: Ints, coef: Floats, poll: Poll | None
    ) -> None:
        self.gram, self.columns, self.coef, self.poll = gram, columns, coef, poll
        self.score, self.error = (_core.zeros(rows, gram.threads) for _ in range(2))
        self.state: NDArray[np.int8] = np.full(rows, UNKNOWN, dtype=np.int8)
        self.begun, self.counts, self.drift = False, [], np.inf
        self._change: Change | None = None
        self._before = self._updated = 0.0  # rounding of scores then, and of updated ones
        self.sharp, self._tight = None, False

    @property
    def exact(self) -> Bools:
        """Mask of the float64 scores."""
        return np.asarray(self.state == EXACT)

    @property
    def current(self) -> Bools:
        """Mask of the rows that were scored at the present point."""
        return np.asarray(self.state >= ROUGH)

    @cached_property
    def from_scratch(self) -> float:
        """Bound on the rounding error of a float64 score from all coefficients."""
        coef = self.coef
        size, net = float(np.abs(coef).sum()), rounded([exact_sum(coef)])
        return float(self.gram.score_error(len(coef), size, net))

    @property
    def rounding(self) -> float:
        if self.sharp is not None:
            return float(np.max(self.sharp, initial=0.0))
        return max(self.from_scratch, self._updated)

    def sharpen(self) -> bool:
        """Compute all scores with more digits, if the kernel allows it; return whether it does.

        Sets: score, error and state.
        """
        found = accurate_scan(self.gram, self.columns, self.coef, self.poll)
        if found is None:
            return False
        score, self.sharp = found
        self.given(score)
        self.error[:] = 0.0
        return True

    # -- scores of an earlier examination ----------------------------------------------------------

    def record(self, point: Examined) -> Record:
        """Return what is kept of the examination of a point."""
        before = None if self._change is None else self._change.before
        counts = tuple(self.counts)
        roundings, arrays = (self._before, self.rounding), (self.score, self.error, self.state)
        return Record(point, before, counts, self.drift, roundings, lambda: arrays)

    def resume(self, record: Record, change: Change | None) -> None:
        """Continue an examination of the present point. Sets: everything that changes."""
        self.begun, self.counts, self.drift = True, list(record.counts), record.drift
        self.score, self.error, self.state = record.load()
        self._change, (self._before, self._updated) = change, record.roundings

    def recall(self, record: Record, change: Change) -> None:
        """Use scores of an examination of another point. Sets: everything that changes.

        `change` is what the coefficients have changed by since.
        """
        self.score, self.error, self.state = record.load()
        past = np.flatnonzero((self.state == OLDER) | (self.state == LAST))
        moved = record.drift * lengths(self.gram, past)
        with np.errstate(invalid="ignore"):  # an infinite drift leaves nothing known
            self.error[past] += moved + record.roundings[0]
        self.state[past] = OLDER
        self.state[self.state >= ROUGH] = LAST
        self.state[~(np.isfinite(self.error) & np.isfinite(self.score))] = UNKNOWN
        self.score[self.state == UNKNOWN] = self.error[self.state == UNKNOWN] = 0.0
        self._change, self._before = change, record.roundings[1]

    @property
    def _updates(self) -> Change | None:
        """The change, if scores may be updated by it."""
        change = self._change
        if change is None or len(change.values) >= len(self.coef):
            return None
        most = _LARGEST_ROUNDING * self.from_scratch
        return change if self._rounding_of_updates <= most else None

    @property
    def _rounding_of_updates(self) -> float:
        """Bound on the rounding error of float64 scores that are updated.

        The changes are rounded, too: twice the bound on their sum covers both. The rounding of the
        updated score itself is less than that of a score from scratch.
        """
        assert self._change is not None
        values = self._change.values
        size, net = float(np.abs(values).sum()), rounded([exact_sum(values)])
        more = float(self.gram.score_error(len(values), size, net))
        return self._before + 2.0 * more + self.from_scratch

    # -- scores of the present point ---------------------------------------------------------------

    def given(self, score: Floats) -> None:
        """Accept exact scores of all rows. Sets: score and state."""
        self.score = score
        self.state[:], self.begun = EXACT, True

    def begin(self, support: Ints) -> None:
        """Compute the scores of support vectors, or of all rows if screening saves no time.

        Where all values take a device less time than a call, the others count as estimated without
        an error. Sets: score and state.
        """
        rows, self.begun = len(self.score), True
        if not screens(rows - len(support), len(self.coef)):
            self.settle(np.arange(rows))
        elif self._change is None and rows * len(self.coef) <= self.gram.values_per_call:
            self.score = exact_scan(self.gram, None, self.columns, self.coef, poll=self.poll)
            self.state[:] = ROUGH
            self.state[support] = EXACT
        else:
            self.settle(support)

    def settle(self, rows: Ints) -> None:
        """Compute scores in float64. Sets: score, error and state of the rows."""
        done = (self.state[rows] == ROUGH) & (self.error[rows] == 0.0)  # in `begin`
        self.state[rows[done]], rows = EXACT, rows[~done]
        if len(rows) == 0:
            return
        updates = self._updates
        if updates is not None:
            known = _exact_last(self.state[rows], self.error[rows])
            mine, rows = rows[known], rows[~known]
            if len(mine):
                self.score[mine] = exact_scan(
                    self.gram,
                    mine,
                    updates.columns,
                    updates.values,
                    out=self.score[mine],
                    poll=self.poll,
                )
                self.state[mine], self._updated = EXACT, self._rounding_of_updates
        self.score[rows] = exact_scan(self.gram, rows, self.columns, self.coef, poll=self.poll)
        self.state[rows], self.error[rows] = EXACT, 0.0

    def screen(self, dual: Dual, limits: Limits) -> int:
        """Compute scores that may affect the figures in float64; return their number.

        Sets: score, error, state, counts and drift.
        """
        if self._change is not None:
            self.drift = limits.drift.get(self._change.before.version, np.inf)
        rows = self._pending(dual, limits)
        self.settle(rows)
        self.counts.append(len(rows))
        return len(rows)

    def _pending(self, dual: Dual, limits: Limits) -> Ints:
        """Return the rows to be scored in float64. Sets: score, error and state of the others."""
        rest = _core.places(self.state < EXACT, self.gram.threads)
        known = self.state[rest]
        if known.any():  # otherwise nothing is known of any row
            rest = self.doubtful(dual, rest, limits)
            known = self.state[rest]
        rough = known != ROUGH
        if self._updates is not None:  # these are updated in float64 at once
            rough &= ~_exact_last(known, self.error[rest])
        if not rough.any():
            return rest
        more = rest if rough.all() else rest[rough]
        sample = np.random.default_rng(0).choice(more, min(_SAMPLE_ROWS, len(more)), replace=False)
        if not _float32_pays(self, dual, sample, limits):
            return rest
        self._estimate(more if self._updates is None else more[self.state[more] != ROUGH])
        return self.doubtful(dual, rest, limits)

    def _estimate(self, rows: Ints) -> bool:
        """Compute scores in float32, if a bound on their error is known.

        Sets: score, error and state.
        """
        updates = self._updates
        if updates is not None:
            last = self.state[rows] == LAST
            if last.any() and not self._estimate_change(rows[last], updates):
                return False
            rows = rows[~last]
        rough = self.gram.rough_scan(
            rows, self.columns, self.coef, tight=self._tight, poll=self.poll
        )
        if rough is None:
            return False
        self.score[rows], self.error[rows] = rough
        self.state[rows] = ROUGH
        return True

    def _estimate_change(self, rows: Ints, change: Change) -> bool:
        """Update float32 scores of the last examination. Sets: score, error and state."""
        rough = self.gram.rough_scan(
            rows, change.columns, change.values, tight=self._tight, poll=self.poll
        )
        if rough is None:
            return False
        self.score[rows] += rough[0]
        self.error[rows] += rough[1] + self._rounding_of_updates
        self.state[rows] = ROUGH
        return True

    def bounds(self) -> Floats:
        """Return bounds on the errors of all scores in addition to `rounding`, not to be changed.

        They include the change since scores of earlier points, and are infinite for rows without a
        score.
        """
        if self.state.min(initial=EXACT) >= ROUGH:
            return self.error
        error = np.where(self.state == UNKNOWN, np.inf, self.error)
        past = np.flatnonzero((self.state == OLDER) | (self.state == LAST))
        if len(past):
            with np.errstate(invalid="ignore"):  # an infinite drift of a row of length zero
                error[past] += self.drift * lengths(self.gram, past) + self._before
            error[np.isnan(error)] = np.inf
        return error

    def doubtful(self, dual: Dual, rows: Ints, limits: Limits) -> Ints:
        """Return those of some rows with zero coefficients that may violate or have a loss."""
        error = self.error if (self.state[rows] >= ROUGH).all() else self.bounds()
        limit, threads = (limits.grow, limits.shrink), self.gram.threads
        return _core.rows_that_matter(dual.native(), rows, self.score, error, 0.0, *limit, threads)


def _exact_last(state: NDArray[np.int8], error: Floats) -> Bools:
    """Return the mask of rows with float64 scores of the last examination."""
    return np.asarray((state == LAST) & (error == 0.0))


def _float32_pays(scores: Scores, dual: Dual, sample: Ints, limits: Limits) -> bool:
    """Return whether a bound on float32 scores leaves few enough rows of a sample in doubt.

    Sets: score, error and state of the sample, and which bound the scores use.
    """
    doubt = 1.0
    for tight in (False, True):
        scores._tight = tight
        if not scores._estimate(sample):
            return False
        doubt = len(scores.doubtful(dual, sample, limits)) / len(sample)
        if doubt < _LOOSE_FRACTION:
            break
    return doubt < FLOAT64_FRACTION
