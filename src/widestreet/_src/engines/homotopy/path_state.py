"""The state of a parametric optimum: data, variables, scores, biases and the free set.

Variables are numbered row by row: those of row r are r * layers to (r + 1) * layers - 1. Each one
is free or at a bound, its `bound_state`. With h_v = target_v - score_row(v) - bias_group(v) the
state is optimal if

    h_v = 0 where FREE,     h_v <= 0 at LOWER,     h_v >= 0 at UPPER,

and the variables of each group have the sum `total`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from widestreet._src.arrays import Bytes, Floats, Ints
from widestreet._src.engines.homotopy.free_set import FreeSet
from widestreet._src.engines.homotopy.kernel_columns import ALL_ROWS
from widestreet._src.problems.dual import Dual

LOWER, FREE, UPPER = 0, 1, 2  # values of `bound_state`

NEGLIGIBLE_RATE = 1e-13  # of the largest rate: a smaller one is rounding of the linear solve

_BOUND_TOLERANCE = (
    1e-12  # of a box or its content: a variable this close to a bound is at the bound
)
_SIGMA_RANGE = 10.0  # factor between sigma and kernel values at which the factor loses digits

_PER_VARIABLE = ("target", "lower", "upper", "group", "beta", "bound_state")
_PER_ROW = ("diagonal", "score")


class KernelValues(Protocol):
    """Kernel values between rows."""

    def block(self, I: Ints, J: Ints | None) -> Floats:
        """Return K[I, J]; J=None means all rows."""
        ...

    def scan(self, J: Ints, coef: Floats) -> Floats:
        """Return K[:, J] @ coef."""
        ...


@dataclass
class PathCounts:
    """Events counted while homotopies are followed.

    Attributes
    ----------
    steps : int
        Straight pieces and rays.
    entered, left : int
        Variables that became free, and that reached a bound at the end of a piece.
    rays : int
        Moves of a bias alone.
    exchanges : int
        Variables that were exchanged for others because they depended on the free ones.
    zero_steps : int
        Pieces of length zero.
    perturbations : int
        Perturbations of targets to end a cycle.
    missed : int
        Variables that violated their condition while their rows were not active.
    """

    steps: int = 0
    entered: int = 0
    left: int = 0
    rays: int = 0
    exchanges: int = 0
    zero_steps: int = 0
    perturbations: int = 0
    missed: int = 0


@dataclass(eq=False)
class PathState:
    """A point with the data for which it is optimal.

    Attributes
    ----------
    kernel : KernelValues
    layers, groups : int
    diagonal : ndarray of shape (n,)
        K(x, x) of every row.
    target, lower, upper, group, beta, bound_state : ndarray of shape (n * layers,)
        Data, value and bound state of every variable.
    total, bias : ndarray of shape (groups,)
    score : ndarray of shape (n,)
        K c of every row; up to date for the active rows.
    active : ndarray or slice
        The rows that a homotopy evaluates in every step; all between homotopies.
    free : FreeSet
        The variables whose `bound_state` is FREE.
    counts : PathCounts
    steps_since_refresh : int
        Steps since all scores were computed from beta.
    """

    kernel: KernelValues
    layers: int
    groups: int
    diagonal: Floats
    target: Floats
    lower: Floats
    upper: Floats
    group: Bytes
    beta: Floats
    bound_state: NDArray[np.int8]
    total: Floats
    bias: Floats
    score: Floats
    free: FreeSet
    active: Ints | slice
    counts: PathCounts = field(default_factory=PathCounts)
    steps_since_refresh: int = 0

    @classmethod
    def of(cls, kernel: KernelValues, diagonal: Floats, dual: Dual, beta: Floats) -> PathState:
        """Return the state of a dual at a point, all variables at LOWER and all scores zero."""
        target, lower, upper, group, point = (
            by_row(a) for a in (dual.target, dual.lower, dual.upper, dual.group, beta)
        )
        return cls(
            kernel=kernel,
            layers=dual.layers,
            groups=dual.groups,
            diagonal=diagonal.copy(),
            target=target,
            lower=lower,
            upper=upper,
            group=group,
            beta=point,
            bound_state=np.full(len(point), LOWER, dtype=np.int8),
            total=dual.total.copy(),
            bias=np.zeros(dual.groups),
            score=np.zeros(dual.rows),
            free=FreeSet(dual.rows, dual.layers, typical_size(diagonal)),
            active=ALL_ROWS,
        )

    def copy(self) -> PathState:
        """Return an independent copy."""
        arrays = (*_PER_VARIABLE, *_PER_ROW, "total", "bias")
        copies = {name: getattr(self, name).copy() for name in arrays}
        return replace(self, **copies, free=self.free.copy(), counts=replace(self.counts))

    # -- derived quantities ------------------------------------------------------------------------

    @property
    def rows(self) -> int:
        return len(self.score)

    @property
    def all_active(self) -> bool:
        """True if the scores of all rows are up to date."""
        return isinstance(self.active, slice)

    @property
    def coef(self) -> Floats:
        """Sum of the variables of each row."""
        return self.sum_by_row(self.beta)

    def sum_by_row(self, values: Floats) -> Floats:
        """Return the sum of values of variables over each row."""
        total: Floats = values.reshape(-1, self.layers).sum(axis=1)
        return total

    def sum_by_group(self, values: Floats) -> Floats:
        """Return the sum of values of variables over each group."""
        sums: Floats = np.bincount(self.group, values, self.groups).astype(np.float64)
        return sums

    def slack(self) -> Floats:
        """Return h of every variable."""
        h: Floats = self.target - np.repeat(self.score, self.layers) - self.bias[self.group]
        return h

    def largest_target(self) -> float:
        """Return max |target|, the scale of scores."""
        return float(np.abs(self.target).max(initial=0.0))

    def bound_tolerance(self, variables: Ints | slice) -> Floats:
        """Return the distance from a bound within which a variable is at it.

        It is relative to the box, or to the largest coefficient if boxes are much larger. The size
        that targets and kernel values suggest is a lower limit of that coefficient, which may be
        mere rounding.
        """
        width = self.upper[variables] - self.lower[variables]
        largest = float(np.abs(self.beta).max(initial=0.0))
        tolerance: Floats = _BOUND_TOLERANCE * np.minimum(
            width, max(largest, self.largest_target() / self.free.sigma)
        )
        return tolerance

    def bound(self, bound_state: int) -> Floats:
        """Return the lower or the upper bounds."""
        return self.lower if bound_state == LOWER else self.upper

    def column(self, variable: int) -> Floats:
        """Return the kernel values of all rows with the row of a variable."""
        if self.bound_state[variable] == FREE:
            return self.free.columns.column(self.free.index(variable))
        column: Floats = self.kernel.block(np.array([variable // self.layers]), None)[0]
        return column

    def product(self, coef: Floats) -> Floats:
        """Return K c for a coefficient of each row."""
        used = np.flatnonzero(coef)
        return self.kernel.scan(used, coef[used])

    # -- changes -----------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Compute all scores from beta. Sets: score."""
        self.score = self.product(self.coef)
        self.steps_since_refresh = 0

    def move_free(self, step: float, change: Floats, bias_change: Floats) -> None:
        """Move the free variables and the biases along a line. Sets: beta, score, bias."""
        free = self.free.variables
        moved = self.beta[free] + step * change
        self.beta[free] = np.clip(moved, self.lower[free], self.upper[free])
        self.score[self.active] += step * self.free.score_change(change, self.active)
        self.bias += step * bias_change

    def append_rows(self, target: Floats, group: Bytes, diagonal: Floats) -> None:
        """Append rows with empty boxes; `kernel` must already include them.

        Parameters
        ----------
        target, group : ndarray of shape (layers, m)
        diagonal : ndarray of shape (m,)

        Sets: everything that has an entry per row.
        """
        new, coef = np.arange(self.rows, self.rows + len(diagonal)), self.coef
        support = np.flatnonzero(coef)
        score: Floats = np.zeros(len(new))
        if len(support):
            score = self.kernel.block(new, support) @ coef[support]
        self.free.columns.extend(self.kernel.block(new, self.free.rows))
        empty = np.zeros(len(new) * self.layers)
        appended = {
            "target": by_row(target),
            "lower": empty,
            "upper": empty,
            "group": by_row(group),
            "beta": empty,
            "bound_state": np.full(len(empty), LOWER, dtype=np.int8),
            "diagonal": diagonal,
            "score": score,
        }
        for name, values in appended.items():
            setattr(self, name, np.concatenate([getattr(self, name), values]))
        sigma = typical_size(self.diagonal)
        if not 1 / _SIGMA_RANGE <= sigma / self.free.sigma <= _SIGMA_RANGE:
            self.free.rescale(sigma)

    def select_rows(self, order: Ints) -> None:
        """Keep the rows of `order`, in that order; the rows of free variables must be among them.

        Sets: everything that has an entry per row.
        """
        self.free.select_rows(order)
        variables = (order[:, None] * self.layers + np.arange(self.layers)).ravel()
        for name in _PER_VARIABLE:
            setattr(self, name, getattr(self, name)[variables])
        for name in _PER_ROW:
            setattr(self, name, getattr(self, name)[order])


def by_row(values: np.ndarray) -> np.ndarray:
    """Flatten an array of shape (layers, n) so that the variables of a row are neighbours."""
    return np.ascontiguousarray(values.T).ravel()


def typical_size(diagonal: Floats) -> float:
    """Return the mean of K(x, x), or 1 if it is not positive."""
    mean = float(diagonal.mean()) if len(diagonal) else 0.0
    return mean if mean > 0 else 1.0
