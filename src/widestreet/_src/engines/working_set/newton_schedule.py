"""Schedule of Newton steps between pair steps.

A Newton step is due when the pair steps since the last one have cost as many operations as it will,
times a factor that depends on the progress of earlier Newton steps. The work is therefore never
much more than that of the better of the two methods. With few free variables the Newton step is the
exact one of newton.py, which leaves them at their maximiser; otherwise that of proximal_newton.py.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from widestreet._src.engines.working_set.newton import polish
from widestreet._src.engines.working_set.proximal_newton import MOST, leap, taking_part
from widestreet._src.engines.working_set.tile import WorkingSet

FEW_FREE = 512  # free variables up to which Newton steps are exact
_STEP_COST = 35.0  # of a pair step per row of its block, in flops of a factorisation
_LEAST_BLOCK = 512  # rows of a block
_LEAST_STEPS = 1000  # pair steps always allowed before a Newton step
_EAGER = 0.5  # smallest factor for proximal steps: some pair steps after one are very effective
_USEFUL = 0.5  # a proximal step is useful if the violation falls below this fraction by the next


@dataclass
class Pacing:
    """Cost of the pair steps so far, and of the next Newton step."""

    exact_factor: float = 16.0  # exact steps are cut at the first bound: rarely useful early
    proximal_factor: float = _EAGER
    _cost: float = np.inf  # of the next Newton step, with its factor
    _pace: float = 0.0  # cost of a pair step
    _spent: float = 0.0
    _few: bool = True
    _last: float = np.inf  # violation at the last proximal step

    def begin(self) -> None:
        """Start with a new working set. Sets: the cost so far."""
        self._spent, self._last = 0.0, np.inf

    def allowance(self, work: WorkingSet, tol: float) -> int:
        """Return the number of pair steps before the next Newton step can be due."""
        free = int(work.free().sum())
        self._few = free <= FEW_FREE
        order = max(1, free) if self._few else taking_part(work, tol)
        factor = self.exact_factor if self._few else self.proximal_factor
        self._cost = factor * float(order) ** 3 / 3 if order <= MOST else np.inf
        self._pace = _STEP_COST * min(work.size, max(_LEAST_BLOCK, free))
        return max(_LEAST_STEPS, 1 + int(min(2.0**62, (self._cost - self._spent) / self._pace)))

    def spend(self, steps: int) -> None:
        """Count pair steps."""
        self._spent += steps * self._pace

    @property
    def due(self) -> bool:
        return self._spent > self._cost

    def newton(self, work: WorkingSet, tol: float, violation: float) -> None:
        """Take a Newton step and adapt its factor. Sets: beta and score of the working set."""
        if self._few:
            self.exact_factor = max(1.0, self.exact_factor * (0.5 if polish(work) else 4.0))
        else:
            useful = leap(work, tol) and violation < _USEFUL * self._last
            self.proximal_factor = max(_EAGER, self.proximal_factor * (0.5 if useful else 2.0))
            self._last = violation
        self._spent = 0.0
