"""The optimum of nu-SVR, kept by the published algorithm INSVR as rows are added.

The batch engine and a homotopy compute the optimum of the first rows. Every further row is added by
INSVR. INSVR has no weights and cannot remove rows: a row of weight two is two samples, and a row of
weight zero is none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import sqrt

import numpy as np

from widestreet._src.arrays import Floats, Ints
from widestreet._src.engines.homotopy.parametric_optimum import order_after_removal
from widestreet._src.engines.insvr.insvr import Insvr
from widestreet._src.engines.insvr.three_stages import StageCounts
from widestreet._src.estimators.online.optimum import Optimum, WithoutRow, no_limit
from widestreet._src.estimators.online.path_optimum import PathOptimum
from widestreet._src.estimators.online.problem import OnlineProblem
from widestreet._src.estimators.online.row_store import RowStore
from widestreet._src.problems.formulations import NuSVR
from widestreet._src.training.settings import Settings

_AT_BOUND = 1e-12  # of C: distance from a bound that counts as rounding


class InsvrOptimum(Optimum):
    """The optimum of nu-SVR over rows with integer weights, kept by INSVR.

    Parameters
    ----------
    store, members, settings
        Same as for `Optimum`.
    problem : OnlineProblem
        Problem whose formulation is a `NuSVR`.
    beta : ndarray, optional
        Variables at the optimum, if they are known.

    Attributes
    ----------
    counts, last : StageCounts
        Counts of INSVR since it began, and in the last change.
    """

    def __init__(
        self,
        store: RowStore,
        members: Ints,
        problem: OnlineProblem,
        settings: Settings,
        beta: Floats | None = None,
    ) -> None:
        super().__init__(store, members, problem, settings)
        self.counts, self.last = StageCounts(), StageCounts()
        self._check_room(members)
        self._load(PathOptimum(store, members, problem, settings, beta))

    @property
    def _formulation(self) -> NuSVR:
        assert isinstance(self.problem.formulation, NuSVR)
        return self.problem.formulation

    def _load(self, start: PathOptimum) -> None:
        """Start from an optimum of the homotopy. Sets: insvr, rows."""
        wanted, upper = self._formulation, start.make_dual().upper[0]
        self._insvr = Insvr(wanted.C, wanted.nu, wanted.scaling)
        self._rows = np.repeat(np.arange(len(self.members)), self._repeats(self.members))
        at = self.members[self._rows]
        alpha = wanted.C * np.abs(start.beta[:, self._rows]) / upper[self._rows]
        try:
            self._insvr.load(self.store.block(at, at), self.store.target[at], alpha, _AT_BOUND)
        except (ValueError, np.linalg.LinAlgError) as error:
            raise RuntimeError(f'{error}; method="path" can train on such data') from error

    def _check_room(self, members: Ints) -> None:
        """Raise ValueError if the kernel values of the samples exceed the memory limit."""
        samples, most = float(self.store.weight[members].sum()), self.settings.max_memory
        if samples > sqrt(most / 8):
            raise ValueError(
                f"sample_weight: the kernel values of {samples:,.0f} samples need more memory than "
                f'max_memory={most:,}; method="path" does not repeat rows'
            )

    def _repeats(self, members: Ints) -> Ints:
        """Return the number of samples of each row."""
        return self.store.weight[members].astype(np.int64)

    # -- the present optimum -----------------------------------------------------------------------

    @property
    def beta(self) -> Floats:
        """Variables, by layer and row; variables at a bound equal it exactly."""
        dual, count = self.make_dual(), np.bincount(self._rows, minlength=len(self.members))
        upper, lower = (
            np.bincount(self._rows, part, len(count)) / np.maximum(count, 1)
            for part in self._insvr.alpha / self._insvr.C
        )
        return np.stack([upper * dual.upper[0], lower * dual.lower[1]])

    @property
    def bias(self) -> Floats:
        """Bias of each side of the tube."""
        bias, tube = self._insvr.bias, self._insvr.tube
        return np.array([bias + tube, bias - tube])

    @property
    def score(self) -> Floats:
        """Score of each row."""
        coef = self.coef
        support = np.flatnonzero(coef)
        return self.store.scan(self.members, self.members[support], coef[support])

    @property
    def steps(self) -> int:
        """Number of steps of all three stages."""
        return self.counts.ia + self.counts.raia + self.counts.sra

    # -- changes -----------------------------------------------------------------------------------

    def add(self, rows: Ints) -> None:
        """Add rows of the store one by one. Sets: insvr, members, rows, counts."""
        self._check_room(np.append(self.members, rows))
        self.update()
        for row in rows.tolist():
            self.members = np.append(self.members, row)
            for _ in range(self._repeats(self.members[-1:])[0]):
                self._add_sample()
        self.counts += self.last

    def _add_sample(self) -> None:
        """Add one more sample of the last row. Sets: insvr, rows, last."""
        self._rows = np.append(self._rows, len(self.members) - 1)
        at = self.members[self._rows]
        column = self.store.block(at[-1:], at)[0]
        self._insvr.add(column[:-1], float(column[-1]), float(self.store.target[at[-1]]))
        self.last += self._insvr.last

    def update(self) -> None:
        """Solve again with the batch engine if the parameters changed. Sets: insvr, last."""
        self.last = StageCounts()
        now = self._insvr
        if self._formulation != NuSVR(now.C, now.nu, now.scaling):
            self._load(PathOptimum(self.store, self.members, self.problem, self.settings))

    def drop(self, gone: Ints) -> None:
        """Remove rows of weight zero, given by position in the store. Sets: members, rows."""
        order = order_after_removal(len(self.members), np.flatnonzero(np.isin(self.members, gone)))
        now = np.zeros(len(self.members), dtype=np.int64)
        now[order] = np.arange(len(order))
        self.members, self._rows = self.members[order], now[self._rows]

    # -- leave-one-out -----------------------------------------------------------------------------

    def each_without(
        self, look: Callable[[], None] = no_limit
    ) -> Iterator[tuple[int, WithoutRow | None]]:
        """Yield the position of each row in the store, and the optimum without it, by homotopy."""
        here = PathOptimum(self.store, self.members, self.problem, self.settings, self.beta)
        return here.each_without(look)
