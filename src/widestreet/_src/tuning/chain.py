"""Solution of similar problems over one stored kernel matrix, one after the other.

All problems have the same rows and the same kernel. They differ in boxes, targets and totals: rows
of a held-out fold have a box of width zero. Each problem starts from the one before:

    1) s = argmax_s of the dual objective at s beta, between 1 and the ratio of the scales
    2) clip s beta to the new boxes
    3) move the variables nearest to the margin until the sums of the groups are right
    4) take pair steps until the violation is at most the tolerance; where they are many, proximal
       Newton steps between them

A solution whose variables are all free stays optimal for a larger C (s = 1); one whose variables
are all at their bounds stays there (s is the ratio).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from widestreet import _core
from widestreet._src.arrays import Floats, Real
from widestreet._src.engines.working_set.proximal_newton import MOST, leap, taking_part
from widestreet._src.engines.working_set.tile import Scratch, whole_set
from widestreet._src.kernels.poll import Poll
from widestreet._src.problems.dual import Dual

_BLOCK = 0.74  # of the rows: larger blocks of pair steps would not be copied into the cache
_ROUND_TO = 32  # rows by which a block may be longer
_DIRECT = 0.5  # pair steps per row before the first block
_MANY = 0.4  # of the rows: if fewer take part, a block of them is copied at once
_MOST_STEPS = 400  # pair steps per row after which another engine continues
_STEP_COST = 35.0  # of a pair step per row of its block, in flops of a factorisation
_FACTOR = 2.0  # pair steps may cost so many times a proximal Newton step before one is taken
_LEAST_ORDER = 300  # variables of a proximal Newton step
_FEW_ROWS = 600  # all of them may take part in the first steps: to count them would cost more
_SNAP = 1e-12  # of the width of a box: what is nearer to a bound is put there
_SUM_ROUNDING = 1e-12  # of the sum of all coefficients: a smaller lack is rounding


def working_memory(rows: int) -> int:
    """Return the bytes of a block of pair steps, beside the kernel matrix."""
    return 8 * (int(_BLOCK * rows) + _ROUND_TO) ** 2


@dataclass(frozen=True, eq=False)
class ChainPoint:
    """Solution of one problem of a chain.

    Attributes
    ----------
    beta : ndarray of shape (layers, rows)
    score : ndarray of shape (rows,) or None
        Scores K c of all rows, also of those held out; None if they are not known.
    bias : ndarray of shape (groups,)
        Middle of the interval of minimisers of the primal, as in a certificate.
    violation : float
    steps : int
        Pair steps.
    scale : float
        Parameter that the coefficients are proportional to.
    norm : float
        c'Kc.
    """

    beta: Floats
    score: Floats | None
    bias: Floats
    violation: float
    steps: int
    scale: float
    norm: float

    def ray(self, dual: Dual, scale: float) -> float:
        """Return the factor of beta with the best objective of another dual.

        It lies between 1 and the ratio of the scales.
        """
        ratio = scale / self.scale
        linear = float((dual.target * self.beta).sum())
        best = linear / self.norm if self.norm > 0 else ratio
        return float(np.clip(best, min(1.0, ratio), max(1.0, ratio)))


class Scratches:
    """Scratch memory of problems that are solved one after the other, for some at a time."""

    def __init__(self) -> None:
        self._idle: list[Scratch] = []

    @contextmanager
    def one(self) -> Iterator[Scratch]:
        """Lend one to a problem. Sets: idle."""
        try:
            mine = self._idle.pop()
        except IndexError:  # none, or another thread has just taken the last one
            mine = Scratch()
        yield mine
        self._idle.append(mine)

    @property
    def bytes(self) -> int:
        """Bytes that are kept."""
        return sum(len(one.memory) for one in self._idle)

    def free(self) -> None:
        """Free what is kept. Sets: idle."""
        self._idle.clear()


def solve_next(
    tile: Real,
    dual: Dual,
    scale: float,
    tol: float,
    before: ChainPoint | None,
    poll: Poll,
    most_steps: int | None = None,
    since: int = 0,
    room: int | None = None,
    scratch: Scratch | None = None,
    rounded: Real | None = None,
) -> ChainPoint:
    """Solve a problem from the solution of another one.

    Parameters
    ----------
    tile : ndarray of shape (rows, rows)
        Kernel matrix.
    dual : Dual
    scale : float
        Parameter that the coefficients are proportional to.
    tol : float
        Violation to reach.
    before : ChainPoint or None
        Solution of a problem of the same shape; None for a cold start.
    poll : Poll
    most_steps : int, optional
        Pair steps after which the point is returned as it is.
    since : int
        Pair steps that were taken before this call, without a proximal Newton step.
    room : int, optional
        Bytes for a block of pair steps or a factor; `working_memory` by default.
    scratch : Scratch, optional
        Memory of the problem before.
    rounded : ndarray, optional
        A float64 kernel matrix in float32, for pair steps that rounding allows.
    """
    beta, score = _start(tile, dual, scale, before)
    rows = dual.rows
    room = working_memory(rows) if room is None else room
    work = whole_set(tile, dual, beta, score, poll, tile.nbytes + room)
    work.scratch, work.rounded = scratch or work.scratch, rounded
    largest = max(1, min(int(_BLOCK * rows), int(np.sqrt(room / tile.itemsize)) - _ROUND_TO))
    most = _MOST_STEPS * rows if most_steps is None else most_steps
    violation, steps = np.inf, 0
    order = taking_part(work, tol) if rows > _FEW_ROWS else rows
    direct = int(_DIRECT * rows) if order > _MANY * rows else 0
    while violation > tol and steps < most:
        poll.look()
        if steps and rows > _LEAST_ORDER:
            order = taking_part(work, tol)
        allowed = max(1, _steps_before_leap(order) - since)
        violation, taken = work.solve(tol, min(allowed, most - steps), largest, direct)
        steps, since, direct = steps + taken, since + taken, 0
        if taken == 0:
            break
        if violation > tol and taken >= allowed:
            leap(work, tol)
            since = 0
    figures, [bias] = _core.examine(
        dual.native(), beta, score, end=np.array([rows]), total=dual.total[None]
    )
    norm = float(beta.sum(axis=0) @ score)
    return ChainPoint(beta, score, bias, float(figures[0, 2]), steps, scale, norm)


def solve_together(
    tile: Floats,
    duals: Sequence[Dual],
    scales: Sequence[float],
    tols: Sequence[float],
    before: ChainPoint | None,
    poll: Poll,
) -> Iterator[tuple[ChainPoint, float]]:
    """Solve problems one after the other in one call of the core; yield points and seconds.

    It ends at the first problem that has to be continued by `solve_next`: the violation of the last
    point is above its tolerance then. What `poll` raises is raised after the points that are known.
    The parameters are those of `solve_next`, one for each problem.
    """
    first, problems, rows = duals[0], len(duals), duals[0].rows
    beta, score = np.zeros((first.layers, problems * rows)), np.zeros((problems, rows))
    beta[:, :rows], score[0] = _start(tile, first, scales[0], before)
    figures, bias = np.full((problems, 4), np.nan), np.zeros((problems, first.groups))
    stop: BaseException | None = None
    variables = _core.Variables(
        np.concatenate([dual.target for dual in duals], axis=1),
        np.concatenate([dual.lower for dual in duals], axis=1),
        np.concatenate([dual.upper for dual in duals], axis=1),
        np.concatenate([dual.group for dual in duals], axis=1),
        groups=first.groups,
    )
    try:
        _core.solve_chain(
            tile,
            variables,
            np.array([dual.total for dual in duals]),
            np.array(scales, dtype=np.float64),
            np.array(tols, dtype=np.float64),
            beta,
            score,
            figures,
            bias,
            poll.look,
        )
    except BaseException as why:
        stop = why
    for p, (violation, steps, norm, seconds) in enumerate(figures.tolist()):
        if np.isnan(seconds):
            break
        mine = beta[:, p * rows : (p + 1) * rows]
        yield ChainPoint(mine, score[p], bias[p], violation, int(steps), scales[p], norm), seconds
    if stop is not None:
        raise stop


def _steps_before_leap(order: int) -> int:
    """Return the number of pair steps that cost as much as some proximal Newton steps.

    `order` is the number of variables in such a step.
    """
    if not _LEAST_ORDER < order <= MOST:
        return 1 << 40
    return int(_FACTOR * order**3 / 3 / (_STEP_COST * order))


def _start(
    tile: Real, dual: Dual, scale: float, before: ChainPoint | None
) -> tuple[Floats, Floats]:
    """Return a feasible point and its scores."""
    if before is None:
        beta, score = dual.feasible_point(), np.zeros(dual.rows)
        _add_scores(tile, beta, score)
        return beta, score
    s = before.ray(dual, scale)
    moved = s * before.beta
    snap = _SNAP * (dual.upper - dual.lower)
    beta = np.where(dual.upper - moved <= snap, dual.upper, moved)
    beta = np.where(beta - dual.lower <= snap, dual.lower, beta)
    if before.score is None:
        score = np.zeros(dual.rows)
        _add_scores(tile, beta, score)
    else:
        score = s * before.score
        _add_scores(tile, beta - moved, score)
    for g, total in enumerate(dual.total):
        _balance(tile, dual, g, float(total), beta, score)
    return beta, score


def _balance(tile: Real, dual: Dual, g: int, total: float, beta: Floats, score: Floats) -> None:
    """Move the variables nearest to the margin until their sum is right. Sets: beta, score."""
    mine = dual.group == g
    short = total - float(beta[mine].sum())
    if abs(short) <= _SUM_ROUNDING * max(abs(total), float(np.abs(beta[mine]).sum())):
        return
    f = dual.indicator(score)
    free = mine & (beta > dual.lower) & (beta < dual.upper)
    middle = float(np.median(f[free])) if free.any() else float(np.median(f[mine]))
    room = np.where(mine, dual.upper - beta if short > 0 else beta - dual.lower, 0.0).ravel()
    order = np.argsort(np.where(room > 0, np.abs(f - middle).ravel(), np.inf), kind="stable")
    end = np.cumsum(room[order])
    filled = np.zeros_like(room)
    filled[order] = np.clip(abs(short) - (end - room[order]), 0.0, room[order])
    change = np.sign(short) * filled.reshape(beta.shape)
    beta += change
    np.clip(beta, dual.lower, dual.upper, out=beta)
    _add_scores(tile, change, score)


def _add_scores(tile: Real, change: Floats, score: Floats) -> None:
    """Add the product of the kernel matrix with a change of the coefficients. Sets: score."""
    coef = change.sum(axis=0)
    used = np.flatnonzero(coef)
    if len(used):
        _core.add_scores(tile, len(score), used, np.ascontiguousarray(coef[used]), score, 1)
