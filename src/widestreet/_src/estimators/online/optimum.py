"""Interface of algorithms that keep the optimum of one dual as its rows change."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from widestreet._src.arrays import Floats, Ints
from widestreet._src.certificate import Certificate, examine
from widestreet._src.estimators.online.problem import OnlineProblem
from widestreet._src.estimators.online.row_store import RowStore
from widestreet._src.kernels.gram import Gram
from widestreet._src.problems.dual import Dual
from widestreet._src.problems.goal import Goal
from widestreet._src.rows import as_rows
from widestreet._src.status import Status
from widestreet._src.training.settings import Settings


@dataclass(frozen=True, eq=False)
class ProblemSolution:
    """Coefficients of some rows of a store, and the biases that belong to them.

    Attributes
    ----------
    members : ndarray
        Positions of the rows in the store.
    coef : ndarray
        Summed coefficient of each of them.
    bias : ndarray
        Bias of each group.
    """

    members: Ints
    coef: Floats
    bias: Floats


@dataclass(frozen=True, eq=False)
class WithoutRow:
    """The optimum of a problem without one of its rows.

    Attributes
    ----------
    score : float
        Score of the row that was left out.
    coef : ndarray
        Summed coefficient of each row of the problem.
    bias : ndarray
        Bias of each group.
    """

    score: float
    coef: Floats
    bias: Floats


def no_limit() -> None:
    """Do nothing: leave-one-out without a limit. A function with a limit raises an error."""


class Optimum(ABC):
    """Base class: the optimum of a dual over some rows of a store.

    Parameters
    ----------
    store : RowStore
    members : ndarray
        Positions of the rows in the store.
    problem : OnlineProblem
        Definition of the dual.
    settings : Settings
        Settings of the batch engine, which computes the first optimum.
    """

    def __init__(
        self, store: RowStore, members: Ints, problem: OnlineProblem, settings: Settings
    ) -> None:
        self.store, self.members, self.problem, self.settings = store, members, problem, settings

    def make_dual(self) -> Dual:
        """Make the dual for the current rows."""
        return self.problem.dual(self.store.target[self.members], self.store.weight[self.members])

    def is_feasible(self) -> bool:
        """Return whether the parameters are feasible for the rows."""
        return self.problem.is_feasible(
            self.store.target[self.members], self.store.weight[self.members]
        )

    # -- defined by the subclasses -----------------------------------------------------------------

    @property
    @abstractmethod
    def beta(self) -> Floats:
        """Variables, by layer and row."""

    @property
    @abstractmethod
    def bias(self) -> Floats:
        """Bias of each group."""

    @property
    @abstractmethod
    def score(self) -> Floats:
        """Score of each row."""

    @property
    @abstractmethod
    def steps(self) -> int:
        """Number of steps taken so far."""

    @abstractmethod
    def add(self, rows: Ints) -> None:
        """Add rows of the store, and move to the optimum for the current weights and parameters."""

    @abstractmethod
    def update(self) -> None:
        """Move to the optimum for the current weights and parameters."""

    @abstractmethod
    def drop(self, gone: Ints) -> None:
        """Remove rows of weight zero, given by position in the store."""

    @abstractmethod
    def each_without(
        self, look: Callable[[], None] = no_limit
    ) -> Iterator[tuple[int, WithoutRow | None]]:
        """Yield the position of each row in the store, and the optimum without it.

        The second item is None if no problem remains without the row. Rows whose removal changes
        nothing are left out. `look` is called before each removal.
        """

    # -- derived quantities ------------------------------------------------------------------------

    @property
    def coef(self) -> Floats:
        """Summed coefficient of each row."""
        total: Floats = self.beta.sum(axis=0)
        return total

    @property
    def solution(self) -> ProblemSolution:
        """Coefficients and biases of the model."""
        return ProblemSolution(self.members, self.coef, self.bias)

    def certificate(self, tol: float) -> Certificate:
        """Return the certificate, computed over all rows from the coefficients."""
        rows = as_rows(self.store.X, centre=self.store.centre)
        gram = Gram(self.store.kernel, rows, threads=self.store.threads)
        goal = Goal(tol)
        found = examine(gram.select(self.members), self.make_dual(), self.beta, goal=goal)
        return found.certificate(Status.OPTIMAL, goal)
