"""The problems of all pairs of classes over the same rows, and their scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from widestreet._src.arrays import Floats, Ints
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.poll import Poll
from widestreet._src.problems.class_pairs import PairLayout
from widestreet._src.training.problem import Problem

_SHARING_PAYS = 1e6  # multiply-adds per pair above which sharing kernel values justifies more calls


@dataclass(frozen=True, eq=False)
class PairProblems:
    """Problems of all pairs of classes.

    Attributes
    ----------
    members : list of ndarray
        Indices of the rows of each class among all rows.
    problems : list of Problem
        Problems in the order of `pairs`; the rows of the first class come first.
    """

    members: list[Ints]
    problems: list[Problem]

    @cached_property
    def layout(self) -> PairLayout:
        """Layout of the pairs of classes."""
        return PairLayout(len(self.members))

    def rows(self, pair: int) -> Ints:
        """Return the indices of the rows of a pair among all rows."""
        i, j = self.layout.pairs[pair]
        return np.concatenate([self.members[i], self.members[j]])

    def halves(self, pair: int, values: Floats) -> tuple[Floats, Floats]:
        """Split an array, whose last axis runs over the rows of a pair, by its two classes."""
        first = len(self.members[self.layout.pairs[pair][0]])
        return values[..., :first], values[..., first:]

    def by_class(self, coefs: Sequence[Floats]) -> list[Floats]:
        """Return the coefficients as one matrix per class, of shape (classes - 1, rows).

        Line l of class c belongs to the pair of c and the l-th of the other classes, as in
        `dual_coef_`.
        """
        ends = np.cumsum([len(rows) for rows in self.members])
        here = np.split(np.arange(ends[-1]), ends[:-1])
        return np.split(self.layout.scatter(coefs, here, int(ends[-1])), ends[:-1], axis=1)

    def scores(
        self,
        gram: Gram,
        coefs: Sequence[Floats],
        threads: int = 1,
        poll: Poll | None = None,
    ) -> list[Floats]:
        """Return the scores K c of the rows of every pair in float64.

        Parameters
        ----------
        gram : Gram
        coefs : sequence of ndarray
            Coefficients of the rows of each pair.
        threads : int
            Number of pairs computed in parallel, if they are small.
        poll : Poll, optional
        """
        values = sum(len(coef) * np.count_nonzero(coef) for coef in coefs)
        if values * gram.cost > _SHARING_PAYS * len(coefs) or gram.native is None:
            return self._shared_scores(gram, self.by_class(coefs), poll)
        rows = [self.rows(p) for p in range(len(self.layout.pairs))]
        end = np.cumsum([len(both) for both in rows])
        coef = np.concatenate(coefs)
        score = gram.scan_parts(np.concatenate(rows), end, coef, threads, poll=poll)
        return np.split(score, end[:-1])

    def _shared_scores(self, gram: Gram, matrix: list[Floats], poll: Poll | None) -> list[Floats]:
        """Return scores that use each kernel value within a class for all pairs of that class."""
        k = len(self.members)
        sizes = [len(rows) for rows in self.members]
        found = [np.zeros(sizes[i] + sizes[j]) for i, j in self.layout.pairs]
        for c, rows in enumerate(self.members):
            support = matrix[c].any(axis=0)
            own = gram.scan(rows, rows[support], matrix[c][:, support], poll=poll)
            for line, other in enumerate(x for x in range(k) if x != c):
                p = self.layout.number[c, other]
                mine = self.halves(p, found[p])[int(c > other)]
                mine += own[line]
                theirs = matrix[other][self.layout.line(other, c)]
                used = np.flatnonzero(theirs)
                mine += gram.scan(rows, self.members[other][used], theirs[used], poll=poll)
        return found
