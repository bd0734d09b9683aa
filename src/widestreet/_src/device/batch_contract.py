"""Protocol of many problems whose working sets a device solves side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from widestreet._src.arrays import Floats


@dataclass(frozen=True, eq=False)
class Standings:
    """State of all problems, arrays with one entry each.

    Attributes
    ----------
    steps : ndarray
        Pair steps since the start.
    highest, lowest : ndarray
        Largest F where a coefficient may grow, and smallest F where it may shrink.
    free, violators : ndarray
        Numbers of coefficients strictly between their bounds and zero, and of others that violate.
    values : ndarray
        Kernel values computed since the start.
    """

    steps: Floats
    highest: Floats
    lowest: Floats
    free: Floats
    violators: Floats
    values: Floats

    @property
    def violation(self) -> Floats:
        return self.highest - self.lowest


@dataclass(frozen=True)
class Extent:
    """How far the pair steps of a block go.

    Attributes
    ----------
    goal : float
        Problems that violate by more take steps, until they nearly violate by no more.
    part, part_of_all : float
        Part of the violation at which they end earlier; the second if all rows that are free or
        violate are in the block. If all rows of a problem are in it, they do not end earlier.
    most : int
        Largest number of steps of a problem.
    limit : int
        Largest number of steps of a problem since the start.
    """

    goal: float
    part: float
    part_of_all: float
    most: int
    limit: int


class Batch(Protocol):
    """Problems in the memory of a device, each with rows and variables of its own."""

    def look(self) -> Standings:
        """Return the state of all problems."""
        ...

    def pairs(self, width: int, to: Extent) -> Standings:
        """Take pair steps in one block of each problem that is not solved; update the scores.

        Parameters
        ----------
        width : int
            Number of rows of a block, a power of two. The blocks have all rows of problems of no
            more rows. Others have random rows that are free or violate, those that violate most
            among them.
        to : Extent
        """
        ...

    def refresh(self) -> Standings:
        """Compute the scores of all rows in float64."""
        ...

    def result(self) -> tuple[Floats, Floats]:
        """Return the coefficients and scores of all rows, those of one problem after another."""
        ...
