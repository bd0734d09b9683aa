"""What a fitted model is worth, from its public attributes and the data alone.

Nothing here is shared with the package. Kernel values come from their definitions and sums are
taken in long double, or in float64 where the problem is large and the bound on the rounding of
float64 is small beside the tolerance.

A two-class problem is  max t'beta - 1/2 c'Kc,  0 <= s beta <= box,  sums of groups fixed, where c
is the sum of a row's variables, F = t - K c, and the violation is the largest over groups of
max F over beta < upper - min F over beta > lower.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

LD = np.longdouble
LARGE = 20_000_000  # products of features, from which on float64 is tried first
AT_BOUND = 1e-13  # of a box: coefficients of merged rows are split in float64
FEASIBLE = 1e-9  # of the sum of the boxes


@dataclass(frozen=True)
class Kernel:
    """A kernel by name and parameters, or a matrix of values: "matrix"."""

    name: str
    gamma: float = 1.0
    coef0: float = 0.0
    degree: int = 3
    values: np.ndarray | None = None

    def block(self, X, I, J, dtype) -> tuple[np.ndarray, np.ndarray]:
        """K[I, J], and what a unit of rounding per operation can change in it."""
        if self.values is not None:
            K = self.values[np.ix_(I, J)].astype(dtype)
            return K, np.abs(K)
        A, B = X[I].astype(dtype), X[J].astype(dtype)
        gamma, coef0 = dtype(self.gamma), dtype(self.coef0)
        if self.name in ("rbf", "laplacian"):
            distance = np.zeros((len(A), len(B)), dtype=dtype)
            for k in range(X.shape[1]):
                difference = A[:, k, None] - B[None, :, k]
                distance += difference**2 if self.name == "rbf" else np.abs(difference)
            K = np.exp(-gamma * distance)
            if self.name == "rbf":  # others may compute the distance from the norms
                distance = 2 * ((A**2).sum(axis=1)[:, None] + (B**2).sum(axis=1)[None, :])
            return K, K * (1 + gamma * distance)
        dot, size = A @ B.T, np.abs(A) @ np.abs(B).T
        if self.name == "linear":
            return dot, size
        inner, size = gamma * dot + coef0, gamma * size + abs(coef0)
        if self.name == "poly":
            return inner**self.degree, max(1, self.degree) * size**self.degree
        return np.tanh(inner), 1 + size


@dataclass(frozen=True)
class Dual:
    """A dual over n rows: variables are those of one layer, or of two for a regression.

    `target` is (layers, n), `sign` +1 or -1 of each variable, `box` of each row.
    """

    target: np.ndarray
    sign: np.ndarray
    box: np.ndarray
    group: np.ndarray
    totals: np.ndarray


@dataclass(frozen=True)
class Verdict:
    """Figures in the precision of the judge, and by how much the violation can be off."""

    violation: float
    bound: float
    primal: float
    dual: float
    figure_bound: float  # of primal and dual
    infeasibility: float
    unique: bool  # whether the coefficients say what every variable is
    score: np.ndarray
    score_bound: np.ndarray


def c_svc(y, box) -> Dual:
    y = np.asarray(y, dtype=float)
    return Dual(y[None], y[None], box, np.zeros((1, len(y)), int), np.zeros(1))


def eps_svr(y, box, epsilon: float) -> Dual:
    y = np.asarray(y, dtype=float)
    sign = np.repeat([[1.0], [-1.0]], len(y), axis=1)
    return Dual(y - sign * epsilon, sign, box, np.zeros(sign.shape, int), np.zeros(1))


def nu_svc(y, weight, nu: float) -> Dual:
    y = np.asarray(y, dtype=float)
    half = nu * weight.sum() / 2
    group = (y < 0).astype(int)[None]
    return Dual(np.zeros((1, len(y))), y[None], weight, group, np.array([half, -half]))


def nu_svr(y, weight, C: float, nu: float) -> Dual:
    y = np.asarray(y, dtype=float)
    sign = np.repeat([[1.0], [-1.0]], len(y), axis=1)
    half = C * nu * weight.sum() / 2
    group = np.repeat([[0], [1]], len(y), axis=1)
    return Dual(np.stack([y, y]), sign, C * weight, group, np.array([half, -half]))


def one_class(weight, nu: float) -> Dual:
    n = len(weight)
    total = np.array([nu * weight.sum()])
    return Dual(np.zeros((1, n)), np.ones((1, n)), weight, np.zeros((1, n), int), total)


def distinct(X, label) -> np.ndarray:
    """A number for each row, the same for rows that are equal and have equal labels."""
    key = np.ascontiguousarray(np.column_stack([X, label]) + 0.0)  # zeros of either sign are equal
    return np.unique(key, axis=0, return_inverse=True)[1].ravel()


def merged(X, label, box, coef):
    """Equal rows as one, with the sums of their boxes and coefficients; and where each went."""
    where = distinct(X, label)
    first = np.unique(where, return_index=True)[1]
    return first, np.bincount(where, box), np.bincount(where, coef)


def judge(kernel: Kernel, X, dual: Dual, coef, tol: float) -> Verdict:
    """Judge coefficients, one per row; rows without a box are no part of the problem."""
    n, support = len(dual.box), np.flatnonzero(coef)
    large = n * max(1, len(support)) * X.shape[1] > LARGE
    for dtype in [np.float64, LD] if large else [LD]:
        score, error = _scores(kernel, X, support, coef, dtype)
        bound = 2 * float(error.max(initial=0.0))
        if bound < tol / 100:
            break
    beta = _layers(dual, coef, score)
    return _figures(dual, beta, coef, score, error, bound)


def _scores(kernel, X, support, coef, dtype) -> tuple[np.ndarray, np.ndarray]:
    """Scores K c of all rows, and by how much each can be off."""
    n = X.shape[0] if kernel.values is None else len(kernel.values)
    score, size = np.zeros(n, dtype=dtype), np.zeros(n)
    c = coef[support].astype(dtype)
    step = max(1, 2_000_000 // max(1, len(support)))
    for a in range(0, n, step):
        I = np.arange(a, min(n, a + step))
        K, scale = kernel.block(X, I, support, dtype)
        score[I], size[I] = K @ c, (scale @ np.abs(c)).astype(float)
    units = float(np.finfo(dtype).eps) * (X.shape[1] + len(support) + 16)
    if kernel.values is not None:
        units += float(np.finfo(np.float64).eps) * 64  # the values themselves depend on the block
    return score, units * size


def _layers(dual: Dual, coef, score) -> np.ndarray:
    """The variables behind the coefficients.

    The two layers of a row of a nu-SVR may both be used, which coefficients do not show: what the
    sums ask for beyond them goes to the rows that are nearest to where that costs nothing.
    """
    if len(dual.target) == 1:
        return coef[None].copy()
    beta = np.stack([np.maximum(coef, 0), np.minimum(coef, 0)])
    short = dual.totals[0] - beta[0].sum()
    if len(dual.totals) == 1 or short <= AT_BOUND * dual.box.sum():
        return beta
    f = (dual.target[0] - score).astype(float)
    free = (np.abs(coef) > 0) & (np.abs(coef) < dual.box * (1 - 1e-9))
    middle = np.median(f[free]) if free.any() else np.median(f)
    for r in np.argsort(np.abs(f - middle), kind="stable"):
        more = min(short, dual.box[r] - abs(coef[r]))
        beta[:, r] += [more, -more]
        short -= more
        if short <= 0:
            break
    return beta


def _figures(dual: Dual, beta, coef, score, error, bound: float) -> Verdict:
    f = dual.target - score
    size = dual.sign * beta
    here = np.broadcast_to(dual.box > 0, beta.shape)
    lower, upper = np.minimum(0, dual.sign * dual.box), np.maximum(0, dual.sign * dual.box)
    slack = AT_BOUND * dual.box
    can_grow = here & np.where(dual.sign > 0, size < dual.box - slack, size > 0)
    can_shrink = here & np.where(dual.sign > 0, size > 0, size < dual.box - slack)
    quadratic = (coef.astype(LD) @ score) / 2
    violation, primal = LD(0), quadratic
    total_box = max(float(dual.box.sum()), 1e-300)
    outside = np.maximum(-size, size - dual.box).max(initial=0.0) / total_box
    for g, total in enumerate(dual.totals):
        mine = dual.group == g
        up, down = f[mine & can_grow], f[mine & can_shrink]
        if up.size and down.size:
            violation = max(violation, up.max() - down.min())
        outside = max(outside, abs(beta[mine].sum() - total) / total_box)
        if (mine & here).any():
            pick = mine & here
            primal += _least(f[pick], lower[pick], upper[pick], total)
    value = (dual.target * beta).sum() - quadratic
    terms = float(np.abs(dual.target * beta).sum() + abs(quadratic))
    figure_bound = float((dual.box * error).sum() + np.abs(coef) @ error)
    figure_bound += 1e-12 * (terms + float(abs(primal)))
    return Verdict(
        float(violation), bound, float(primal), float(value), figure_bound, float(outside),
        bool((np.abs(beta).sum(axis=0) <= np.abs(coef)).all()), score, error,
    )  # fmt: skip


def _least(f, lower, upper, total):
    """min over b of b total + sum max(upper (f - b), lower (f - b)), by its kinks."""
    order = np.argsort(f, kind="stable")
    f, lower, upper = f[order], lower[order].astype(LD), upper[order].astype(LD)
    slope = total - upper.sum() + np.cumsum(upper - lower)
    at = min(int(np.searchsorted(slope, 0)), len(f) - 1)
    near = f[max(0, at - 1) : at + 2]
    return min(b * total + np.maximum(upper * (f - b), lower * (f - b)).sum() for b in near)


def hard_margin(kernel: Kernel, X, y, share, offset: float) -> tuple[float, float]:
    """a'h - min h for h = Qa of weights on the simplex, and by how much it can be off."""
    support = np.flatnonzero(share)
    score, error = _scores(kernel, X, support, y * share, LD)
    margin = y * (score + offset * (y * share).sum())
    return float(share @ margin - margin.min()), 2 * float(error.max())
