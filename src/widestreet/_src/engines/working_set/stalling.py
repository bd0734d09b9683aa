"""When the working-set engine stalls: attempts that fail, and rounds without progress."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

import numpy as np

_IDLE_PASSES = 5  # passes over the support vectors without progress before the point is checked
_ROUNDING_OF_OBJECTIVE = 1e-14  # of the objective: smaller gains are rounding
_NOTABLE_DECREASE = 0.9  # of the violation: a violation below this is progress


@dataclass(eq=False)
class Attempts:
    """Attempts that did not halve the best value so far.

    Attributes
    ----------
    best : float
    failures : int
        Number of attempts since the last one that did.
    """

    best: float = np.inf
    failures: int = 0

    def count(self, value: float) -> int:
        """Count an attempt; return the number of failures since the last success. Sets: all."""
        self.failures = 0 if value < 0.5 * self.best else self.failures + 1
        self.best = min(self.best, value)
        return self.failures


@dataclass(eq=False)
class Progress:
    """Best objective and violation so far, and the number of rounds that improved neither.

    A round that only visited more rows, or that enlarged the working set, is busy. It does not
    count as a round without improvement, unless the objective has overflowed.

    If support vectors are outside the working set, a round improves only a part of the point. The
    violation then rises and falls from round to round. Progress is therefore judged over passes,
    in which every support vector can enter the working set.
    """

    objective: float = -np.inf
    violation: float = np.inf
    idle: int = 0

    def stuck(self, objective: float, violation: float, busy: bool, pass_rounds: float) -> bool:
        """Return whether neither has improved for some passes. Sets: everything.

        Parameters
        ----------
        objective, violation : float
        busy : bool
        pass_rounds : float
            Number of rounds of a pass.
        """
        gained = objective - self.objective > _ROUNDING_OF_OBJECTIVE * abs(objective)
        if gained or violation < _NOTABLE_DECREASE * self.violation:
            self.idle = 0
        else:
            self.idle += not (busy and isfinite(objective))
        self.objective = objective if gained else self.objective  # so that small gains add up
        self.violation = min(self.violation, violation)
        return self.idle >= _IDLE_PASSES * pass_rounds
