"""An accurate solver for small dense QPs, with its own proof of accuracy.

    min_a  f(a) = 1/2 a'Qa + p'a     subject to     A a = d,   0 <= a <= U       (Q PSD)

Method: Mehrotra's predictor-corrector interior point method, then the solution is snapped to the
bounds it approaches and the free variables are solved for exactly. All of it in long double
(64 bits of mantissa on x86), because the problems to be judged have boxes up to 1e6 and kernel
matrices without full rank, where float64 loses the digits that the tests ask about.

Accuracy, by weak duality: with g = Qa + p + A'lam, for every lam and every feasible a

    f(a) - f(optimum) <= gap(a, lam) = sum_i max(g_i, 0) a_i + max(-g_i, 0) (U_i - a_i).

The inequality needs Q PSD; eigenvalues that rounding of Q pushed below zero by e weaken the bound
by e |U|^2 / 2, which is as much as the entries of a float64 matrix can tell.

Symbols: low <= a <= high the box (0 and U, but see _twins); r = a - low and s = high - a the
distances from its ends; z, w >= 0 their multipliers; lam those of A a = d; mu = (r'z + s'w) / 2n.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

LD = np.longdouble
EPS = np.finfo(LD).eps
RHO = LD(1e-16)  # proximal term relative to max diag Q: keeps factors positive, moves no optimum
RELATIVE_GAP = LD(1e-16)  # the interior point stops here, or where it no longer improves
PATIENCE = 5  # steps in which the gap must halve
POLISHED_GAP = LD(5e-11)  # exact bounds are worth a gap of this size
BACK_OFF = LD(0.995)  # of the way to the nearest bound
MAX_STEPS = 150


class Optimum(NamedTuple):
    """The point, f(point), and the weak-duality bound below which f cannot go."""

    a: np.ndarray
    objective: float
    lower_bound: float


class _Iterate(NamedTuple):
    a: np.ndarray
    r: np.ndarray  # a - low and high - a are carried along: close to a bound
    s: np.ndarray  # the differences have no digits left
    lam: np.ndarray
    z: np.ndarray
    w: np.ndarray


class _Problem(NamedTuple):
    Q: np.ndarray
    p: np.ndarray
    A: np.ndarray
    d: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def gradient(self, a, lam) -> np.ndarray:
        return self.Q @ a + self.p + self.A.T @ lam

    def objective(self, a):
        return a @ (self.Q @ a) / 2 + self.p @ a

    def scale(self, a):
        """What a gap is small compared with: |f|, or where its terms cancel a millionth of them."""
        terms = np.abs(a) @ (np.abs(self.Q) @ np.abs(a)) / 2 + np.abs(self.p) @ np.abs(a)
        return np.abs(self.objective(a)) + LD(1e-6) * terms

    def gap(self, a, lam):
        """f(a) minus the dual value of (a, lam); the last term is zero for a feasible a."""
        g = self.gradient(a, lam)
        slack = np.maximum(g, 0) @ (a - self.low) + np.maximum(-g, 0) @ (self.high - a)
        return slack + np.abs(lam) @ np.abs(self.A @ a - self.d)


def solve_qp(Q, p, A, d, upper) -> Optimum:
    """Solve min 1/2 a'Qa + p'a, A a = d, 0 <= a <= upper (at most two rows in A)."""
    data = (Q, p, A, d, np.zeros(len(upper)), upper)
    problem = _Problem(*(np.asarray(v, dtype=np.float64).astype(LD) for v in data))
    a, free = _implied(problem)
    twins = _twins(problem, free)
    free[[j for _, j in twins]] = False
    for i, j in twins:
        problem.low[i] = -problem.high[j]
    gap = LD(0)
    if free.any():
        sub = _restrict(problem, a, free)
        it = _polish(sub, _interior_point(sub))
        a[free], gap = it.a, sub.gap(it.a, it.lam)
    for i, j in twins:
        a[i], a[j] = max(a[i], LD(0)), max(-a[i], LD(0))
    value = problem.objective(a)
    return Optimum(a.astype(np.float64), float(value), float(value - gap))


def _implied(problem: _Problem) -> tuple[np.ndarray, np.ndarray]:
    """Values of the variables that the constraints leave no choice for, and the mask of the others.

    If the largest value of v'a over the box is the required one, every a_i with v_i != 0 is at the
    bound that attains it; v runs over +-the rows of A and their sum and difference.
    """
    _, _, A, d, _, U = problem
    a, free = np.zeros_like(U), U > 0
    combinations = np.eye(len(d)) if len(d) < 2 else np.array([[1, 0], [0, 1], [1, 1], [1, -1]])
    for weights in (*combinations, *-combinations):
        v = weights @ A
        most, size = np.maximum(v, 0) @ U, np.abs(v) @ U
        slack = most - weights @ d
        if slack < -1e-12 * size:
            raise ValueError("the constraints of the QP contradict each other")
        if slack <= 1e-14 * size:
            a[free & (v > 0)] = U[free & (v > 0)]
            free = free & (v == 0)
    return a, free


def _twins(problem: _Problem, free) -> list[tuple[int, int]]:
    """Pairs (i, j) for which only a_i - a_j matters: opposite columns and opposite costs.

    Regression with epsilon = 0 is made of them. As one variable in [-U_j, U_i] the pair has no
    flat direction along which both copies could grow together.
    """
    columns = np.vstack([problem.Q, problem.A, problem.p[None, :]])
    left, pairs = list(np.flatnonzero(free)), []
    while left:
        i = left.pop(0)
        opposite = [j for j in left if (columns[:, i] == -columns[:, j]).all()]
        if opposite:
            pairs.append((i, opposite[0]))
            left.remove(opposite[0])
    return pairs


def _restrict(problem: _Problem, a, free) -> _Problem:
    """The QP in the free variables, the others held at a; dependent rows of A are dropped."""
    Q, p, A, d, low, high = problem
    held = np.where(free, 0, a)
    keep: list[int] = []
    for k in range(len(d)):
        rows = A[np.ix_([*keep, k], free)].astype(np.float64)
        if np.linalg.matrix_rank(rows) == len(rows):
            keep.append(k)
    d = (d - A @ held)[keep]
    p = (p + Q @ held)[free]
    return _Problem(Q[np.ix_(free, free)], p, A[np.ix_(keep, free)], d, low[free], high[free])


def _interior_point(problem: _Problem) -> _Iterate:
    """Mehrotra's method from a feasible point inside the box; returns the iterate of least gap."""
    r, s = _inside(problem)
    a, lam = problem.low + r, np.zeros(len(problem.d), dtype=LD)
    g = problem.gradient(a, lam)
    level = np.abs(g).mean() + np.abs(problem.p).max() * LD(1e-3) + LD(1e-300)
    it = best = _Iterate(a, r, s, lam, np.maximum(g, 0) + level, np.maximum(-g, 0) + level)
    least = mark = problem.gap(a, lam)
    stalled = 0
    for _ in range(MAX_STEPS):
        with np.errstate(all="ignore"):  # an optimum of exactly 0 is approached until it overflows
            it = _mehrotra_step(problem, it)
            gap = problem.gap(it.a, it.lam)
        if not np.isfinite(gap):
            break
        mark, stalled = (gap, 0) if gap < mark / 2 else (mark, stalled + 1)
        if gap < least:
            best, least = it, gap
        if least <= RELATIVE_GAP * problem.scale(best.a) or stalled == PATIENCE:
            break
    return best


def _inside(problem: _Problem) -> tuple[np.ndarray, np.ndarray]:
    """Distances r, s from the ends of the box with A (low + r) = d, r + s = high - low.

    Variables with the same column of A go the same fraction of their way, as close to one half as
    the constraints let them.
    """
    width = problem.high - problem.low
    _, kind = np.unique(problem.A.astype(np.float64), axis=1, return_inverse=True)
    member = kind.ravel() == np.arange(kind.max() + 1)[:, None]
    G = (problem.A @ (member * width).T).astype(np.float64)
    rest = (problem.d - problem.A @ problem.low).astype(np.float64) - G.sum(axis=1) / 2
    fraction = np.clip(0.5 + np.linalg.pinv(G) @ rest, 1e-6, 1 - 1e-6)[kind.ravel()]
    return fraction * width, (1 - fraction) * width


def _mehrotra_step(problem: _Problem, it: _Iterate) -> _Iterate:
    """One predictor-corrector step on the perturbed KKT system

    g - z + w = 0,   A a = d,   r z = mu,   s w = mu.
    """
    a, r, s, lam, z, w = it
    dual_residual = -(problem.gradient(a, lam) - z + w)
    solve = _kkt_solver(problem, z / r + w / s)

    def direction(rz, sw):
        """The step that makes r z and s w change by rz and sw to first order."""
        da, dlam = solve(dual_residual + rz / r - sw / s, problem.d - problem.A @ a)
        return _Iterate(da, da, -da, dlam, (rz - z * da) / r, (sw + w * da) / s)

    def longest(step):
        pairs = ((r, step.r), (s, step.s), (z, step.z), (w, step.w))
        return min((-v[dv < 0] / dv[dv < 0]).min(initial=np.inf) for v, dv in pairs)

    mu = (r @ z + s @ w) / (2 * len(a))
    affine = direction(-r * z, -s * w)
    t = min(LD(1), longest(affine))
    after = (r + t * affine.r) @ (z + t * affine.z) + (s + t * affine.s) @ (w + t * affine.w)
    centre = mu * (after / (2 * len(a) * mu)) ** 3
    step = direction(centre - r * z - affine.r * affine.z, centre - s * w - affine.s * affine.w)
    t = min(LD(1), BACK_OFF * longest(step))
    return _Iterate(*(v + t * dv for v, dv in zip(it, step, strict=True)))


def _kkt_solver(problem: _Problem, D):
    """The solver of [H A'; A 0][x; lam] = [r; e] with H = Q + diag(D) + rho I.

    H + sigma A'A has the same solution once sigma A'e is added to r, and is positive definite
    whenever H is so on the null space of A.
    """
    Q, A = problem.Q, problem.A
    size = max(np.diag(Q).max(), LD(1e-300))
    sigma = np.diag(Q).mean() + LD(1e-300)
    factor = _cholesky(Q + np.diag(D + RHO * size) + sigma * (A.T @ A))
    V = _solve_lower(factor, A.T)
    schur = _cholesky(V.T @ V)

    def solve(r, e):
        x = _solve_lower(factor, r + sigma * (A.T @ e))
        lam = _solve_upper(schur.T, _solve_lower(schur, V.T @ x - e))
        return _solve_upper(factor.T, x - V @ lam), lam

    return solve


def _polish(problem: _Problem, it: _Iterate) -> _Iterate:
    """Put the variables that approach a bound on it, solve for the others; keep it if no worse."""
    low, high = problem.low, problem.high
    curvature = np.diag(problem.Q).max() + LD(1e-300)  # turns a distance into a gradient
    at_low = curvature * it.r < it.z
    at_high = ~at_low & (curvature * it.s < it.w)
    free = ~at_low & ~at_high
    a, lam = np.where(at_low, low, np.where(at_high, high, it.a)), it.lam.copy()
    if free.any():
        sub = _restrict(problem, a, free)
        if len(sub.d) == len(problem.d):
            rounding = EPS * (np.abs(problem.Q) @ np.abs(a)).max()
            noise = max(np.abs(problem.gradient(a, lam)[free]).max(), rounding)
            damping = 1000 * noise * (1 / it.r + 1 / it.s)[free]  # flat directions stay inside
            solve = _kkt_solver(sub, damping)
            for _ in range(8):
                da, dlam = solve(-problem.gradient(a, lam)[free], problem.d - problem.A @ a)
                a[free] += da
                lam += dlam
        a = np.clip(a, low, high)
    allowed = max(problem.gap(it.a, it.lam), POLISHED_GAP * problem.scale(it.a))
    residual, size = np.abs(problem.A @ a - problem.d), np.abs(problem.A) @ np.abs(high - low)
    good = problem.gap(a, lam) <= allowed and (residual <= LD(1e-15) * size).all()
    return it._replace(a=a, lam=lam) if good else it


def _cholesky(M) -> np.ndarray:
    """L with LL' = M, column by column (LAPACK has no long double)."""
    L = np.zeros_like(M)
    for j in range(len(M)):
        column = M[j:, j] - L[j:, :j] @ L[j, :j]
        column[0] = max(column[0], EPS * M[j, j])
        L[j:, j] = column / np.sqrt(column[0])
    return L


def _solve_lower(L, B) -> np.ndarray:
    X = np.array(B, dtype=LD)
    for i in range(len(L)):
        X[i] = (X[i] - L[i, :i] @ X[:i]) / L[i, i]
    return X


def _solve_upper(R, B) -> np.ndarray:
    X = np.array(B, dtype=LD)
    for i in reversed(range(len(R))):
        X[i] = (X[i] - R[i, i + 1 :] @ X[i + 1 :]) / R[i, i]
    return X
