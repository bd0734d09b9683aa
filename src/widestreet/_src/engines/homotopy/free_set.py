"""The free variables of a path: their kernel values with all rows, and the factor of their system.

The factor is that of M = K_SS + sigma A_S'A_S, where A_gv = 1 if variable v belongs to group g.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg
from scipy.linalg import cython_blas

from widestreet import _core
from widestreet._src.arrays import Bytes, Floats, Ints
from widestreet._src.engines.homotopy.active_rows import ALL

_core.use_trsv(cython_blas.__pyx_capi__["dtrsv"])

FLAT = 1e-12  # of its own curvature: what a variable must add to enter
_HOLES = 16  # beyond as many as there are variables, from which on they are closed
_AHEAD = 1.5  # times what is needed: room that arrays get when they grow


class FreeSet:
    """Free variables, in the order in which they came.

    Parameters
    ----------
    rows : int
    layers : int
        Variables per row.
    sigma : float
        Of the size of the kernel values.

    Attributes
    ----------
    members : list of int
        Variables.
    """

    def __init__(self, rows: int, layers: int, sigma: float) -> None:
        self.n, self.layers, self.sigma = rows, layers, sigma
        self.members: list[int] = []
        self._group: list[int] = []
        self._slot: list[int] = []  # column of `held` of each of them
        self._holes: list[int] = []  # columns of `held` that nobody has, below the last one
        self._held: Floats = np.zeros((rows, 16))
        self._shared = False  # whether `held` belongs to others as well, and must not be written
        self._factor = _core.Factor()
        self._arrays: tuple[Ints, Ints, Bytes, Ints] | None = None

    def __len__(self) -> int:
        return len(self.members)

    def copy(self) -> FreeSet:
        """Another one of the same variables; kernel values are copied when one of them writes."""
        self._shared = True
        other = FreeSet.__new__(FreeSet)
        vars(other).update(vars(self))
        for name in ("members", "_group", "_slot", "_holes", "_factor"):
            setattr(other, name, getattr(self, name).copy())
        return other

    def __getstate__(self) -> dict[str, Any]:
        L = np.empty((self._factor.size, self._factor.size))
        self._factor.store(L)
        return vars(self) | {"_factor": L}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._factor = _core.Factor()
        self._factor.load(state["_factor"])

    # -- who is there ------------------------------------------------------------------------------

    def _all(self) -> tuple[Ints, Ints, Bytes, Ints]:
        if self._arrays is None:
            variables = np.array(self.members, dtype=np.int64)
            self._arrays = (
                variables,
                variables // self.layers,
                np.array(self._group, dtype=np.uint8),
                np.array(self._slot, dtype=np.int64),
            )
        return self._arrays

    @property
    def variables(self) -> Ints:
        """The variables, as an array."""
        return self._all()[0]

    @property
    def group(self) -> Bytes:
        """The group of each."""
        return self._all()[2]

    @property
    def rows(self) -> Ints:
        """The row of each."""
        return self._all()[1]

    @property
    def _slots(self) -> Ints:
        return self._all()[3]

    @property
    def _width(self) -> int:
        """Columns of `held` up to the last one that somebody has."""
        return len(self.members) + len(self._holes)

    def place(self, variable: int) -> int:
        """Where a variable stands among the others."""
        return self.members.index(variable)

    def column(self, at: int) -> Floats:
        """Kernel values of all rows with that of a variable."""
        return self._held[: self.n, self._slot[at]].copy()

    def values(self, row: int) -> Floats:
        """Kernel values of a row with those of all variables."""
        found: Floats = self._held[row, self._slots]
        return found

    # -- who comes and goes ------------------------------------------------------------------------

    def load(self, variables: Ints, group: Bytes, K: Floats) -> bool:
        """Let many enter at once, unless they are too much alike: then nobody does.

        Parameters
        ----------
        variables, group : ndarray
        K : ndarray of shape (n, len(variables))
            Kernel values of all rows with theirs.
        """
        rows = variables // self.layers
        same = group[:, None] == group
        M = K[rows] + self.sigma * same
        L, info = linalg.lapack.dpotrf(M, lower=True, clean=True)
        if info != 0 or not (np.diag(L) ** 2 > FLAT * np.diag(M)).all():
            return False
        self._factor.load(np.ascontiguousarray(L.T))
        self.members, self._group = variables.tolist(), group.tolist()
        self._slot, self._holes = list(range(len(variables))), []
        self._arrays, self._shared = None, False
        self._held = np.zeros((self.n, int(_AHEAD * len(variables)) + 16))
        self._held[:, : len(variables)] = K
        return True

    def rescale(self, sigma: float) -> None:
        """Kernel values have another size than when sigma was chosen. Sets: sigma, factor."""
        K = self._held[np.ix_(self.rows, self._slots)]
        same = self.group[:, None] == self.group
        L, info = linalg.lapack.dpotrf(K + sigma * same, lower=True, clean=True)
        if info == 0:
            self._factor.load(np.ascontiguousarray(L.T))
            self.sigma = sigma

    def append(self, variable: int, group: int, own: float, column: Floats) -> bool:
        """Let a variable enter, unless it adds no curvature."""
        same = self.group == group
        own += self.sigma
        pivot = self._factor.append(column[self.rows] + self.sigma * same, own, FLAT)
        if not pivot > FLAT * own:
            return False
        slot = self._holes[-1] if self._holes else self._width
        self._reserve(len(self._held), slot + 1)
        self._held[: self.n, slot] = column
        del self._holes[-1:]
        self.members.append(variable)
        self._group.append(group)
        self._slot.append(slot)
        self._arrays = None
        return True

    def remove(self, at: int) -> int:
        """Let a variable go; returns which one."""
        variable = self.members.pop(at)
        self._holes.append(self._slot.pop(at))
        self._group.pop(at)
        self._arrays = None
        self._factor.remove(at)
        if len(self._holes) > len(self.members) + _HOLES:
            self._close()
        return variable

    def _close(self) -> None:
        """Sets: held, without holes."""
        k = len(self.members)
        held = np.zeros_like(self._held)
        held[:, :k] = self._held[:, self._slots]
        self._held, self._shared = held, False
        self._slot, self._holes, self._arrays = list(range(k)), [], None

    def _reserve(self, rows: int, slots: int) -> None:
        """Sets: held, with room for so many, to be written."""
        if rows <= len(self._held) and slots <= self._held.shape[1] and not self._shared:
            return
        height, width = len(self._held), self._held.shape[1]
        if rows > height:
            height = int(_AHEAD * rows) + 16
        if slots > width:
            width = int(_AHEAD * slots) + 16
        held = np.zeros((height, width))
        k = self._width
        held[: self.n, :k] = self._held[: self.n, :k]
        self._held, self._shared = held, False

    def extend(self, values: Floats) -> None:
        """More rows, with their kernel values with those of the variables."""
        m = len(values)
        self._reserve(self.n + m, 1)
        self._held[self.n : self.n + m, self._slots] = values
        self.n += m

    def rearrange(self, order: Ints) -> None:
        """Rows have other places: which one now stands where."""
        self._reserve(0, 0)
        self._held[:, self._holes] = 0.0
        moved = np.flatnonzero(order != np.arange(len(order)))
        self._held[moved] = self._held[order[moved]]
        now = dict(zip(order.tolist(), range(len(order)), strict=True))
        d = self.layers
        self.members = [now[v // d] * d + v % d for v in self.members]
        self._arrays, self.n = None, len(order)
        self._held[self.n :] = 0.0  # nothing of the others is kept

    # -- what they are for -------------------------------------------------------------------------

    def solve(self, first: Floats, second: Floats) -> tuple[Floats, Floats]:
        """Solve [K_SS A_S'; A_S 0] [x; m] = [first; second]; groups of nobody get 0."""
        x, m = np.empty(len(self.members)), np.empty(len(second))
        self._factor.solve_bordered(first, second, self.group, self.sigma, x, m)
        return x, m

    def spread(self, change: Floats, rows: Ints | slice = ALL) -> Floats:
        """What changes of the variables do to the scores of rows."""
        weights = np.zeros(self._width)
        weights[self._slots] = change
        moved: Floats = self._held[: self.n, : len(weights)][rows] @ weights
        return moved

    def present(self, groups: int) -> list[bool]:
        """Which groups have a variable here."""
        return [g in self._group for g in range(groups)]
