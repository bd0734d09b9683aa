"""Pairs of classes: their order, their signs, and the layout of their coefficients.

With k classes there is one problem for each pair, in the order (0, 1), (0, 2), ..., (1, 2), ... of
scikit-learn. The layout of `dual_coef_` is that of LIBSVM: k - 1 lines, and line l of a row of
class c belongs to the pair of c and the l-th of the other classes. So the pair (i, j), i < j, has
line j - 1 of the rows of class i and line i of the rows of class j.

The positive class of a decision value is the second of two classes, and the first of each pair of
more than two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from scipy import sparse

from widestreet._src.arrays import Bools, Floats, Ints


@dataclass(frozen=True)
class PairLayout:
    """Layout of the pairs of `classes` classes.

    Attributes
    ----------
    classes : int
        At least one; one class has no pairs and one line of zeros.
    """

    classes: int

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """Classes of each pair."""
        return list(combinations(range(self.classes), 2))

    @cached_property
    def number(self) -> dict[tuple[int, int], int]:
        """Number of the pair of two classes, in either order."""
        found = {pair: p for p, pair in enumerate(self.pairs)}
        return found | {(j, i): p for (i, j), p in found.items()}

    @cached_property
    def first(self) -> Ints:
        """First class of each pair."""
        return np.triu_indices(self.classes, 1)[0]

    @cached_property
    def second(self) -> Ints:
        """Second class of each pair."""
        return np.triu_indices(self.classes, 1)[1]

    @property
    def lines(self) -> int:
        """Number of lines of `dual_coef_`."""
        return max(1, self.classes - 1)

    @property
    def sign_of_first(self) -> float:
        """Sign of the first class of every pair."""
        return -1.0 if self.classes <= 2 else 1.0

    def line(self, one: int, other: int) -> int:
        """Return the line of rows of class `one` that belongs to its pair with class `other`."""
        return other - 1 if other > one else other

    # -- coefficients ------------------------------------------------------------------------------

    def scatter(self, coefs: Sequence[Floats], members: Sequence[Ints], rows: int) -> Floats:
        """Return lines of `dual_coef_` from the coefficients of each pair.

        Parameters
        ----------
        coefs : sequence of ndarray
            Coefficients of each pair, those of its first class first.
        members : sequence of ndarray
            Columns of the rows of each class.
        rows : int
            Number of columns.
        """
        found = np.zeros((self.lines, rows))
        for (i, j), coef in zip(self.pairs, coefs, strict=True):
            size = len(members[i])
            found[self.line(i, j), members[i]] = coef[:size]
            found[self.line(j, i), members[j]] = coef[size:]
        return found

    def gather(self, lines: Floats, members: Sequence[Ints]) -> list[Floats]:
        """Return the coefficients of each pair from lines of `dual_coef_`: undo `scatter`."""
        return [
            np.concatenate([lines[self.line(i, j), members[i]], lines[self.line(j, i), members[j]]])
            for i, j in self.pairs
        ]

    def by_line_and_class(self, values: Floats) -> Floats:
        """Return the value of each pair at all lines and classes where it has coefficients.

        Parameters
        ----------
        values : ndarray of shape (pairs,)

        Returns
        -------
        ndarray of shape (lines, classes)
        """
        found = np.ones((self.lines, self.classes))
        found[self.second - 1, self.first] = found[self.first, self.second] = values
        return found

    def sums(self, parts: Floats) -> Floats:
        """Add the contributions of the two classes of each pair to its decision value.

        Parameters
        ----------
        parts : ndarray of shape (classes, lines, ...)
            Sums of each line of `dual_coef_` over the support vectors of each class.

        Returns
        -------
        ndarray of shape (pairs, ...)
        """
        found: Floats = parts[self.first, self.second - 1] + parts[self.second, self.first]
        return found

    def coefficients(self, coef: Floats, n_support: Ints) -> Floats:
        """Return the coefficients of all support vectors for each pair, of shape (pairs, n).

        Parameters
        ----------
        coef : ndarray of shape (lines, n)
            Lines of `dual_coef_`.
        n_support : ndarray
            Support vectors of each class.
        """
        if self.classes <= 2:
            return coef
        ends = np.cumsum(n_support)
        members = [slice(end - size, end) for end, size in zip(ends, n_support, strict=True)]
        found = np.zeros((len(self.pairs), coef.shape[1]))
        for line, (i, j) in zip(found, self.pairs, strict=True):
            line[members[i]] = coef[self.line(i, j), members[i]]
            line[members[j]] = coef[self.line(j, i), members[j]]
        return found

    def linear_weights(self, coef: Any, vectors: Any, n_support: Ints) -> Any:
        """Return the weights of the features for each pair.

        Parameters
        ----------
        coef : ndarray or CSR of shape (lines, n)
            Lines of `dual_coef_`.
        vectors : ndarray or CSR of shape (n, features)
            Support vectors, those of one class after the other.
        n_support : ndarray
            Support vectors of each class.

        Returns
        -------
        ndarray or CSR of shape (pairs, features)
        """
        if self.classes <= 2:
            return coef @ vectors
        ends = np.cumsum(n_support)
        parts = [slice(end - size, end) for end, size in zip(ends, n_support, strict=True)]
        if not sparse.issparse(coef):
            return self.sums(np.array([coef[:, part] @ vectors[part] for part in parts]))
        found = [
            coef[[self.line(i, j)], parts[i]] @ vectors[parts[i]]
            + coef[[self.line(j, i)], parts[j]] @ vectors[parts[j]]
            for i, j in self.pairs
        ]
        return sparse.vstack(found).tocsr()

    # -- votes -------------------------------------------------------------------------------------

    def _against_each(self, first: Any, second: Any) -> Any:
        """Return the values of both classes of each pair, indexed [row, class, other class]."""
        table = np.zeros((len(first), self.classes, self.classes), dtype=first.dtype)
        table[:, self.first, self.second], table[:, self.second, self.first] = first, second
        return table

    def votes(self, won: Bools) -> Ints:
        """Count the votes of each row for each class.

        Parameters
        ----------
        won : ndarray of shape (n, pairs)
            True where the first class of a pair has the vote.
        """
        counted: Ints = self._against_each(won, ~won).sum(axis=2, dtype=np.int64)
        return counted

    def most_votes(self, decision: Floats) -> Ints:
        """Return the class with the most votes; of several, the first.

        Zero is a vote for the second class of a pair.

        Parameters
        ----------
        decision : ndarray of shape (n, pairs)
        """
        winner: Ints = self.votes(decision > 0).argmax(axis=1)
        return winner

    def one_vs_rest(self, decision: Floats) -> Floats:
        """Return a value per class: its votes plus at most a third of a vote for its confidence.

        The confidence is the sum of the decision values. Zero is a vote for the first class of a
        pair; together with `most_votes`, this is what scikit-learn does.

        Parameters
        ----------
        decision : ndarray of shape (n, pairs)
        """
        confidence = self._against_each(decision, -decision).sum(axis=2)
        bounded = confidence / (3 * (np.abs(confidence) + 1))
        value: Floats = self.votes(decision >= 0) + bounded
        return value
