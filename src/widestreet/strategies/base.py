"""The contract between the working-set engine and its strategies.

A strategy is a frozen dataclass of its parameters. It sees a Situation and answers with a
Proposal; it computes no kernel value and holds no row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from widestreet.arrays import Bools, Floats, Ints
from widestreet.shard import SurveyOrder

MARGIN = 0.4  # of tol: aimed at on either side of the bias, so that rounding does not matter


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
    support : ndarray of bool, shape (size,)
        Which rows of the working set are support vectors.
    free : ndarray of bool, shape (size,)
        Which of them are strictly inside their box.
    newest : ndarray of bool, shape (size,)
        Which of them entered last.
    slack : ndarray of shape (size,)
        How far each row of the working set is from violating.
    violators : ndarray
        Ids drawn by the last survey.
    excess : ndarray
        By how much each of them violates.
    complete : bool
        Whether the last survey visited every row.
    """

    round: int
    rows: int
    capacity: int
    tol: float
    violation: float
    support: Bools
    free: Bools
    newest: Bools
    slack: Floats
    violators: Ints
    excess: Floats
    complete: bool


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
    """

    drop: Bools
    add: Ints
    inner_tol: float
    survey: SurveyOrder


class Strategy(Protocol):
    """Picks the rows of each round."""

    def start(self, rows: int, capacity: int) -> int:
        """Return how many rows the first working set has."""
        ...

    def propose(self, situation: Situation, rng: np.random.Generator) -> Proposal:
        """Return what the next round does."""
        ...

    def finished(self, situation: Situation) -> bool:
        """Return whether nothing is left to do, as far as the surveys tell."""
        ...
