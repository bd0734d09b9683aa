"""Sequential minimal optimisation with conjugate directions, on a dense K in beta space.

    maximise D(beta) = sum t beta - 1/2 c'Kc,  lower <= beta <= upper,  group sums fixed

Within a group, moving delta from variable j to variable i changes D by
delta (F_i - F_j) - delta^2 eta_ij / 2 with eta_ij = K_ii + K_jj - 2 K_ij. In the group with the
largest violation max_up F - min_down F, i = argmax F over beta < upper, and j maximises
(F_i - F_j)^2 / max(eta_ij, tau) among beta > lower with F_j < F_i. Stop when the violation of every
group is at most tol.

After a step that ended at no bound, the direction d of the pair is made conjugate to that step's
direction p: d - (d'Kp / p'Kp) p, of curvature eta_ij - (d'Kp)^2 / p'Kp, which the selection takes
instead of eta_ij, but at least a hundredth of it. Directions with more than 16 variables are not
carried on. If a bound cuts such a step, that of the pair alone is taken where it gains as much.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

TAU = 1e-12
LEAST = 0.01  # curvature of a conjugate direction, relative to that of its pair
MOST = 16  # variables of a direction that is carried on
SNAP = 1e-14  # of a box: what ends nearer to a bound ends there


class SMOResult(NamedTuple):
    beta: np.ndarray
    steps: int
    violation: float


def feasible_start(dual: Any) -> np.ndarray:
    """Beta with the required sums: in each group the same fraction of every box."""
    end = np.asarray(dual.lower, dtype=np.float64) + np.asarray(dual.upper, dtype=np.float64)
    beta = np.zeros_like(end)
    for g, total in enumerate(dual.totals):
        member = np.asarray(dual.group) == g
        if total != 0:
            beta[member] = end[member] * (total / end[member].sum())
    return beta


def smo(K, dual: Any, beta=None, *, tol: float = 1e-6, max_steps: int = 100_000) -> SMOResult:
    """Improve a feasible beta (default: ``feasible_start``) until the violation is <= tol."""
    K = np.asarray(K, dtype=np.float64)
    n = len(K)
    shape = np.shape(dual.target)
    arrays = (dual.target, dual.lower, dual.upper)
    t, lower, upper = (np.ravel(v).astype(np.float64) for v in arrays)
    group, row = np.ravel(dual.group), np.arange(t.size) % n
    beta = np.array(feasible_start(dual) if beta is None else beta, dtype=np.float64).ravel()
    F = t - (K @ beta.reshape(shape).sum(axis=0))[row]
    last = None
    for step in range(max_steps + 1):
        i, j, violation = select(K, F, beta, lower, upper, group, last)
        if violation <= tol or step == max_steps:
            return SMOResult(beta.reshape(shape), step, violation)
        pair = np.zeros(t.size)
        pair[i], pair[j] = 1.0, -1.0
        along = direction(K, row, pair)
        slope = F[i] - F[j]
        delta, cut = length(along, slope, beta, lower, upper)
        if last is not None:
            cross = last.image[i] - last.image[j]
            bend = along.bend - cross**2 / last.bend
            if bend >= LEAST * along.bend:
                carry = -cross / last.bend
                image = along.image + carry * last.image
                other = Direction(pair + carry * last.move, image, bend)
                reach, ends = length(other, slope, beta, lower, upper)
                if not ends or gain(other, reach, slope) > gain(along, delta, slope):
                    along, delta, cut = other, reach, ends
        moved = beta + delta * along.move
        rest, width = np.where(along.move > 0, upper - moved, moved - lower), upper - lower
        ends = (along.move != 0) & (rest <= SNAP * width)
        beta = np.where(ends, np.where(along.move > 0, upper, lower), moved)
        F -= delta * along.image
        last = None if cut or np.count_nonzero(along.move) > MOST else along
    raise AssertionError("unreachable")


class Direction(NamedTuple):
    move: np.ndarray  # of each variable
    image: np.ndarray  # K times the move, at the row of each variable
    bend: float  # curvature


def direction(K, row, move) -> Direction:
    image = K[:, row] @ move
    return Direction(move, image[row], max(float(move @ image[row]), TAU))


def length(along: Direction, slope, beta, lower, upper) -> tuple[float, bool]:
    """Return the gain of the dual along a direction within the box, and whether a bound ends it."""
    size = np.abs(along.move)
    part = size > 0
    room = np.where(along.move > 0, upper - beta, beta - lower)[part]
    best = slope / along.bend
    cut = bool((best * size[part] >= room - SNAP * (upper - lower)[part]).any())
    return min(best, float((room / size[part]).min())), cut


def gain(along: Direction, delta, slope) -> float:
    return delta * (slope - 0.5 * delta * along.bend)


def select(K, F, beta, lower, upper, group, last=None) -> tuple[int, int, float]:
    """The pair (i, j) of second-order selection and the violation before the step."""
    row = np.arange(F.size) % len(K)
    diag = np.diag(K)
    pair, violation = (0, 0), 0.0
    for g in np.unique(group):
        up = np.flatnonzero((group == g) & (beta < upper))
        down = np.flatnonzero((group == g) & (beta > lower))
        if not up.size or not down.size:
            continue
        i = up[np.argmax(F[up])]
        drop = F[i] - F[down]
        if drop.max() > violation:
            violation = drop.max()
            eta = np.maximum(diag[row[i]] + diag[row[down]] - 2 * K[row[i], row[down]], TAU)
            if last is not None:
                cross = last.image[i] - last.image[down]
                eta = np.maximum(eta - cross**2 / last.bend, LEAST * eta)
            gain = np.where(drop > 0, drop, 0.0) ** 2 / eta
            pair = int(i), int(down[np.argmax(gain)])
    return *pair, float(violation)
