"""The certificate of one dual as a sum over parts of its rows.

A part holds some rows with their variables and coefficients, and answers questions. The answers of
all parts are merged into an examination of all rows (examine_point.py). With F = t - u:

    extremes    per group  high = max F where beta < upper  and  low = min F where beta > lower,
                and the sums of the dual objective: this gives violation, dual and infeasibility
    band        between two biases: sums over the variables whose loss has no kink there, and a list
                of the few others: this gives bias and primal
    slopes      sums of the best coefficients at some biases, to narrow a band with too many kinks
    screen      scores in float64 of rows that may affect the figures, given extremes and biases
    disagrees   comparison of some scores with a second computation
    sharpen     scores of all rows with more digits; this and `screen` change a part

Questions about rounding errors are in bounds_despite_rounding.py.

The best bias lies between low and high. Let sum beta = total. The slope of the primal at b is the
sum of (beta - c(b)) with the best coefficients c(b). For b > high, each variable has F < b or
beta = upper. Either implies c(b) <= beta, so the slope is not negative. Likewise, for b < low it is
not positive. If sum beta differs from total, or a row with a diagonal term has two nonzero
coefficients, the band may be too narrow; the slope at its ends shows this.

A question is a function of a part, made of methods of `Part` and `functools.partial`, so that
questions and answers can be pickled. A part stores its scores between questions. They depend only
on the limits it was screened with, so a part that was lost and made again repeats these screenings
and gives the same answers, up to the rounding of scores that were updated (earlier_scores.py).
Sums are returned without rounding (exact_sums.py), so that the figures of an examination do not
depend on how the rows are divided.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import Protocol, TypeVar

import numpy as np

from widestreet import _core
from widestreet._src.arrays import Bools, Floats, Ints
from widestreet._src.certificate.exact_sums import Terms, difference, exact_sum
from widestreet._src.certificate.float64_where_needed import Limits, Scores
from widestreet._src.certificate.loss_of_bias import Band, Variables, band
from widestreet._src.certificate.spot_check import disagrees
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.poll import Poll
from widestreet._src.problems.dual import Dual, select

UNIT = 2.0**-53  # unit roundoff of float64
OVERFLOW = float(np.finfo(np.float64).max)  # bounds that overflow; infinity means wrong scores

Answer = TypeVar("Answer")


class Parts(Protocol):
    """All parts of a dual, wherever they are."""

    def ask(self, question: Callable[[Part], Answer]) -> list[Answer]:
        """Return the answers of all parts to a question that changes none of them, in order."""
        ...

    def screen(self, limits: Limits) -> list[int]:
        """Screen the rows of all parts; return how many each scored in float64."""
        ...


@dataclass(frozen=True, eq=False)
class Extremes:
    """First answer of a part, about its rows with exact scores.

    Attributes
    ----------
    rows, pending : int
        Number of all rows of the part, and of those without an exact score.
    known : bool
        True if all exact scores are finite.
    high, low : ndarray of shape (groups,)
        Largest F of the variables that may grow, smallest F of those that may shrink.
    least, most : ndarray of shape (groups,)
        Smallest and largest kink of the loss.
    linear, norm, squares : Terms
        Sums of t beta, of c u and of d c^2.
    beta, width : tuple of Terms
        Sums of the coefficients and of the widths of the boxes of each group, over all rows.
    outside : float
        Largest distance of a coefficient from its box, relative to the width of the box.
    rounding : float
        Bound on the error of a difference of two F.
    """

    rows: int
    pending: int
    known: bool
    high: Floats
    low: Floats
    least: Floats
    most: Floats
    linear: Terms
    norm: Terms
    squares: Terms
    beta: tuple[Terms, ...]
    width: tuple[Terms, ...]
    outside: float
    rounding: float


@dataclass(frozen=True, eq=False)
class _Box:
    """Figures of a part that do not depend on scores."""

    beta: tuple[Terms, ...]
    width: tuple[Terms, ...]
    outside: float


@dataclass(frozen=True, eq=False)
class _Exact:
    """The rows with exact scores. All support vectors are among them."""

    dual: Dual
    beta: Floats
    score: Floats

    @cached_property
    def coef(self) -> Floats:
        """Coefficients c of the rows."""
        return np.asarray(self.beta.sum(axis=0))

    @cached_property
    def own(self) -> Floats:
        """Contributions of the diagonal term to the scores."""
        d = self.dual.diagonal
        return np.zeros(self.dual.rows) if d is None else d * self.coef

    def high(self, F: Floats, group: int) -> float:
        """Return the largest F of the variables of a group that may grow."""
        inside = (self.dual.group == group) & (self.beta < self.dual.upper)
        return float(np.max(F[inside], initial=-np.inf))

    def low(self, F: Floats, group: int) -> float:
        """Return the smallest F of the variables of a group that may shrink."""
        inside = (self.dual.group == group) & (self.beta > self.dual.lower)
        return float(np.min(F[inside], initial=np.inf))

    def variables(self, group: int) -> Variables:
        """Return the variables of a group."""
        dual, mine = self.dual, self.dual.group == group
        d = None
        if dual.diagonal is not None:
            d = np.broadcast_to(dual.diagonal, mine.shape)[mine]
        f = dual.indicator(self.score - self.own)[mine]
        return Variables(f, dual.lower[mine], dual.upper[mine], d)


class Part:
    """Some rows of a dual with their coefficients.

    Parameters
    ----------
    gram : Gram
        Kernel values between the rows (left) and all support vectors (right), with the diagonal
        term of the dual if that has one.
    dual : Dual
        Variables of the rows, with the totals of all rows.
    beta : ndarray of shape (layers, n)
    columns : ndarray
        Positions of the support vectors among the right rows of the Gram matrix.
    coef : ndarray
        Coefficients of all support vectors.
    score : ndarray of shape (n,), optional
        Exact scores, if they are already known.
    poll : Poll, optional

    Attributes
    ----------
    scores : Scores
    """

    def __init__(
        self,
        gram: Gram,
        dual: Dual,
        beta: Floats,
        columns: Ints,
        coef: Floats,
        score: Floats | None = None,
        poll: Poll | None = None,
    ) -> None:
        self.gram, self.dual, self.beta = gram, dual, beta
        self.scores = Scores(gram, dual.rows, columns, coef, poll)
        self._kept: dict[int, Variables] = {}  # of the rows with exact scores, by group
        self._known: _Exact | None = None  # these rows; None if they have changed
        if score is not None:
            self.scores.given(score)

    @classmethod
    def whole(
        cls,
        gram: Gram,
        dual: Dual,
        beta: Floats,
        score: Floats | None = None,
        poll: Poll | None = None,
    ) -> Part:
        """Return all rows of a dual as one part, with the arguments of `examine`."""
        coef = beta.sum(axis=0)
        support = np.flatnonzero(coef)
        return cls(gram, dual, beta, support, coef[support], score, poll)

    def sharpen(self) -> bool:
        """Compute all scores with more digits, if the kernel allows it; return whether it does.

        A part that is made again has scores in float64, with their larger bounds. Sets: scores.
        """
        self.begin()
        self._forget()
        return self.scores.sharpen()

    def repeat(self, screens: Sequence[Limits]) -> int:
        """Screen with each of these limits, unless that was done before.

        Return how many rows the last screening scored in float64. Sets: scores.
        """
        self.begin()
        for limits in screens[len(self.scores.counts) :]:
            self.screen(limits)
        return self.scores.counts[len(screens) - 1] if screens else 0

    def begin(self) -> None:
        """Score the support vectors in float64. Sets: scores."""
        if not self.scores.begun:
            self.scores.begin(self._support)

    # -- questions -------------------------------------------------------------------------------

    @np.errstate(over="ignore", invalid="ignore")  # infinite values prove nothing
    def extremes(self) -> Extremes:
        """Return the extremes of the rows with exact scores, at first the support vectors."""
        self.begin()
        exact, groups = self._exact, range(self.dual.groups)
        F = exact.dual.indicator(exact.score)
        ends = [self._variables(g).ends for g in groups]
        return Extremes(
            rows=self.dual.rows,
            pending=self.dual.rows - exact.dual.rows,
            known=bool(np.isfinite(exact.score).all()),
            high=np.array([exact.high(F, g) for g in groups]),
            low=np.array([exact.low(F, g) for g in groups]),
            least=np.array([least for least, _ in ends]),
            most=np.array([most for _, most in ends]),
            linear=exact_sum((exact.dual.target * exact.beta).ravel()),
            norm=exact_sum(exact.coef * exact.score),
            squares=exact_sum(exact.coef * exact.own),
            beta=self._box.beta,
            width=self._box.width,
            outside=self._box.outside,
            rounding=self._rounding(),
        )

    def band(self, group: int, a: float, z: float, most: int | None) -> Band:
        """Return the loss of a group between two biases, with at most `most` variables listed."""
        with np.errstate(over="ignore", invalid="ignore"):
            return band(self._variables(group), a, z, most)

    def slopes(self, group: int, pivots: Floats) -> Floats:
        """Return the sum of the best coefficients of a group just right of some biases."""
        variables = self._variables(group)
        return np.array([variables.coefficient(b, right=True).sum() for b in pivots])

    def screen(self, limits: Limits) -> int:
        """Score rows in float64 that may affect the figures; return their number. Sets: scores."""
        self.begin()
        self._forget()
        return self.scores.screen(self.dual, limits)

    def disagrees(self, rows: int | None = None) -> bool:
        """Return whether scores differ from a second computation by more than rounding.

        `rows` is the number of rows of all parts; None means that this is the only one.
        """
        scores = self.scores
        return disagrees(
            self.gram,
            scores.columns,
            scores.coef,
            scores.score,
            scores.bounds(),
            self.dual.rows if rows is None else rows,
            scores.poll,
        )

    # -- variables -------------------------------------------------------------------------------

    @property
    def _exact(self) -> _Exact:
        """The rows with exact scores. Sets: known."""
        if self._known is None:
            dual, beta, score = self.dual, self.beta, self.scores.score
            at = _core.places(self.scores.exact, self.gram.threads)
            if len(at) < dual.rows:
                dual, beta, score = select(dual, at), np.take(beta, at, axis=1), score[at]
            self._known = _Exact(dual, beta, score)
        return self._known

    def _forget(self) -> None:
        """Drop what depends on the rows with exact scores. Sets: kept, known."""
        self._kept.clear()
        self._known = None

    @cached_property
    def may_grow(self) -> Bools:
        return np.asarray(self.beta < self.dual.upper)

    @cached_property
    def may_shrink(self) -> Bools:
        return np.asarray(self.beta > self.dual.lower)

    @property
    def indicator(self) -> Floats:
        """F of all variables."""
        return self.dual.indicator(self.scores.score)

    @property
    def sizes(self) -> Floats:
        """Sum of the absolute values of the terms of F, row by row."""
        return np.asarray(np.abs(self.dual.target).max(axis=0) + np.abs(self.scores.score))

    def _variables(self, group: int) -> Variables:
        """Return the variables of a group whose scores are exact."""
        self.begin()
        if group not in self._kept:
            self._kept[group] = self._exact.variables(group)
        return self._kept[group]

    @cached_property
    def _support(self) -> Ints:
        """Rows with a nonzero coefficient."""
        beta = self.beta
        used = np.asarray(beta[0] != 0 if len(beta) == 1 else beta.any(axis=0))
        return _core.places(used, self.gram.threads)

    @cached_property
    def _box(self) -> _Box:
        """Sums and distances that show how well the coefficients satisfy the constraints."""
        dual, groups, rows = self.dual, range(self.dual.groups), self._support
        if dual.lower.max(initial=0.0) > 0 or dual.upper.min(initial=0.0) < 0:
            rows = np.arange(dual.rows)  # zero is not in every box
        used, beta = select(dual, rows), self.beta[:, rows]
        width = used.upper - used.lower
        outside = np.maximum(beta - used.upper, used.lower - beta) / np.where(width > 0, width, 1.0)
        return _Box(
            tuple(exact_sum(beta[used.group == g]) for g in groups),
            tuple(_width(dual, g, self.gram.threads) for g in groups),
            float(np.max(outside, initial=0.0)),
        )

    def _rounding(self) -> float:
        """Return a bound on the error of a difference of two F, for all rows."""
        exact = self._exact
        terms = np.abs(exact.dual.target).max(axis=0, initial=0.0) + np.abs(exact.score)
        sizes = np.max(terms, initial=0.0)
        rounding = 2.0 * self.scores.rounding + 4.0 * UNIT * float(sizes)
        return rounding if isfinite(rounding) else OVERFLOW


def _width(dual: Dual, group: int, threads: int) -> Terms:
    """Return the sum of the widths of the boxes of a group."""
    mine = slice(None) if dual.groups == 1 else dual.group == group
    upper, lower = (exact_sum(end[mine].ravel(), threads) for end in (dual.upper, dual.lower))
    return difference(upper, lower)
