"""The dual problem of the rows of an online estimator."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from widestreet._src.arrays import Floats
from widestreet._src.problems.dual import Dual
from widestreet._src.problems.formulations import DualFormulation


@dataclass(frozen=True)
class OnlineProblem:
    """A formulation over rows whose targets are values or the indices of two classes.

    Attributes
    ----------
    formulation : DualFormulation
    first : int or None
        Index of the negative class; None if targets are values.
    factors : tuple of float
        Class weights of the negative and the positive class.
    """

    formulation: DualFormulation
    first: int | None = None
    factors: tuple[float, float] = (1.0, 1.0)

    def dual(self, target: Floats, weight: Floats) -> Dual:
        """Return the dual of rows with these targets and weights."""
        if self.first is None:
            return self.formulation.dual(target, self.formulation.box(weight))
        sign, box = self._signs(target, weight)
        return self.formulation.feasible(sign, box).dual(sign, box)

    def feasible(self, target: Floats, weight: Floats) -> DualFormulation:
        """Return the formulation with the nearest feasible parameters."""
        if self.first is None:
            return self.formulation
        return self.formulation.feasible(*self._signs(target, weight))

    def is_feasible(self, target: Floats, weight: Floats) -> bool:
        """Return whether the parameters are feasible for the rows."""
        return self.feasible(target, weight) == self.formulation

    def _signs(self, target: Floats, weight: Floats) -> tuple[Floats, Floats]:
        negative = target == self.first
        box = self.formulation.box(weight * np.where(negative, *self.factors))
        return np.where(negative, -1.0, 1.0), box
