"""The contract between the working-set engine and its strategies.

A strategy is a frozen dataclass of its parameters. For every fit it creates a Search. In every
round the engine passes a Situation to the Search and receives a Proposal. Neither of the two
computes a kernel value or holds a row. A strategy declares `solves_small` if small problems may be
solved without it. It overrides `solve` if it does not use rounds of the working-set engine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeAlias

import numpy as np

from widestreet._src.arrays import Bools, Floats, Ints
from widestreet._src.engines.solution import Solution
from widestreet._src.problems.goal import Goal
from widestreet._src.shards.survey_order import SurveyOrder


@dataclass(frozen=True, eq=False)
class Situation:
    """State of a fit after a round, from which a strategy chooses the next round.

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
        True if the newest rows changed the solution. Otherwise all coefficients are at a bound, an
        interval of biases is optimal, and the newest rows violate only at its middle. They must
        stay in the working set until rows that violate in the other direction enter it.
    slack : ndarray of shape (size,)
        Distance of each row of the working set from violating.
    violators : ndarray
        Ids of the violators that the last survey drew.
    excess : ndarray
        Violation of each of them.
    found : int
        Number of violators that the last survey found, drawn or not.
    visited : int
        Number of rows that the last survey visited.
    complete : bool
        True if the last survey visited every row.
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
        """Tolerances of the solve."""
        return Goal(self.tol)

    @property
    def solved(self) -> bool:
        """True if every row was visited and no violation exceeds the goal."""
        return self.complete and self.goal.met(self.violation)


@dataclass(frozen=True)
class Growth:
    """Rule by which a device that holds all rows enlarges the working set between two proposals.

    Attributes
    ----------
    first : int
        Violators that may enter at a time, whatever the size of the working set.
    looseness, keep_slack : float
        As the parameters of `Auto`.
    """

    first: int
    looseness: float
    keep_slack: float


@dataclass(frozen=True, eq=False)
class Proposal:
    """Instructions for the next round.

    Attributes
    ----------
    drop : ndarray of bool, shape (size,)
        Rows that leave the working set.
    add : ndarray
        Ids of rows that enter it.
    inner_tol : float
        Violation to reach within the working set.
    survey : SurveyOrder
        Survey that follows the solve.
    patient : bool
        True if the strategy ends such rounds by itself. The engine then does not stop when a round
        makes no progress.
    growth : Growth, optional
        If given, a device that holds all rows lets the working set grow until no row violates.
        Otherwise, and on the CPU, violators enter in the next round.
    """

    drop: Bools
    add: Ints
    inner_tol: float
    survey: SurveyOrder
    patient: bool = False
    growth: Growth | None = None


Notes: TypeAlias = dict[str, Any]


class RowSource(Protocol):
    """Source of the rows of the first working set."""

    @property
    def rows(self) -> int:
        """Number of rows."""
        ...

    def draw(self, size: int, rng: np.random.Generator) -> Ints:
        """Return random rows; of a classifier at least a quarter of each class, if possible."""
        ...

    def pair(self) -> Ints:
        """Return, for each group, the first two rows that violate against each other."""
        ...


class Search(Protocol):
    """State of a strategy during one fit; it chooses the rows of each round."""

    def start(self, rows: int, capacity: int) -> int:
        """Return the number of rows in the first working set."""
        ...

    def draw(self, source: RowSource, size: int, rng: np.random.Generator) -> Ints:
        """Return the first rows, about `size` of them."""
        ...

    def propose(self, situation: Situation, rng: np.random.Generator) -> Proposal:
        """Return the instructions for the next round."""
        ...

    def observe(self, situation: Situation) -> Notes:
        """Process the result of a round; return the notes for its trace record."""
        ...

    def finished(self, situation: Situation) -> bool:
        """Return whether the surveys so far show that no row violates."""
        ...

    def enough(self, situation: Situation) -> bool:
        """Return whether the fit shall end now with an approximate solution."""
        ...


class Context(Protocol):
    """A problem and the engines that can solve it."""

    def by_rounds(self, strategy: Strategy) -> Solution:
        """Return the solution of the working-set engine."""
        ...

    def by_rounds_or_interior(self, strategy: Strategy) -> Solution:
        """Return the solution of the working-set engine, or of the other one if that is slow."""
        ...

    def by_interior(self, strategy: Any) -> Solution:
        """Return the solution of the interior-point engine, which takes an Interior."""
        ...

    def by_samples(self, strategy: Any) -> Solution:
        """Return the solution of the sampling engine, which takes a WeightedSampling."""
        ...


class Strategy:
    """Base class of the strategies.

    Attributes
    ----------
    solves_small : bool
        True if a problem whose first working set contains all rows may be solved in one native
        call, without a search. It is not inherited: each subclass must declare it again.
    """

    solves_small: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.solves_small = vars(cls).get("solves_small", False)

    def search(self) -> Search:
        """Return a new search."""
        raise TypeError(f"{type(self).__name__} must override search, or solve")

    def on_device(self, rows: int) -> Strategy:
        """Return the strategy for a device that solves a problem of `rows` rows: itself."""
        return self

    def solve(self, context: Context) -> Solution:
        """Solve a problem by rounds of the working-set engine."""
        return context.by_rounds(self)


class Stateless(Strategy):
    """Base class of strategies without state: the strategy itself is the search."""

    def search(self) -> Any:
        """Return this strategy."""
        return self

    def draw(self, source: RowSource, size: int, rng: np.random.Generator) -> Ints:
        """Return random rows."""
        return source.draw(size, rng)

    def observe(self, situation: Situation) -> Notes:
        """Return no notes."""
        return {}

    def enough(self, situation: Situation) -> bool:
        """Return False: rounds continue until no row violates."""
        return False


def make_room(
    situation: Situation, drop: Bools, limit: int, newcomers: int, rng: np.random.Generator
) -> Bools:
    """Extend the mask of dropped rows so that the working set has at most `limit` rows.

    Up to two thirds of the set are freed by dropping support vectors at a bound. Those farthest
    from violating are dropped first, and the newest last, because two rows that violate against
    each other must be in the set together. Free support vectors are dropped at random, and only to
    free a quarter of the set. This happens if the memory is too small for all of them.
    """
    if len(drop) - int(drop.sum()) + newcomers <= limit:
        return drop
    drop = drop.copy()
    for movable, share, urgency in (
        (~situation.free, 2 * limit // 3, np.where(situation.newest, -np.inf, situation.slack)),
        (situation.free, max(1, limit // 4), rng.random(len(drop))),
    ):
        excess = len(drop) - int(drop.sum()) + min(newcomers, share) - limit
        candidates = np.flatnonzero(movable & ~drop)
        if excess > 0 and len(candidates):
            order = np.argsort(-urgency[candidates], kind="stable")
            drop[candidates[order[:excess]]] = True
    return drop
