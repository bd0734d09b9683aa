"""The margin vectors of incremental nu-SVR and the inverse of their bordered matrix.

    M = [ 0    0       z_S'  ]  b'        rows of e': none in RAIA, nor in IA if S has one label
        [ 0    corner  1'    ]  e'        corner: epsilon < 0 in SRA, otherwise 0
        [ z_S  1       Q_SS  ]  S'

S' is S without the lower sides that have to be held still: of samples that are in S with both sides
(then e' = 0) RAIA can take only one side, IA and SRA can take one such sample with both.

M is singular along alpha -> alpha + t d if Q d = 0 and d changes neither sum: then no g changes
either. `sync` meets such a d when a variable enters that depends on the others, and follows it
until one of them is at a bound and leaves (an exchange). `shed` does the same where d changes the
sum of alpha alone, which the row of e' forbids and RAIA does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np

from widestreet._src.arrays import Floats
from widestreet._src.engines.insvr.bordered_inverse import Bordered
from widestreet._src.engines.insvr.extended_set import Extended, Move

Stage: TypeAlias = Literal["ia", "raia", "sra"]

BIAS, TUBE = -2, -1  # the rows of b' and e'
_FLAT = 1e-9  # of its terms: a curvature beyond this is no accident of rounding
_FLATTEST = 1e-14  # the same: one beneath this is rounding and nothing else
_SMALL = 1e-6  # of the largest K(x, x): what is smaller is not to be compared with
_HARMLESS = 10.0  # times their rounding: rates of g that decide in between


class MarginSet:
    """S' with its matrix, kept in step with the states of an extended set.

    Attributes
    ----------
    exchanges : int
        Variables exchanged or shed so far because S depended on them.
    error : float
        With `debug` the largest entry of |MR - 1| that there has ever been.
    """

    def __init__(self, extended: Extended, epsilon: float, debug: bool) -> None:
        self.extended, self.epsilon = extended, epsilon
        self.bordered = Bordered(self._watch if debug else None)
        self.exchanges = 0
        self.error = 0.0
        self._corner = 0.0

    @property
    def empty(self) -> bool:
        return len(self.extended.margin) == 0

    @property
    def one_label(self) -> bool:
        """Whether S is not empty and all of its labels are equal: |sum z_S| = |S|."""
        return len(np.unique(self.extended.margin & 1)) == 1

    @property
    def holds(self) -> bool:
        """Whether some of S are held still."""
        members = sum(key >= 0 for key in self.bordered.keys)
        return members < len(self.extended.margin)

    def measured(self) -> float:
        """The largest entry of |MR - 1|, M made from the kernel matrix anew."""
        M = self.entries(self.bordered.keys, self.bordered.keys)
        return float(np.abs(M @ self.bordered.inverse - np.eye(len(M))).max(initial=0.0))

    def _watch(self) -> None:
        self.error = max(self.error, self.measured())

    def entries(self, rows: Sequence[int], columns: Sequence[int]) -> Floats:
        """A block of M, whose rows and columns are named by BIAS, TUBE and variables."""
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

    def move(self, right: Floats, pull: Floats | None = None, driven: int | None = None) -> Move:
        """The line M h = right; `driven` is a variable outside S that rises at unit speed."""
        h = self.bordered.solve(right)
        keys = np.array(self.bordered.keys, dtype=np.int64)
        members, rate = keys[keys >= 0], h[keys >= 0]
        if driven is not None:
            members, rate = np.append(members, driven), np.append(rate, 1.0)
        bias, tube = float(h[keys == BIAS].sum()), float(h[keys == TUBE].sum())
        return self.extended.move(members, rate, bias, tube, pull)

    def right(self, bias: float, tube: float, values: Floats) -> Floats:
        """A right-hand side; `values` has an entry for each variable of the extended set."""
        own = {BIAS: bias, TUBE: tube}
        return np.array([own[key] if key < 0 else values[key] for key in self.bordered.keys])

    # -- the matrix follows the sets -------------------------------------------------------------

    def sync(self, stage: Stage) -> None:
        """Give M the rows that S asks for in this stage. Sets: bordered; alpha in exchanges."""
        while not self._follows(stage):
            pass

    def _follows(self, stage: Stage) -> bool:
        """Change rows of M until it has all, or until an exchange has changed S."""
        wanted, keys = self._wanted(stage), self.bordered.keys
        stay = _regular(wanted.intersection(keys), stage)
        gone = [key for key in keys if key not in stay]
        if gone:
            self.bordered.shrink(gone)
        corner = self.epsilon if stage == "sra" else 0.0
        change, self._corner = corner - self._corner, corner
        if TUBE in self.bordered and change != 0:
            self.bordered.shift(TUBE, change)
        entering = sorted(key for key in wanted - stay if key >= 0)
        return self._enter([], stage) and all(self._enter([v], stage) for v in entering)

    def _enter(self, variables: list[int], stage: Stage) -> bool:
        """Append variables with the multipliers that they make possible, or exchange them."""
        keys = self.bordered.keys
        new = sorted(_regular({BIAS, TUBE, *keys, *variables}, stage).difference(keys))
        if not new:
            return True
        border, block = self.entries(keys, new), self.entries(new, new)
        if new == variables:  # with a multiplier it could not depend on the others
            line = self._flat(border[:, 0], float(block[0, 0]), new[0])
            if line is not None:
                self._exchange(line)
                return False
        self.bordered.grow(new, border, block)
        return True

    def _wanted(self, stage: Stage) -> set[int]:
        """The rows that M should have."""
        held = self.extended.doubled.tolist()
        if held and stage != "raia":
            taken = [v for v in held if v in self.bordered]
            held.remove(taken[0] if taken else held[0])
        return _regular({BIAS, TUBE, *self.extended.margin.tolist()}.difference(held), stage)

    def _flat(self, border: Floats, own: float, v: int) -> Move | None:
        """The line along which a variable that depends on S' can enter, if it does depend."""
        line = self.move(-border, driven=v)
        keys = np.array(self.bordered.keys, dtype=np.int64)
        h = np.where(keys == TUBE, line.tube, line.bias)
        h[keys >= 0] = line.rate[:-1]
        if not self._is_flat(line, own + float(border @ h), -self._corner * line.tube**2):
            return None
        return line

    def _is_flat(self, line: Move, curvature: float, more: float = 0.0) -> bool:
        """Whether no g changes along a line; `more` belongs to the terms of its curvature."""
        own = self.extended.scale * self.extended.K.diagonal()
        own += _SMALL * own.max()  # K(x, x) may be zero
        terms = float(line.rate**2 @ own[line.members >> 1]) + more
        if _FLATTEST * terms < curvature < _FLAT * terms:
            return bool((np.abs(line.g) <= _HARMLESS * line.noise).all())
        return curvature <= _FLATTEST * terms

    def _exchange(self, line: Move) -> None:
        """Follow a line that changes no g until one of its variables leaves. Sets: alpha, state."""
        s, none = self.extended, np.zeros(2 * self.extended.size)
        upper = s.alpha[line.members[-1]] == s.C  # the last one comes from there
        line = Move(line.members, -line.rate if upper else line.rate, 0.0, 0.0, none, none)
        step, who = s.largest(line, np.inf)
        if who is None:
            raise np.linalg.LinAlgError("a line along which nothing changes")
        s.advance(line, step)
        s.leave(who, bool(line.rate[line.members == who] > 0))
        self.exchanges += 1

    def shed(self) -> None:
        """Let a variable leave S if S depends without the row of e'. Sets: alpha, state."""
        if TUBE not in self.bordered or len(self.extended.doubled):
            return
        line = self.move(self.right(0.0, 1.0, np.zeros(2 * self.extended.size)))
        if self._is_flat(line, -line.tube):
            self._exchange(line)

    def refine(self, total: float) -> None:
        """One Newton step: both sums, and g = 0 on S'. Sets: alpha, bias, tube, g."""
        s = self.extended
        sums = -float(s.z @ s.alpha), total - float(s.alpha.sum())
        line = self.move(self.right(*sums, -s.g))
        s.advance(line, 1.0)
        s.refresh()


def _regular(keys: set[int], stage: Stage) -> set[int]:
    """These rows without those of multipliers for which there are too few variables."""
    labels = {key & 1 for key in keys if key >= 0}
    tube = {"ia": len(labels) == 2, "raia": False, "sra": True}[stage]
    return keys - ({BIAS} if not labels else set()) - ({TUBE} if not tube else set())
