"""Searches in rounds that drop candidates: by rows (halving) and by folds (racing).

Halving, with a factor q:

    1) evaluate all candidates on n / q^s rows, with weights multiplied by q^s, so that C means the
       same as with all rows
    2) keep the best ceil(m / q) of m; repeat with q times as many rows
    3) evaluate those that are left on all rows

Racing: after the first folds, and again after further ones, a candidate is dropped if its scores
are worse than those of the best one by the corrected resampled t-test (Nadeau and Bengio,
"Inference for the generalization error", Machine Learning 52, 2003), at the level 0.01: with m
folds so far and the differences d of their scores,

    mean(d) > t(0.99, m - 1) sqrt((1 / m + test rows / training rows) var(d)).

Equal differences, as in folds of one row, estimate no variance: the candidate stays.

Both can drop the candidate that all folds of all rows would have chosen.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil, floor, log
from typing import Any

import numpy as np
from scipy.stats import t as student
from sklearn.utils import _safe_indexing

from widestreet._src.arrays import Floats, Ints
from widestreet._src.stacklevel import level_of_caller
from widestreet._src.tuning.plan import Plan

_LEAST_ROWS = 300  # of a round of halving
_FIRST_FOLDS = 3  # before the first test
_FIRST_TEST_ROWS = 30  # in these folds together
_ROUNDING = 1e-12  # part of the scores; a smaller standard deviation of differences is none
_LEVEL = 0.99


@dataclass(eq=False)
class Rounds:
    """A search in rounds.

    Attributes
    ----------
    plan : Plan
        All candidates and folds. It receives the results of the rounds with all rows.
    score : callable
        Returns the scores of a plan that was run, of shape (candidates, folds); nan if there is
        none.
    racing : bool
    halving : int or None
        Factor between the numbers of rows, and of candidates.
    n_rows, n_folds : ndarray of shape (candidates,)
        Rows and folds of the last round of each candidate.
    last_score : ndarray of shape (candidates,)
        Mean score in that round.
    """

    plan: Plan
    score: Callable[[Plan], Floats]
    racing: bool
    halving: int | None
    n_rows: Ints = field(init=False)
    n_folds: Ints = field(init=False)
    last_score: Floats = field(init=False)

    def __post_init__(self) -> None:
        count = len(self.plan.candidates)
        self.n_rows, self.n_folds = (np.zeros(count, dtype=np.int64) for _ in range(2))
        self.last_score = np.full(count, np.nan)

    def run(self) -> None:
        """Run all rounds. Sets: results of the plan, and those of the rounds.

        OutOfBudget or KeyboardInterrupt is raised if the search is stopped.
        """
        left = list(range(len(self.plan.candidates)))
        for rows in self._sizes():
            part = self._part_of_rows(left, rows)
            part.run()
            scores = self._noted(part, left, rows)
            order = np.argsort(-np.nan_to_num(scores, nan=-np.inf), kind="stable")
            if np.isfinite(scores).any():
                assert self.halving is not None
                left = sorted(left[k] for k in order[: ceil(len(left) / self.halving)])
        for folds in self._groups_of_folds():
            part = self._part_of_folds(left, folds)
            try:
                part.run()
            finally:
                self._keep(part, left, folds)
            left = self._not_worse(left, folds.stop)

    # -- halving -----------------------------------------------------------------------------------

    @cached_property
    def _rows(self) -> int:
        X = self.plan.X
        return int(X.shape[0]) if hasattr(X, "shape") else len(X)

    def _sizes(self) -> list[int]:
        """Return the number of rows of each round before the last."""
        q = self.halving
        if q is None:
            return []
        most = log(max(1.0, self._rows / _LEAST_ROWS), q)
        rounds = floor(min(most, log(len(self.plan.candidates), q)) + 1e-9)
        return [round(self._rows / q**k) for k in range(rounds, 0, -1)]

    @cached_property
    def _order(self) -> Ints:
        """All rows in a random order whose beginnings have all classes in equal parts."""
        plan, rng = self.plan, np.random.default_rng(0)
        code = np.zeros(self._rows, dtype=np.int64)
        if plan.y is not None and hasattr(plan.machine.estimator, "class_weight"):
            code = np.unique(np.asarray(plan.y), return_inverse=True)[1]
        place = np.empty(self._rows)
        for one in np.unique(code):
            mine = np.flatnonzero(code == one)
            place[rng.permutation(mine)] = (np.arange(len(mine)) + rng.random()) / len(mine)
        return np.argsort(place, kind="stable")

    def _part_of_rows(self, left: list[int], rows: int) -> Plan:
        """Return the plan of some candidates on some rows."""
        plan, some = self.plan, np.sort(self._order[:rows])
        position = np.full(self._rows, -1)
        position[some] = np.arange(rows)
        splits = [(_kept(position[train]), _kept(position[test])) for train, test in plan.splits]
        X = _safe_indexing(plan.X, some)
        if plan.machine.estimator.kernel == "precomputed":
            X = _safe_indexing(X, some, axis=1)
        weight: Any = np.ones(self._rows) if plan.sample_weight is None else plan.sample_weight
        factor = self._rows / rows
        return replace(
            plan,
            X=X,
            data=None if plan.data is None else plan.data.part(some, factor),
            y=None if plan.y is None else _safe_indexing(plan.y, some),
            sample_weight=np.asarray(_safe_indexing(weight, some)) * factor,
            candidates=[plan.candidates[k] for k in left],
            splits=splits,
            tell=lambda part: None,
            found={},
        )

    # -- racing ------------------------------------------------------------------------------------

    def _groups_of_folds(self) -> Iterator[slice]:
        """Yield the folds of each round with all rows."""
        count, begin = len(self.plan.splits), 0
        if not self.racing:
            yield slice(0, count)
            return
        tested = np.cumsum([len(test) for _, test in self.plan.splits])
        size = max(_FIRST_FOLDS, int(np.searchsorted(tested, _FIRST_TEST_ROWS)) + 1)
        while begin < count:
            end = min(count, begin + size)
            yield slice(begin, end)
            begin, size = end, end

    def _part_of_folds(self, left: list[int], folds: slice) -> Plan:
        """Return the plan of some candidates in some folds."""
        plan = self.plan
        count = len(plan.splits)
        return replace(
            plan,
            candidates=[plan.candidates[k] for k in left],
            splits=plan.splits[folds],
            tell=lambda part: plan.tell((folds.start + part * (folds.stop - folds.start)) / count),
            found={},
        )

    def _keep(self, part: Plan, left: list[int], folds: slice) -> None:
        """Take over the results of a round with all rows. Sets: plan, results of the round."""
        plan = self.plan
        plan.found |= {(left[k], folds.start + f): found for (k, f), found in part.found.items()}
        plan.seconds[left, folds], plan.violation[left, folds] = part.seconds, part.violation
        done = [k for k, complete in zip(left, part.complete, strict=True) if complete]
        self.n_rows[done], self.n_folds[done] = self._rows, folds.stop

    def _not_worse(self, left: list[int], folds: int) -> list[int]:
        """Return the candidates that are not worse than the best. Sets: last_score."""
        so_far = self._part_of_folds(left, slice(0, folds))
        so_far.found = {
            (at, f): self.plan.found[k, f]
            for at, k in enumerate(left)
            for f in range(folds)
            if (k, f) in self.plan.found
        }
        scores = self.score(so_far)
        self.last_score[left] = mean = scores.mean(axis=1)
        if folds == len(self.plan.splits) or not np.isfinite(mean).any():
            return left
        best, size = np.nanargmax(mean), np.abs(scores).max(axis=1)
        difference = scores[best] - scores
        train, test = (sum(map(len, part)) for part in zip(*self.plan.splits[:folds], strict=True))
        spread = difference.std(axis=1, ddof=1)
        error = spread * np.sqrt(1.0 / folds + test / train)
        worse = difference.mean(axis=1) > student.ppf(_LEVEL, folds - 1) * error
        worse &= spread > _ROUNDING * np.maximum(size, size[best])
        return [k for k, dropped in zip(left, worse, strict=True) if not dropped]

    def _noted(self, part: Plan, left: list[int], rows: int) -> Floats:
        """Return the mean scores of a round of halving. Sets: results of the round.

        They are means over the folds in which all candidates have a score, since a fold of few rows
        can have none. A candidate without a score in any fold has the mean nan.
        """
        scores = self.score(part)
        known = ~np.isnan(scores)
        some = known.any(axis=1)
        common = known[some].all(axis=0)
        mean = np.full(len(left), np.nan)
        if some.any() and common.any():
            mean[some] = scores[np.ix_(some, common)].mean(axis=1)
        else:
            warnings.warn(
                f"halving drops no candidate on {rows} rows: there is no fold in which all of them "
                "have a score",
                UserWarning,
                stacklevel=level_of_caller(),
            )
        self.n_rows[left], self.n_folds[left] = rows, len(part.splits)
        self.last_score[left] = mean
        return mean

    # -- results -----------------------------------------------------------------------------------

    @property
    def figures(self) -> dict[str, Any]:
        """Entries of `cv_results_` that say which candidates were dropped, and when."""
        whole = (self.n_rows == self._rows) & (self.n_folds == len(self.plan.splits))
        return {
            "dropped": ~whole,
            "n_rows": self.n_rows,
            "n_folds": self.n_folds,
            "last_score": self.last_score,
        }


def _kept(position: Ints) -> Ints:
    """Return the positions of rows that are there."""
    return position[position >= 0]
