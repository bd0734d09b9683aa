"""The one quadratic programme behind every support vector machine here.

With beta_v = s_v alpha_v, s_v = +-1, each of the five models is

    max_beta   sum_v t_v beta_v - 1/2 sum_rq c_r c_q K(r, q),     c_r = sum of beta_v over row r
    s.t.       lower_v <= beta_v <= upper_v,      sum_{v in group g} beta_v = total_g

which is the textbook min 1/2 a'Qa + p'a, Aa = d, 0 <= a <= C with p_v = -s_v t_v. One of the two
bounds of each variable is zero and tells its sign s_v.

Symbols: u_r = sum_q K(r, q) c_q is the score of a row, F_v = t_v - u_row(v) the indicator of a
variable, b_g the bias of a group; at the optimum free variables have F_v = b_g.

Its Lagrange dual, the primal of the SVM, is the same formula for all of them:

    min_b  1/2 c'Kc + sum_g b_g total_g + sum_v max(upper_v (F_v - b_g), lower_v (F_v - b_g))

Squared losses add a diagonal to the kernel matrix: K + D takes the place of K in the dual, in u and
in F. The primal becomes

    min_b  1/2 c'Kc + sum_g b_g total_g + sum_v (t_v - (Kc)_row(v) - b_g)_+^2 / (2 d_row(v))

for boxes [0, inf), if the two variables of a row, where there are two, belong to one group and the
one that may grow has the smaller t_v.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from widestreet import _core
from widestreet._src.arrays import Bytes, Floats, Ints


@dataclass(frozen=True, eq=False)
class Dual:
    """A quadratic programme over n rows with one or two variables (layers) per row.

    Attributes
    ----------
    target, lower, upper : ndarray of shape (layers, n), float64
    group : ndarray of shape (layers, n), uint8
        Which sum a variable belongs to. With two layers it is constant within a layer.
    total : ndarray of shape (groups,)
        What the variables of each group sum to.
    diagonal : ndarray of shape (n,), optional
        What is added to the diagonal of the kernel matrix, for squared losses; scores and the Gram
        include it. Bounds may be infinite where d > 0.
    """

    target: Floats
    lower: Floats
    upper: Floats
    group: Bytes
    total: Floats
    diagonal: Floats | None = None

    @property
    def layers(self) -> int:
        return int(self.target.shape[0])

    @property
    def rows(self) -> int:
        return int(self.target.shape[1])

    @property
    def groups(self) -> int:
        return len(self.total)

    def native(self) -> _core.Variables:
        """Return the variables as the core takes them, checked."""
        return _core.Variables(self.target, self.lower, self.upper, self.group, groups=self.groups)

    def objective(self, beta: Floats, score: Floats) -> float:
        """Dual objective at `beta`, whose scores K c are `score`."""
        return float((self.target * beta).sum() - 0.5 * beta.sum(axis=0) @ score)

    def feasible_point(self) -> Floats:
        """A point that meets every constraint: zero, or boxes filled in order of the rows."""
        beta = np.zeros_like(self.target)
        for g, total in enumerate(self.total):
            if total == 0:
                continue
            room = np.where(self.group == g, self.upper if total > 0 else -self.lower, 0.0)
            room = np.minimum(room, abs(total))  # boxes may be infinite
            before = np.cumsum(room).reshape(room.shape) - room
            filled = np.clip(abs(total) - before, 0.0, room)
            if not np.isclose(filled.sum(), abs(total), rtol=1e-12, atol=0.0):
                raise ValueError(f"the constraints cannot be met: a sum of {total} does not fit")
            beta += np.sign(total) * filled
        return beta

    def nearest(self, beta: Floats) -> Floats:
        """A feasible point near any other: inside the boxes, then moved to meet the sums.

        Variables that are zero stay zero where the others can do it.
        """
        beta = np.clip(beta, self.lower, self.upper)
        for g, total in enumerate(self.total):
            mine = self.group == g
            short = float(total - beta[mine].sum())
            room = np.where(mine, self.upper - beta if short > 0 else beta - self.lower, 0.0)
            room[np.isinf(room)] = abs(short)
            used = np.where(beta != 0, room, 0.0)
            if used.sum() >= abs(short):
                room = used
            if short != 0 and room.any():
                beta += room * (short / float(room.sum()))
        return np.clip(beta, self.lower, self.upper)


def select(dual: Dual, rows: Ints) -> Dual:
    """The variables of some rows, as arrays of their own."""
    return Dual(
        np.ascontiguousarray(dual.target[:, rows]),
        np.ascontiguousarray(dual.lower[:, rows]),
        np.ascontiguousarray(dual.upper[:, rows]),
        np.ascontiguousarray(dual.group[:, rows]),
        dual.total,
        None if dual.diagonal is None else dual.diagonal[rows],
    )


def split(dual: Dual, sizes: Sequence[int], totals: Sequence[Floats]) -> list[Dual]:
    """The variables of consecutive blocks of rows, each with sums of its own."""
    found, end = [], 0
    for size, total in zip(sizes, totals, strict=True):
        begin, end = end, end + size
        found.append(
            Dual(
                dual.target[:, begin:end],
                dual.lower[:, begin:end],
                dual.upper[:, begin:end],
                dual.group[:, begin:end],
                total,
                None if dual.diagonal is None else dual.diagonal[begin:end],
            )
        )
    return found


def join(parts: Sequence[Dual]) -> Dual:
    """The variables of several blocks of rows, one after the other."""
    diagonals = [part.diagonal for part in parts if part.diagonal is not None]
    return Dual(
        np.concatenate([part.target for part in parts], axis=1),
        np.concatenate([part.lower for part in parts], axis=1),
        np.concatenate([part.upper for part in parts], axis=1),
        np.concatenate([part.group for part in parts], axis=1),
        parts[0].total,
        np.concatenate(diagonals) if diagonals else None,
    )
