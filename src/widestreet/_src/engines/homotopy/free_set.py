"""The free variables of a parametric optimum, and the factor of their linear system.

The factor is the Cholesky factor of

    M = K_SS + sigma A_S'A_S,     A_gv = 1 if variable v belongs to group g

which is positive definite exactly if K_SS is so on the directions that keep the sums of the groups.
Variables enter and leave in O(|S|^2) (core/path/cholesky_factor.cpp).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from widestreet import _core
from widestreet._src.arrays import Bytes, Floats, Ints
from widestreet._src.engines.homotopy.kernel_columns import ALL_ROWS, KernelColumns

PIVOT_TOLERANCE = 1e-12  # of a diagonal entry: a smaller pivot may be rounding of a singular matrix


class FreeSet:
    """The set S of free variables, in the order in which they entered.

    Parameters
    ----------
    rows : int
    layers : int
        Variables per row.
    sigma : float
        Typical size of kernel values.

    Attributes
    ----------
    members : list of int
        Free variables.
    variables, rows, group : ndarray
        Free variables, and the row and the group of each.
    columns : KernelColumns
        Kernel values of all rows with the row of each variable.
    """

    members: list[int]
    variables: Ints
    rows: Ints
    group: Bytes
    _group: list[int]

    def __init__(self, rows: int, layers: int, sigma: float) -> None:
        self.layers, self.sigma = layers, sigma
        self.columns = KernelColumns(rows)
        self._factor = _core.Factor()
        self._set_members([], [])

    def __len__(self) -> int:
        return len(self.members)

    def copy(self) -> FreeSet:
        """Return a copy; kernel values are shared until one of the two changes."""
        other = FreeSet.__new__(FreeSet)  # `copy` would store and load the factor
        vars(other).update(vars(self))
        other.members, other._group = self.members.copy(), self._group.copy()
        other.columns, other._factor = self.columns.copy(), self._factor.copy()
        return other

    def __getstate__(self) -> dict[str, Any]:
        L = np.empty((self._factor.size, self._factor.size))
        self._factor.store(L)
        return vars(self) | {"_factor": L}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._factor = _core.Factor()
        self._factor.load(state["_factor"])

    # -- members -----------------------------------------------------------------------------------

    def _set_members(self, members: list[int], group: list[int]) -> None:
        """Set the members and their groups. Sets: members, variables, rows, group."""
        self.members, self._group = members, group
        self.variables = np.array(members, dtype=np.int64)
        self.rows = self.variables // self.layers
        self.group = np.array(group, dtype=np.uint8)

    def groups_present(self, groups: int) -> list[bool]:
        """Return for each group whether it has a free variable."""
        return [g in self._group for g in range(groups)]

    def index(self, variable: int) -> int:
        """Return the position of a variable in `members`."""
        return self.members.index(variable)

    # -- entering and leaving ----------------------------------------------------------------------

    def replace(self, variables: Ints, group: Bytes, K: Floats) -> bool:
        """Replace all members, unless their matrix is singular; return whether it was done.

        Parameters
        ----------
        variables, group : ndarray
        K : ndarray of shape (n, len(variables))
            Kernel values of all rows with the rows of the variables.

        Sets: everything.
        """
        M = K[variables // self.layers] + self.sigma * (group[:, None] == group)
        L, info = linalg.lapack.dpotrf(M, lower=True, clean=True)
        if info != 0 or not (np.diag(L) ** 2 > PIVOT_TOLERANCE * np.diag(M)).all():
            return False
        self._factor.load(np.ascontiguousarray(L.T))
        self._set_members(variables.tolist(), group.tolist())
        self.columns.replace(K)
        return True

    def append(self, variable: int, group: int, own: float, column: Floats) -> bool:
        """Append a variable unless it depends on the others; return whether it was done.

        Parameters
        ----------
        own : float
            Kernel value of the row of the variable with itself.
        column : ndarray
            Kernel values of all rows with the row of the variable.

        Sets: everything.
        """
        own += self.sigma
        cross = column[self.rows] + self.sigma * (self.group == group)
        pivot = self._factor.append(cross, own, PIVOT_TOLERANCE)
        if not pivot > PIVOT_TOLERANCE * own:
            return False
        self.columns.append(column)
        self.members.append(variable)
        self._group.append(group)
        self._set_members(self.members, self._group)
        return True

    def remove(self, index: int) -> int:
        """Remove the variable at an index and return it. Sets: everything."""
        self._factor.remove(index)
        self.columns.remove(index)
        variable = self.members.pop(index)
        self._group.pop(index)
        self._set_members(self.members, self._group)
        return variable

    def rescale(self, sigma: float) -> None:
        """Factor the matrix for another sigma, if it is regular. Sets: sigma, factor."""
        K = self.columns.block(self.rows)
        same = self.group[:, None] == self.group
        L, info = linalg.lapack.dpotrf(K + sigma * same, lower=True, clean=True)
        if info == 0:
            self._factor.load(np.ascontiguousarray(L.T))
            self.sigma = sigma

    def select_rows(self, order: Ints) -> None:
        """Keep the rows of `order`, in that order; the rows of members must be among them.

        Sets: everything.
        """
        self.columns.select(order)
        now = dict(zip(order.tolist(), range(len(order)), strict=True))
        d = self.layers
        self._set_members([now[v // d] * d + v % d for v in self.members], self._group)

    # -- linear algebra ----------------------------------------------------------------------------

    def solve(self, first: Floats, second: Floats) -> tuple[Floats, Floats]:
        """Solve [K_SS A_S'; A_S 0] [x; m] = [first; second]; m is 0 for groups without a member."""
        x, m = np.empty(len(self.members)), np.empty(len(second))
        self._factor.solve_bordered(first, second, self.group, self.sigma, x, m)
        return x, m

    def score_change(self, change: Floats, rows: Ints | slice = ALL_ROWS) -> Floats:
        """Return the change of the scores of rows when the members change."""
        return self.columns.product(change, rows)
