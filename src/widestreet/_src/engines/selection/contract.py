"""The contract between the working-set engine and its strategies.

A strategy is a frozen dataclass of its parameters. For every fit it begins a Search, which sees a
Situation and answers with a Proposal; neither computes a kernel value or holds a row. What else a
strategy can do it declares: `solves_small`, and `solve` if rounds of the working-set engine are not
how it solves a problem.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Protocol, TypeAlias

import numpy as np

from widestreet._src.arrays import Bools, Floats, Ints
from widestreet._src.engines.solution import Solution
from widestreet._src.problems.goal import Goal
from widestreet._src.shards.survey import SurveyOrder


@dataclass(frozen=True, eq=False)
class Situation:
    """What a strategy may know when it is asked for the next round.

    Attributes
    ----------
    round : int
        Rounds finished.
    rows : int
        Rows of the problem.
    capacity : int
        Rows the working set may hold.
    tol : float
        Violation to reach.
    violation : float
        Largest violation seen in the last round.
    ids : ndarray of int, shape (size,)
        Rows of the working set.
    support : ndarray of bool, shape (size,)
        Which rows of the working set are support vectors.
    free : ndarray of bool, shape (size,)
        Which of them are strictly inside their box.
    newest : ndarray of bool, shape (size,)
        Which of them entered last.
    moved : bool
        Whether these changed the solution. If not, all coefficients are at a bound, the bias has
        an interval to itself, and they violated only its middle: they wait for rows that violate
        on the other side. Dropped for these, the two would never meet.
    slack : ndarray of shape (size,)
        How far each row of the working set is from violating.
    violators : ndarray
        Ids drawn by the last survey.
    excess : ndarray
        By how much each of them violates.
    found : int
        Violators that the last survey came across, drawn or not.
    visited : int
        Rows that it visited.
    complete : bool
        Whether that was every row.
    """

    round: int
    rows: int
    capacity: int
    tol: float
    violation: float
    ids: Ints
    support: Bools
    free: Bools
    newest: Bools
    moved: bool
    slack: Floats
    violators: Ints
    excess: Floats
    found: int
    visited: int
    complete: bool

    @property
    def goal(self) -> Goal:
        """The tolerances of the solve."""
        return Goal(self.tol)

    @property
    def solved(self) -> bool:
        """Return whether every row was visited and no violation exceeds the goal."""
        return self.complete and self.goal.met(self.violation)


@dataclass(frozen=True, eq=False)
class Proposal:
    """The next round.

    Attributes
    ----------
    drop : ndarray of bool, shape (size,)
        Rows that leave the working set.
    add : ndarray
        Ids of rows that enter it.
    inner_tol : float
        Violation to reach within the working set.
    survey : SurveyOrder
        What to look for afterwards.
    patient : bool
        Whether rounds like this one come to an end by themselves, so that gaining nothing is no
        reason to stop.
    """

    drop: Bools
    add: Ints
    inner_tol: float
    survey: SurveyOrder
    patient: bool = False


Notes: TypeAlias = dict[str, Any]


class RowSource(Protocol):
    """What a search may ask of all rows, to begin with."""

    @property
    def rows(self) -> int:
        """How many there are."""
        ...

    def draw(self, size: int, rng: np.random.Generator) -> Ints:
        """Return random rows; of classes, at least a quarter of each sign if there are enough."""
        ...

    def pair(self) -> Ints:
        """Return the first two rows that violate against each other, of each group."""
        ...


class Search(Protocol):
    """Picks the rows of each round of one fit."""

    def start(self, rows: int, capacity: int) -> int:
        """Return how many rows the first working set has."""
        ...

    def draw(self, source: RowSource, size: int, rng: np.random.Generator) -> Ints:
        """Return the first rows, about `size` of them."""
        ...

    def propose(self, situation: Situation, rng: np.random.Generator) -> Proposal:
        """Return what the next round does."""
        ...

    def observe(self, situation: Situation) -> Notes:
        """Look at what a round found; return what its record should say beside the usual."""
        ...

    def finished(self, situation: Situation) -> bool:
        """Return whether nothing is left to do, as far as the surveys tell."""
        ...

    def enough(self, situation: Situation) -> bool:
        """Return whether the fit was asked to end here, optimal or not."""
        ...


class Context(Protocol):
    """A problem and the engines that can solve it."""

    def by_rounds(self, strategy: Strategy) -> Solution:
        """Return the solution of the working-set engine."""
        ...

    def by_samples(self, strategy: Any) -> Solution:
        """Return the solution of the sampling engine, which takes a WeightedSampling."""
        ...


class Strategy:
    """Base of the strategies.

    Attributes
    ----------
    solves_small : bool
        Whether a problem whose first working set is all of it may be solved in one native call,
        without asking the strategy. A subclass that overrides anything must declare it anew.
    """

    solves_small: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.solves_small = vars(cls).get("solves_small", False)

    def search(self) -> Search:
        """Return a search that has seen nothing yet."""
        raise TypeError(f"{type(self).__name__} must override search, or solve")

    def solve(self, context: Context) -> Solution:
        """Solve a problem: by rounds of the working-set engine."""
        return context.by_rounds(self)


class Stateless(Strategy):
    """A strategy that needs no memory from round to round: it is its own search."""

    def search(self) -> Any:
        """Return itself."""
        return self

    def draw(self, source: RowSource, size: int, rng: np.random.Generator) -> Ints:
        """Return random rows."""
        return source.draw(size, rng)

    def observe(self, situation: Situation) -> Notes:
        """Add nothing to the record."""
        return {}

    def enough(self, situation: Situation) -> bool:
        """Return False: it goes on to the end."""
        return False


def require_at_least(name: str, value: Any, least: int) -> None:
    """Refuse a parameter that is not a whole number of at least `least`."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}")


def require_number(name: str, value: Any, fits: Callable[[float], bool], what: str) -> None:
    """Refuse a parameter that is no number or does not fit; `what` says which would."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    if not number or not fits(value):
        raise ValueError(f"{name} must be {what}, got {value!r}")


def require_flag(name: str, value: Any) -> None:
    """Refuse a parameter that is not True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {value!r}")


def make_room(
    situation: Situation, drop: Bools, limit: int, newcomers: int, rng: np.random.Generator
) -> Bools:
    """Rows to drop so that the set has at most `limit`, given those that are dropped anyway.

    Support vectors at a bound make way for up to half a set of newcomers, those farthest from
    violating first, but those that came last go last: two rows that violate against each other
    must meet. Free ones make way only for a quarter, at random, which happens when the memory
    is too small for all of them.
    """
    if len(drop) - int(drop.sum()) + newcomers <= limit:
        return drop
    drop = drop.copy()
    for movable, share, urgency in (
        (~situation.free, limit // 2, np.where(situation.newest, -np.inf, situation.slack)),
        (situation.free, max(1, limit // 4), rng.random(len(drop))),
    ):
        excess = len(drop) - int(drop.sum()) + min(newcomers, share) - limit
        candidates = np.flatnonzero(movable & ~drop)
        if excess > 0 and len(candidates):
            order = np.argsort(-urgency[candidates], kind="stable")
            drop[candidates[order[:excess]]] = True
    return drop
