"""The motion that moving bounds impose on the variables at them.

Along a homotopy the data have constant rates. A variable at a bound moves with the bound, which
changes scores and sums of groups as well. These rates change only when a variable changes its bound
state, and then by one kernel column.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from widestreet._src.arrays import Bools, Floats
from widestreet._src.engines.homotopy.path_state import FREE, LOWER, UPPER, PathState, by_row
from widestreet._src.problems.dual import Dual

_NEGLIGIBLE_TOTAL_RATE = 1e-12  # of the fastest bound: a slower total is left to `correct`
_SUM_ROUNDING = 1e-14  # of sum |beta|: rounding of a total


@dataclass(frozen=True, eq=False)
class Endpoint:
    """The data at theta = 1; None means no change."""

    target: Floats | None = None
    lower: Floats | None = None
    upper: Floats | None = None
    total: Floats | None = None

    @classmethod
    def of(cls, dual: Dual) -> Endpoint:
        """Return the endpoint at which the optimum is that of a dual."""
        return cls(by_row(dual.target), by_row(dual.lower), by_row(dual.upper), dual.total)


@dataclass(frozen=True, eq=False)
class DataRates:
    """Rates of change of the data by theta.

    Attributes
    ----------
    target, lower, upper, total : ndarray
    negligible_total : float
        A smaller rate of a total is rounding; it is zero in `total`.
    """

    target: Floats
    lower: Floats
    upper: Floats
    total: Floats
    negligible_total: float

    @classmethod
    def between(cls, state: PathState, end: Endpoint) -> DataRates:
        """Return the rates from the data of a state to an endpoint."""
        target = _difference(state.target, end.target)
        lower, upper = _difference(state.lower, end.lower), _difference(state.upper, end.upper)
        total = _difference(state.total, end.total)
        fastest = max(float(np.abs(lower).max(initial=0.0)), float(np.abs(upper).max(initial=0.0)))
        negligible = _NEGLIGIBLE_TOTAL_RATE * fastest
        negligible += _SUM_ROUNDING * float(np.abs(state.beta).sum())
        total[np.abs(total) <= negligible] = 0.0
        return cls(target, lower, upper, total, negligible)

    def moving_rows(self, layers: int) -> Bools:
        """Return the mask of rows whose data move."""
        moving = (self.target != 0) | (self.lower != 0) | (self.upper != 0)
        rows: Bools = moving.reshape(-1, layers).any(axis=1)
        return rows


class BoundMotion:
    """Rates of the variables at bounds, and of the scores and sums that depend on them.

    Attributes
    ----------
    beta : ndarray
        Rate of every variable; zero for free ones.
    score : ndarray
        Rate of the score of every row, K times the rates of its variables.
    total : ndarray
        Sum of the rates over each group.
    """

    beta: Floats
    score: Floats
    total: Floats

    def __init__(self, rates: DataRates, state: PathState) -> None:
        self.rates = rates
        self.recompute(state)

    def recompute(self, state: PathState) -> None:
        """Compute all rates from the bound states. Sets: everything."""
        at_lower, at_upper = state.bound_state == LOWER, state.bound_state == UPPER
        self.beta = np.where(at_upper, self.rates.upper, np.where(at_lower, self.rates.lower, 0.0))
        self.total = state.sum_by_group(self.beta)
        self.score = state.product(state.sum_by_row(self.beta))

    def update(self, state: PathState, variable: int, column: Floats | None = None) -> None:
        """Update the rates after a change of the bound state of a variable.

        Parameters
        ----------
        column : ndarray, optional
            Kernel column of the variable, if it is known.

        Sets: everything.
        """
        now, rate = state.bound_state[variable], 0.0
        if now != FREE:
            rate = float((self.rates.upper if now == UPPER else self.rates.lower)[variable])
        change = rate - self.beta[variable]
        if change == 0.0:
            return
        self.beta[variable] = rate
        self.total[state.group[variable]] += change
        self.score += change * (state.column(variable) if column is None else column)


def _difference(now: Floats, end: Floats | None) -> Floats:
    return np.zeros_like(now) if end is None else end - now
