"""Training of an ensemble of two classes, whose size is chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Callable as Function
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from widestreet._src.arrays import Bools, Floats
from widestreet._src.engines.budget import Budget
from widestreet._src.engines.multiplicative.ensemble_mean import best_size, sufficient_size
from widestreet._src.engines.multiplicative.exponentiated_gradient import (
    MultiplicativeEngine,
    Projection,
    Trajectory,
    solve_together,
)
from widestreet._src.engines.multiplicative.line_search import logarithms, tilted
from widestreet._src.engines.solution import Observer
from widestreet._src.kernels.gram_products import Product
from widestreet._src.status import Status
from widestreet._src.training.ensemble_plan import Pair, Plan


@dataclass(frozen=True, eq=False)
class Training:
    """Engines over the rows of a pair of classes, with or without held-out rows.

    Attributes
    ----------
    pair : Pair
    plan : Plan
    product : Product
    length : ndarray
        sqrt(K(x, x)) of each row.
    budget : Budget
    kernel_values : callable
    """

    pair: Pair
    plan: Plan
    product: Product
    length: Floats
    budget: Budget
    kernel_values: Function[[], int]

    def solve(self, observe: Observer) -> tuple[Trajectory, int]:
        """Return the points of the engine over all rows, and the size of the ensemble."""
        by_folds, folds, most = self.plan.aggregate == "ensemble", list[Trajectory](), inf
        if by_folds and self.plan.until_chosen:
            folds = self.folds(self._first_margin())
            most = sufficient_size([one.errors for one in folds])
        path = self.engine(observe, most=most).solve()
        if not by_folds or path.status != Status.APPROXIMATE:
            return path, max(path.means)
        size, _, status = self.best_size(path, folds or self.folds(path.margin))
        return replace(path, status=status), size

    def _first_margin(self) -> Floats:
        """Return the margins of the Parzen window."""
        sign, (weight, _) = self.pair.sign, tilted(logarithms(self.pair.prior))
        return sign * self._product(sign * weight)

    @property
    def _product(self) -> Product:
        return _raised(self.product) if self.plan.intercept else self.product

    def engine(
        self, observe: Observer | None, out: Bools | None = None, most: float = inf
    ) -> MultiplicativeEngine:
        """Return an engine, which takes no step for a Parzen window.

        Parameters
        ----------
        observe : callable or None
        out : ndarray of bool, optional
            Mask of held-out rows, on which the error of the ensemble is measured.
        most : float, optional
            The engine ends when the ensemble has more members.
        """
        plan, prior = self.plan, self.pair.prior
        parzen = plan.aggregate == "parzen"
        return MultiplicativeEngine(
            self._product,
            self.pair.sign,
            prior if out is None else np.where(out, 0.0, prior),
            Projection(start=0.0, least=1.0) if parzen else plan.pace,
            length=self.length,
            budget=self.budget if out is None else self._fold_budget(),
            observer=observe,
            kernel_values=self.kernel_values,
            keep=plan.keep and out is None,
            judged=None if out is None else np.where(out, prior, 0.0),
            most=most,
        )

    def _fold_budget(self) -> Budget:
        """Return the budget of a fold: the remaining time, and all steps."""
        return self.budget.part(reserve=self.budget.reserve, max_steps=self.budget.max_steps)

    def folds(self, margin: Floats) -> list[Trajectory]:
        """Return the points of an engine for each fold, without the rows of the fold.

        Parameters
        ----------
        margin : ndarray
            Margins of the Parzen window.
        """
        return solve_together([self.engine(None, out) for out in self._folds(margin)])

    def best_size(self, path: Trajectory, folds: list[Trajectory]) -> tuple[int, float, Status]:
        """Return the size with the smallest cross-validation error, this error, and the status.

        The size is that of all members, and the error infinite, if there are too few rows, or too
        little time, for folds.
        """
        stopped = {one.status for one in folds} & {Status.TIME_LIMIT, Status.INTERRUPTED}
        if stopped or not folds:
            return max(path.means), inf, min(stopped, default=path.status)
        return *best_size(sorted(path.means), [one.errors for one in folds]), path.status

    def _folds(self, margin: Floats) -> Iterator[Bools]:
        """Yield masks of folds, stratified by class and by the margin of the Parzen window.

        They depend on the rows and not on their order.
        """
        sign = self.pair.sign
        classes = [np.flatnonzero(sign == side) for side in (1.0, -1.0)]
        count = min(self.plan.folds, *map(len, classes))
        if count < 2:
            return
        number = np.zeros(len(sign), dtype=np.int64)
        for rows in classes:
            number[rows[np.argsort(margin[rows], kind="stable")]] = np.arange(len(rows)) % count
        for fold in range(count):
            yield number == fold


def _raised(product: Product) -> Product:
    """Return the product with 1 + K."""
    return lambda coef: product(coef) + coef.sum(axis=-1, keepdims=True)
