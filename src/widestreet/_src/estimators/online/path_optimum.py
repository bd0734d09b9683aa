"""The optimum of one dual, kept by a homotopy as rows, weights and parameters change."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache

import numpy as np

from widestreet._src.arrays import Bools, Floats, Ints
from widestreet._src.engines.budget import OutOfBudget
from widestreet._src.engines.homotopy.follow_breakpoints import SegmentObserver
from widestreet._src.engines.homotopy.parametric_optimum import Endpoint, ParametricOptimum
from widestreet._src.estimators.online.optimum import Optimum, WithoutRow, no_limit
from widestreet._src.estimators.online.problem import OnlineProblem
from widestreet._src.estimators.online.row_store import RowStore
from widestreet._src.problems.dual import Dual
from widestreet._src.problems.goal import Goal
from widestreet._src.status import Status
from widestreet._src.training.engine_sequence import train
from widestreet._src.training.problem import Problem
from widestreet._src.training.settings import Settings

_BATCH_TOL = 1e-5  # violation at which the homotopy takes over from the batch engine
_BATCH_STEPS, _BATCH_STEPS_PER_ROW = 1_000_000, 1000  # after which it takes over in any case
_EXTRA_COLUMNS = 64  # kernel columns cached in addition to one per free variable
_BATCH_FRACTION = 0.25  # fraction of new rows above which the batch engine is used


class PathOptimum(Optimum):
    """The optimum of a dual over some rows of a store, kept by a homotopy.

    Parameters
    ----------
    store, members, problem, settings
        Same as for `Optimum`.
    beta : ndarray, optional
        Variables at the optimum, if they are known.

    Attributes
    ----------
    observe : callable or None
        Called with every straight piece of the changes that follow; `path` is then at its start.
    """

    observe: SegmentObserver | None = None

    def __init__(
        self,
        store: RowStore,
        members: Ints,
        problem: OnlineProblem,
        settings: Settings,
        beta: Floats | None = None,
    ) -> None:
        super().__init__(store, members, problem, settings)
        if beta is None:
            self.path = self._solved(None)
        else:
            self.path = ParametricOptimum(self, store.gram.diag(members), self.make_dual(), beta)

    # -- the present optimum -----------------------------------------------------------------------

    @property
    def beta(self) -> Floats:
        """Variables, by layer and row."""
        return self.path.layered(self.path.beta)

    @property
    def bias(self) -> Floats:
        """Bias of each group."""
        return self.path.bias

    @property
    def score(self) -> Floats:
        """Score of each row."""
        return self.path.score

    @property
    def steps(self) -> int:
        """Number of straight pieces followed so far."""
        return self.path.counts.steps

    def block(self, I: Ints, J: Ints | None) -> Floats:
        """Return K[I, J]; J=None means all rows."""
        return self.store.block(self.members[I], self.members if J is None else self.members[J])

    def scan(self, J: Ints, coef: Floats) -> Floats:
        """Return K[:, J] @ coef."""
        return self.store.scan(self.members, self.members[J], coef)

    def _solved(self, beta: Floats | None) -> ParametricOptimum:
        """Solve with the batch engine, starting at `beta`, and return the parametric optimum."""
        dual = self.make_dual()
        gram = self.store.gram
        problem = Problem(dual)
        if beta is not None:
            problem = problem.starting_at(beta)
        most = _BATCH_STEPS + _BATCH_STEPS_PER_ROW * dual.rows
        settings = replace(self.settings, max_steps=most, goal=Goal(_BATCH_TOL))
        trained = train(
            self.store.kernel, gram.left, problem, settings, lambda record: None, self.members
        )
        if trained.solution.status == Status.INTERRUPTED:
            raise KeyboardInterrupt
        if trained.solution.status == Status.TIME_LIMIT:
            raise OutOfBudget(Status.TIME_LIMIT)
        self.store.kernel_values += trained.solution.kernel_values
        return ParametricOptimum(self, gram.diag(self.members), dual, trained.solution.beta)

    # -- changes -----------------------------------------------------------------------------------

    def add(self, rows: Ints) -> None:
        """Add rows of the store, and move to the optimum for the current weights and parameters.

        Sets: path, members.
        """
        before = len(self.members)
        self.members = np.concatenate([self.members, rows])
        dual = self.make_dual()
        if len(rows) > max(1.0, _BATCH_FRACTION * before):
            beta = np.zeros_like(dual.target)
            beta[:, :before] = self.beta
            self.path = self._solved(beta)
            return
        new = slice(before, None)
        self.path.extend(dual.target[:, new], dual.group[:, new], self.store.gram.diag(rows))
        self._follow(dual)

    def update(self) -> None:
        """Move to the optimum for the current weights and parameters. Sets: path."""
        self._follow(self.make_dual())

    def _follow(self, dual: Dual) -> None:
        end = Endpoint.of(dual)
        self.path.tighten(end)
        self.path.follow(end, self.observe)

    def drop(self, gone: Ints) -> None:
        """Remove rows of weight zero, given by position in the store. Sets: path, members."""
        mine = np.flatnonzero(np.isin(self.members, gone))
        if len(mine):
            self.members = self.members[self.path.drop(mine)]

    # -- leave-one-out -----------------------------------------------------------------------------

    def each_without(
        self, look: Callable[[], None] = no_limit
    ) -> Iterator[tuple[int, WithoutRow | None]]:
        """Yield the position of each row in the store, and the optimum without it."""
        target, weight = self.store.target[self.members], self.store.weight[self.members]
        fixed = not self.path.total.any() and all(self.path.free.groups_present(self.path.groups))
        idle = (self.coef == 0) & fixed  # otherwise a row on the margin may determine the bias
        last, kernel = (
            self._last(target, weight),
            Remembered(self, _EXTRA_COLUMNS + len(self.path.free)),
        )
        for at in np.flatnonzero(~idle & (weight > 0)):
            look()
            if last[at]:
                yield int(self.members[at]), None
                continue
            left = weight.copy()
            left[at] = 0.0
            path, end = self.path.clone(kernel), Endpoint.of(self.problem.dual(target, left))
            path.tighten(end)
            path.follow(end)
            coef = path.layered(path.beta).sum(axis=0)
            yield int(self.members[at]), WithoutRow(float(path.score[at]), coef, path.bias)

    def _last(self, target: Floats, weight: Floats) -> Bools:
        """Return the mask of rows that are the only ones of positive weight, or of their class."""
        last: Bools = np.zeros(len(target), dtype=bool)
        kinds = np.unique(target) if self.path.layers == 1 else target[:1]
        classes = [target == kind for kind in kinds] if len(kinds) == 2 else [True]
        for kind in classes:
            there = np.flatnonzero(kind & (weight > 0))
            last[there if len(there) else slice(None)] |= len(there) <= 1
        return last


class Remembered:
    """Kernel values of a problem with a cache of the most recent columns."""

    def __init__(self, exact: PathOptimum, columns: int) -> None:
        self.scan, self._block = exact.scan, exact.block
        self._column = lru_cache(columns)(lambda row: exact.block(np.array([row]), None))

    def block(self, I: Ints, J: Ints | None) -> Floats:
        """Return K[I, J]; J=None means all rows."""
        return self._column(int(I[0])) if J is None and len(I) == 1 else self._block(I, J)
