"""The exact optimum of a dual problem whose data change.

Every change is a homotopy (follow_breakpoints.py). The boxes of added rows grow from zero width,
and those of removed rows shrink to zero width. Changes of weights, C, nu, epsilon or labels are
other endpoints. The cost of a step is one product of the kernel columns of the free variables
(n x |S|) with a vector, and O(|S|^2) for the factor of their matrix (free_set.py).
"""

from __future__ import annotations

import numpy as np

from widestreet._src.arrays import Bytes, Floats, Ints
from widestreet._src.engines.homotopy.bound_motion import Endpoint
from widestreet._src.engines.homotopy.enter_and_exchange import enter_all, leave
from widestreet._src.engines.homotopy.follow_breakpoints import (
    Homotopy,
    InfeasibleError,
    PathSegment,
    SegmentObserver,
)
from widestreet._src.engines.homotopy.free_set import FreeSet
from widestreet._src.engines.homotopy.kernel_columns import ALL_ROWS
from widestreet._src.engines.homotopy.path_state import (
    LOWER,
    UPPER,
    KernelValues,
    PathCounts,
    PathState,
)
from widestreet._src.engines.homotopy.rounding_correction import central_biases
from widestreet._src.problems.dual import Dual

__all__ = [
    "Endpoint",
    "InfeasibleError",
    "ParametricOptimum",
    "PathSegment",
    "order_after_removal",
]


class ParametricOptimum:
    """The optimum of a dual over n rows, which follows changes of the data.

    Parameters
    ----------
    kernel : KernelValues
    diagonal : ndarray of shape (n,)
        K(x, x).
    dual : Dual
    beta : ndarray of shape (layers, n)
        Feasible point; a point closer to the optimum needs fewer steps.

    Attributes
    ----------
    state : PathState
    """

    def __init__(self, kernel: KernelValues, diagonal: Floats, dual: Dual, beta: Floats) -> None:
        self.state = PathState.of(kernel, diagonal, dual, beta)
        self._solve_from_point()

    def clone(self, kernel: KernelValues | None = None) -> ParametricOptimum:
        """Return an independent copy, which takes kernel values from `kernel` if it is given."""
        other = ParametricOptimum.__new__(ParametricOptimum)
        other.state = self.state.copy()
        if kernel is not None:
            other.state.kernel = kernel
        return other

    def _solve_from_point(self) -> None:
        """Move from a feasible point to the optimum.

        The point is optimal for other targets and totals; a homotopy leads from these to the true
        ones. Sets: everything.
        """
        s = self.state
        tolerance = s.bound_tolerance(ALL_ROWS)
        s.beta = np.where(s.beta <= s.lower + tolerance, s.lower, s.beta)
        s.beta = np.where(s.beta >= s.upper - tolerance, s.upper, s.beta)
        inside = (s.beta > s.lower) & (s.beta < s.upper)
        s.bound_state[(s.beta >= s.upper) & (s.upper > s.lower)] = UPPER
        enter_all(s, np.flatnonzero(inside))
        s.refresh()
        s.bias = central_biases(s)
        h = s.slack()
        satisfied = np.where(s.bound_state == LOWER, h <= 0, (s.bound_state == UPPER) & (h >= 0))
        target, total = s.target, s.total
        s.target = np.where(satisfied, s.target, s.target - h)
        s.total = s.sum_by_group(s.beta)
        if not satisfied.all() or not np.array_equal(total, s.total):
            self.follow(Endpoint(target=target, total=total))

    # -- the optimum -------------------------------------------------------------------------------

    @property
    def rows(self) -> int:
        return self.state.rows

    @property
    def layers(self) -> int:
        return self.state.layers

    @property
    def groups(self) -> int:
        return self.state.groups

    @property
    def beta(self) -> Floats:
        """Variables, row by row."""
        return self.state.beta

    @property
    def bias(self) -> Floats:
        """Bias of each group."""
        return self.state.bias

    @property
    def score(self) -> Floats:
        """Score of each row."""
        return self.state.score

    @property
    def total(self) -> Floats:
        """Sum of the variables of each group."""
        return self.state.total

    @property
    def free(self) -> FreeSet:
        return self.state.free

    @property
    def counts(self) -> PathCounts:
        return self.state.counts

    def layered(self, values: Floats) -> Floats:
        """Return values of variables in an array of shape (layers, n)."""
        return np.ascontiguousarray(values.reshape(-1, self.layers).T)

    # -- changes -----------------------------------------------------------------------------------

    def extend(self, target: Floats, group: Bytes, diagonal: Floats) -> None:
        """Append rows with empty boxes; `kernel` must already include them.

        Parameters
        ----------
        target, group : ndarray of shape (layers, m)
        diagonal : ndarray of shape (m,)

        Sets: everything that has an entry per row.
        """
        self.state.append_rows(target, group, diagonal)

    def drop(self, rows: Ints) -> Ints:
        """Remove rows with empty boxes; the last rows take their positions.

        Returns
        -------
        order : ndarray
            Former position of each remaining row.

        Sets: everything that has an entry per row.
        """
        free = self.state.free
        for variable in free.variables[np.isin(free.rows, rows)].tolist():
            leave(self.state, variable, LOWER)
        order = order_after_removal(self.rows, rows)
        self.state.select_rows(order)
        return order

    def tighten(self, end: Endpoint) -> None:
        """Shrink boxes that are empty at the endpoint to the values of their variables.

        The point stays optimal, and the homotopy starts at these values instead of the bounds,
        which may be much larger: its rounding is relative to the values.
        Sets: lower, upper, free, bound_state.
        """
        assert end.lower is not None
        assert end.upper is not None
        s = self.state
        vanishing = (end.lower == end.upper) & (s.lower < s.upper)
        lower, upper = np.minimum(0.0, s.beta), np.maximum(0.0, s.beta)
        s.lower, s.upper = np.where(vanishing, lower, s.lower), np.where(vanishing, upper, s.upper)
        for variable in s.free.variables[vanishing[s.free.variables]].tolist():
            leave(s, variable, UPPER if s.beta[variable] > 0 else LOWER)

    def follow(
        self,
        end: Endpoint,
        observe: SegmentObserver | None = None,
        active_limit: int | None = None,
    ) -> None:
        """Move the data to an endpoint, and the optimum with them.

        Parameters
        ----------
        end : Endpoint
        observe : callable, optional
            Called with every `PathSegment`.
        active_limit : int, optional
            Number of bound variables to evaluate between full scans; 0 for all.

        Sets: everything.
        """
        rng: np.random.Generator | None = None
        while True:
            homotopy = Homotopy(self.state, end, observe, active_limit)
            while not homotopy.finished:
                if homotopy.cycling:
                    rng = np.random.default_rng(0) if rng is None else rng
                    homotopy.perturb(rng)
                homotopy.step()
            homotopy.finish()
            if homotopy.target_shift is None:
                return
            # another homotopy removes the shifts of the targets
            end, observe = Endpoint(target=homotopy.goal), None
            active_limit = homotopy.active_rows.wider_limit


def order_after_removal(n: int, rows: Ints) -> Ints:
    """Return the former positions of n rows after the last ones replaced the removed ones."""
    order = np.arange(n)
    for row in np.sort(rows)[::-1].tolist():
        order[row] = order[-1]
        order = order[:-1]
    return order
