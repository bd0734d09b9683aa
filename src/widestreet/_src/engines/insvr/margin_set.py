"""The margin vectors of incremental nu-SVR and the inverse of their bordered matrix.

    M = [ 0    0       z_S'  ]  b'        rows of e': none in RAIA, nor in IA if S has one label
        [ 0    corner  1'    ]  e'        corner: epsilon < 0 in SRA, otherwise 0
        [ z_S  1       Q_SS  ]  S'

S' is S without the lower sides that are held fixed. Of samples that are in S with both sides (then
e' = 0) M has only one side in RAIA; in IA and SRA it has both sides of one such sample.

M is singular along alpha -> alpha + t d if Q d = 0 and d changes neither sum: then no g changes
either. `sync` finds such a d when a variable enters that depends on the others, and follows it
until one of them reaches a bound and leaves (an exchange). `remove_dependent` does the same if d
changes the sum of alpha alone, which the row of e' excludes and RAIA does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np

from widestreet._src.arrays import Floats
from widestreet._src.engines.insvr.bordered_inverse import BorderedInverse
from widestreet._src.engines.insvr.extended_set import ExtendedSet
from widestreet._src.engines.insvr.step_to_next_event import Line

Stage: TypeAlias = Literal["ia", "raia", "sra"]

BIAS, TUBE = -2, -1  # the rows of b' and e'

_CURVATURE_BEYOND_ROUNDING = 1e-9  # of its terms: a larger curvature is not rounding
_CURVATURE_ROUNDING = 1e-14  # of its terms: a smaller curvature is rounding
_SMALLEST_DIAGONAL = 1e-6  # of the largest K(x, x): added, since K(x, x) may be zero
_FLAT_RATES = 10.0  # of their rounding: largest rates of g on a flat line of doubtful curvature


class MarginSet:
    """The set S' and its matrix, which follow the states of an extended set.

    Attributes
    ----------
    exchanges : int
        Variables that were exchanged or removed because S depended on them.
    largest_error : float
        Largest entry of |MR - 1| after any change, with `debug` only.
    """

    def __init__(self, extended: ExtendedSet, epsilon: float, debug: bool) -> None:
        self.extended, self.epsilon = extended, epsilon
        self.bordered = BorderedInverse(self._record_error if debug else None)
        self.exchanges = 0
        self.largest_error = 0.0
        self._corner = 0.0

    @property
    def empty(self) -> bool:
        return len(self.extended.margin) == 0

    @property
    def one_label(self) -> bool:
        """True if S is not empty and has one label only: |sum z_S| = |S|."""
        return len(np.unique(self.extended.margin & 1)) == 1

    @property
    def has_fixed(self) -> bool:
        """True if some variables of S are held fixed."""
        members = sum(key >= 0 for key in self.bordered.keys)
        return members < len(self.extended.margin)

    def inverse_error(self) -> float:
        """Return the largest entry of |MR - 1|, with M from the kernel matrix."""
        M = self.entries(self.bordered.keys, self.bordered.keys)
        return float(np.abs(M @ self.bordered.inverse - np.eye(len(M))).max(initial=0.0))

    def _record_error(self) -> None:
        self.largest_error = max(self.largest_error, self.inverse_error())

    def entries(self, rows: Sequence[int], columns: Sequence[int]) -> Floats:
        """Return a block of M; rows and columns are named BIAS, TUBE or by a variable."""
        i, j = np.array(rows, dtype=np.int64), np.array(columns, dtype=np.int64)
        block = np.zeros((len(i), len(j)))
        block[np.ix_(i >= 0, j >= 0)] = self.extended.Q(i[i >= 0], j[j >= 0])
        block[np.ix_(i == BIAS, j >= 0)] = 1.0 - 2.0 * (j[j >= 0] & 1)
        block[np.ix_(i >= 0, j == BIAS)] = 1.0 - 2.0 * (i[i >= 0, None] & 1)
        block[np.ix_(i == TUBE, j >= 0)] = 1.0
        block[np.ix_(i >= 0, j == TUBE)] = 1.0
        block[np.ix_(i == TUBE, j == TUBE)] = self._corner
        return block

    # -- lines -----------------------------------------------------------------------------------

    def line(
        self, right: Floats, linear_rate: Floats | None = None, driven: int | None = None
    ) -> Line:
        """Return the line M h = right.

        Parameters
        ----------
        linear_rate : ndarray, optional
            Rate of the linear term z y.
        driven : int, optional
            Variable outside S that rises at unit speed.
        """
        h = self.bordered.solve(right)
        keys = np.array(self.bordered.keys, dtype=np.int64)
        members, rate = keys[keys >= 0], h[keys >= 0]
        if driven is not None:
            members, rate = np.append(members, driven), np.append(rate, 1.0)
        bias, tube = float(h[keys == BIAS].sum()), float(h[keys == TUBE].sum())
        return Line.of(self.extended, members, rate, bias, tube, linear_rate)

    def right_side(self, bias: float, tube: float, values: Floats) -> Floats:
        """Return a right-hand side; `values` has an entry for each variable."""
        own = {BIAS: bias, TUBE: tube}
        return np.array([own[key] if key < 0 else values[key] for key in self.bordered.keys])

    # -- the matrix follows the sets -------------------------------------------------------------

    def sync(self, stage: Stage) -> None:
        """Give M the rows of S' and of the multipliers of a stage. Sets: bordered, alpha, state."""
        while not self._update(stage):
            pass

    def _update(self, stage: Stage) -> bool:
        """Change rows of M until it has all, or until an exchange has changed S.

        Returns
        -------
        complete : bool
        """
        wanted, keys = self._wanted(stage), self.bordered.keys
        kept = _regular(wanted.intersection(keys), stage)
        gone = [key for key in keys if key not in kept]
        if gone:
            self.bordered.shrink(gone)
        corner = self.epsilon if stage == "sra" else 0.0
        change, self._corner = corner - self._corner, corner
        if TUBE in self.bordered and change != 0:
            self.bordered.shift(TUBE, change)
        entering = sorted(key for key in wanted - kept if key >= 0)
        return self._enter([], stage) and all(self._enter([v], stage) for v in entering)

    def _enter(self, variables: list[int], stage: Stage) -> bool:
        """Append variables with the multipliers that they make possible, or exchange them."""
        keys = self.bordered.keys
        new = sorted(_regular({BIAS, TUBE, *keys, *variables}, stage).difference(keys))
        if not new:
            return True
        border, block = self.entries(keys, new), self.entries(new, new)
        if new == variables:  # with a multiplier it could not depend on the others
            line = self._flat_line(border[:, 0], float(block[0, 0]), new[0])
            if line is not None:
                self._exchange(line)
                return False
        self.bordered.grow(new, border, block)
        return True

    def _wanted(self, stage: Stage) -> set[int]:
        """Return the rows that M should have."""
        fixed = self.extended.doubled.tolist()
        if fixed and stage != "raia":
            present = [v for v in fixed if v in self.bordered]
            fixed.remove(present[0] if present else fixed[0])
        return _regular({BIAS, TUBE, *self.extended.margin.tolist()}.difference(fixed), stage)

    def _flat_line(self, border: Floats, own: float, v: int) -> Line | None:
        """Return the line along which v enters without a change of g, if v depends on S'."""
        line = self.line(-border, driven=v)
        keys = np.array(self.bordered.keys, dtype=np.int64)
        h = np.where(keys == TUBE, line.tube, line.bias)
        h[keys >= 0] = line.rate[:-1]
        if not self._is_flat(line, own + float(border @ h), -self._corner * line.tube**2):
            return None
        return line

    def _is_flat(self, line: Line, curvature: float, more: float = 0.0) -> bool:
        """Return whether no g changes along a line; `more` is a term of its curvature."""
        own = self.extended.scale * self.extended.K.diagonal()
        own += _SMALLEST_DIAGONAL * own.max()
        terms = float(line.rate**2 @ own[line.members >> 1]) + more
        if _CURVATURE_ROUNDING * terms < curvature < _CURVATURE_BEYOND_ROUNDING * terms:
            return bool((np.abs(line.g) <= _FLAT_RATES * line.noise).all())
        return curvature <= _CURVATURE_ROUNDING * terms

    def _exchange(self, line: Line) -> None:
        """Follow a line that changes no g until one of its variables leaves. Sets: alpha, state."""
        s, zero = self.extended, np.zeros(2 * self.extended.size)
        from_upper = s.alpha[line.members[-1]] == s.C  # the variable that enters is the last
        line = Line(line.members, -line.rate if from_upper else line.rate, 0.0, 0.0, zero, zero)
        step, variable = line.longest_step(s, np.inf)
        if variable is None:
            raise np.linalg.LinAlgError("no variable reaches a bound along a flat line")
        line.follow(s, step)
        s.leave(variable, line.rises(variable))
        self.exchanges += 1

    def remove_dependent(self) -> None:
        """Remove a variable from S if S is dependent without the row of e'. Sets: alpha, state."""
        if TUBE not in self.bordered or len(self.extended.doubled):
            return
        line = self.line(self.right_side(0.0, 1.0, np.zeros(2 * self.extended.size)))
        if self._is_flat(line, -line.tube):
            self._exchange(line)

    def refine(self, total: float) -> None:
        """Take one Newton step for both sums and for g = 0 on S'. Sets: alpha, bias, tube, g."""
        s = self.extended
        sums = -float(s.z @ s.alpha), total - float(s.alpha.sum())
        self.line(self.right_side(*sums, -s.g)).follow(s, 1.0)
        s.refresh()


def _regular(keys: set[int], stage: Stage) -> set[int]:
    """Return rows without the multipliers that have too few variables for a regular M."""
    labels = {key & 1 for key in keys if key >= 0}
    tube = {"ia": len(labels) == 2, "raia": False, "sra": True}[stage]
    return keys - ({BIAS} if not labels else set()) - ({TUBE} if not tube else set())
