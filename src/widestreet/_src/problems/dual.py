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
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

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
    """

    target: Floats
    lower: Floats
    upper: Floats
    group: Bytes
    total: Floats

    @property
    def layers(self) -> int:
        return int(self.target.shape[0])

    @property
    def rows(self) -> int:
        return int(self.target.shape[1])

    @property
    def groups(self) -> int:
        return len(self.total)

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
            used = np.where(beta != 0, room, 0.0)
            if used.sum() >= abs(short):
                room = used
            if short != 0 and room.any():
                beta += room * (short / float(room.sum()))
        return np.clip(beta, self.lower, self.upper)


def _signed_box(sign: Floats, C: Floats) -> tuple[Floats, Floats]:
    """Box [0, C] for positive signs, [-C, 0] for negative ones."""
    return np.where(sign > 0, 0.0, -C)[None], np.where(sign > 0, C, 0.0)[None]


def c_svc(y: Floats, C: Floats | float) -> Dual:
    """C-SVC: labels y = +-1, box C per row. Decision value: score + b."""
    y = np.asarray(y, dtype=np.float64)
    lower, upper = _signed_box(y, np.broadcast_to(np.asarray(C, dtype=np.float64), y.shape))
    return Dual(y[None].copy(), lower, upper, np.zeros((1, len(y)), np.uint8), np.zeros(1))


def nu_svc(y: Floats, nu: float, weight: Floats | float = 1.0) -> Dual:
    """nu-SVC in LIBSVM's scaling: labels y = +-1, box equal to the weight.

    The biases of the two groups give rho = (b_minus - b_plus) / 2 and b = (b_plus + b_minus) / 2;
    decision value (score + b) / rho.
    """
    y = np.asarray(y, dtype=np.float64)
    weight = np.broadcast_to(np.asarray(weight, dtype=np.float64), y.shape)
    half = nu * weight.sum() / 2
    smaller = min(weight[y > 0].sum(), weight[y < 0].sum())
    if half > (1 + 1e-12) * smaller:
        raise ValueError(
            f"nu={nu!r} is infeasible: the largest possible nu for these labels and weights is "
            f"{float(2 * smaller / weight.sum())!r}"
        )
    half = min(half, smaller)
    lower, upper = _signed_box(y, weight)
    group = (y < 0).astype(np.uint8)[None]
    return Dual(np.zeros((1, len(y))), lower, upper, group, np.array([half, -half]))


def _tube(plus: Floats, minus: Floats, C: Floats | float) -> tuple[Floats, Floats, Floats]:
    """Targets and boxes of the two layers of a regression."""
    target = np.stack([plus, minus])
    lower, upper = np.zeros_like(target), np.zeros_like(target)
    upper[0] = C
    lower[1] = -np.asarray(C, dtype=np.float64)
    return target, lower, upper


def eps_svr(y: Floats, C: Floats | float, epsilon: float) -> Dual:
    """epsilon-SVR: layer 0 pulls the score up to y - epsilon, layer 1 down to y + epsilon."""
    y = np.asarray(y, dtype=np.float64)
    target, lower, upper = _tube(y - epsilon, y + epsilon, C)
    return Dual(target, lower, upper, np.zeros(target.shape, np.uint8), np.zeros(1))


def nu_svr(y: Floats, C: float, nu: float, weight: Floats | float = 1.0) -> Dual:
    """nu-SVR in LIBSVM's scaling.

    The biases of the two groups give epsilon = (b_plus - b_minus) / 2, b = (b_plus + b_minus) / 2.
    """
    y = np.asarray(y, dtype=np.float64)
    weight = np.broadcast_to(np.asarray(weight, dtype=np.float64), y.shape)
    target, lower, upper = _tube(y, y, C * weight)
    group = np.repeat(np.array([[0], [1]], np.uint8), len(y), axis=1)
    half = C * nu * weight.sum() / 2
    return Dual(target, lower, upper, group, np.array([half, -half]))


def one_class(n: int, nu: float, weight: Floats | float = 1.0) -> Dual:
    """One-class SVM in LIBSVM's scaling: decision value score + b, rho = -b."""
    weight = np.broadcast_to(np.asarray(weight, dtype=np.float64), (n,))
    zero = np.zeros((1, n))
    return Dual(
        zero,
        zero.copy(),
        weight[None].copy(),
        np.zeros((1, n), np.uint8),
        np.array([nu * weight.sum()]),
    )


def select(dual: Dual, rows: Ints) -> Dual:
    """The variables of some rows, as arrays of their own."""
    return Dual(
        np.ascontiguousarray(dual.target[:, rows]),
        np.ascontiguousarray(dual.lower[:, rows]),
        np.ascontiguousarray(dual.upper[:, rows]),
        np.ascontiguousarray(dual.group[:, rows]),
        dual.total,
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
            )
        )
    return found


def join(parts: Sequence[Dual]) -> Dual:
    """The variables of several blocks of rows, one after the other."""
    return Dual(
        np.concatenate([part.target for part in parts], axis=1),
        np.concatenate([part.lower for part in parts], axis=1),
        np.concatenate([part.upper for part in parts], axis=1),
        np.concatenate([part.group for part in parts], axis=1),
        parts[0].total,
    )
