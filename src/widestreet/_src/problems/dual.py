"""The one quadratic programme behind every support vector machine here.

With beta_v = s_v alpha_v, s_v = +-1, each of the five models is

    max_beta   sum_v t_v beta_v - 1/2 sum_rq c_r c_q K(r, q),     c_r = sum of beta_v over row r
    s.t.       lower_v <= beta_v <= upper_v,      sum_{v in group g} beta_v = total_g

which is the textbook min 1/2 a'Qa + p'a, Aa = d, 0 <= a <= C with p_v = -s_v t_v. One of the two
bounds of each variable is zero; the other has the sign s_v.

Symbols: u_r = sum_q K(r, q) c_q is the score of a row, F_v = t_v - u_row(v) the indicator of a
variable, b_g the bias of a group; at the optimum free variables have F_v = b_g.

Its Lagrange dual, the primal of the SVM, is the same formula for all of them:

    min_b  1/2 c'Kc + sum_g b_g total_g + sum_v max(upper_v (F_v - b_g), lower_v (F_v - b_g))

Squared losses add a diagonal to the kernel matrix: K + D takes the place of K in the dual, in u and
in F. The primal becomes

    min_b  1/2 c'Kc + sum_g b_g total_g + sum_v (t_v - (Kc)_row(v) - b_g)_+^2 / (2 d_row(v))

for boxes so large that no bound is active. Where a row has two variables, they must belong to one
group, and the one that may grow must have the smaller t_v.
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
        Group of each variable. With two layers it is constant within a layer.
    total : ndarray of shape (groups,)
        Sum of the variables of each group.
    diagonal : ndarray of shape (n,), optional
        Diagonal added to the kernel matrix for squared losses; scores and the Gram include it.
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

    def indicator(self, score: Floats) -> Floats:
        """Return F = t - u of all variables, from the scores u of the rows."""
        return self.target - score

    def objective(self, beta: Floats, score: Floats) -> float:
        """Return the dual objective at `beta`, whose scores K c are `score`."""
        return float((self.target * beta).sum() - 0.5 * beta.sum(axis=0) @ score)

    def feasible_point(self, score: Floats | None = None) -> Floats:
        """Return a feasible point: zero, or boxes filled one after the other.

        Parameters
        ----------
        score : ndarray of shape (n,), optional
            Scores of the rows. If given, the variables are filled in the order in which they are
            farthest beyond the bias on the side of their bound; otherwise in that of the rows.
        """
        beta = np.zeros_like(self.target)
        for g, total in enumerate(self.total):
            if total == 0:
                continue
            room = np.where(self.group == g, self.upper if total > 0 else -self.lower, 0.0)
            order = np.arange(room.size)
            if score is not None:
                order = np.argsort(-np.sign(total) * self.indicator(score), axis=None)
            inside = room.ravel()[order]
            filled = np.zeros(room.size)
            filled[order] = np.clip(abs(total) - (np.cumsum(inside) - inside), 0.0, inside)
            if not np.isclose(filled.sum(), abs(total), rtol=1e-12, atol=0.0):
                raise ValueError(f"the constraints cannot be met: a sum of {total} does not fit")
            beta += np.sign(total) * filled.reshape(room.shape)
        return beta

    def nearest(self, beta: Floats) -> Floats:
        """Return a feasible point near `beta`: clipped to the boxes, then moved to meet the sums.

        Variables that are zero stay zero if the others have enough room.
        """
        beta = np.clip(beta, self.lower, self.upper)
        for g, total in enumerate(self.total):
            mine = self.group == g
            short = float(total - beta[mine].sum())
            room = np.where(mine, self.upper - beta if short > 0 else beta - self.lower, 0.0)
            used = np.where(beta != 0, room, 0.0)
            if used.sum() >= abs(short):
                room = used
            if short != 0 and room.any():
                beta += room * (short / float(room.sum()))
        return np.clip(beta, self.lower, self.upper)


def select(dual: Dual, rows: Ints) -> Dual:
    """Return the dual restricted to the variables of some rows; arrays are copied."""
    return Dual(
        np.take(dual.target, rows, axis=1),
        np.take(dual.lower, rows, axis=1),
        np.take(dual.upper, rows, axis=1),
        np.take(dual.group, rows, axis=1),
        dual.total,
        None if dual.diagonal is None else dual.diagonal[rows],
    )


def split(dual: Dual, sizes: Sequence[int], totals: Sequence[Floats]) -> list[Dual]:
    """Return one dual per block of consecutive rows, with the sums in `totals`."""
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
    """Return the dual over the concatenated rows of several duals."""
    diagonals = [part.diagonal for part in parts if part.diagonal is not None]
    return Dual(
        np.concatenate([part.target for part in parts], axis=1),
        np.concatenate([part.lower for part in parts], axis=1),
        np.concatenate([part.upper for part in parts], axis=1),
        np.concatenate([part.group for part in parts], axis=1),
        parts[0].total,
        np.concatenate(diagonals) if diagonals else None,
    )
