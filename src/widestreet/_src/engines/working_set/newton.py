"""Newton steps on the free variables of a working set: the end game of pair steps.

With the variables at a bound held fixed, the dual on the free ones is a quadratic with linear
equalities; its maximiser solves

    [ K_FF  A' ] [ d      ]   [ F_F ]
    [ A     0  ] [ lambda ] = [ 0   ]        A: one row of ones per group

One factorisation replaces the slow tail of pair steps at large C. The step is cut at the first
bound that is hit; that variable leaves the free set and the solve is repeated.
Each step maximises the dual along its direction, so the objective never falls.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from widestreet import _core
from widestreet._src.arrays import Floats, Ints
from widestreet._src.engines.working_set.tile import WorkingSet

MAX_FREE = 2000  # a factorisation of this order takes some tenths of a second
_CUT_STEPS = 3  # steps cut at a bound before pair steps go on
_FEW_FREE, _MORE_CUT_STEPS = 200, 50  # where steps cost next to nothing
_ROWS_AT_A_TIME = 256  # of the matrix, so that no second one is made
_RIDGE = 1e-13  # of the mean diagonal: keeps a rank-deficient K_FF solvable


def polish(work: WorkingSet) -> bool:
    """Take Newton steps until one is not cut short, or until the free set proves unsettled.

    Returns
    -------
    bool
        Whether the last step was a whole one: the free variables are at their maximiser.

    Sets: beta and score of the working set.
    """
    few = int(work.free().sum()) <= _FEW_FREE
    for _ in range(_MORE_CUT_STEPS if few else _CUT_STEPS):
        work.poll.look()  # a factorisation takes a while
        layer, slot = (np.ascontiguousarray(index) for index in np.nonzero(work.free()))
        if len(slot) == 0 or len(slot) > MAX_FREE or 8 * len(slot) ** 2 > work.spare:
            return False
        direction = _direction(work, layer, slot)
        if direction is None:
            return False
        if _advance(work, layer, slot, direction) == 1.0:
            return True
    return False


def _direction(work: WorkingSet, layer: Ints, slot: Ints) -> Floats | None:
    """Newton direction of the free variables, or None if it is not one of ascent."""
    f = work.target[layer, slot] - work.score[slot]
    group = work.group[layer, slot]
    A = np.array([group == g for g in np.unique(group)], dtype=np.float64)
    if np.max(A.sum(axis=1)) == 1:  # nobody to exchange with: they are where they must be
        return np.zeros(len(slot))
    K = work.part(slot, np.float64)
    scale = max(K.trace() / len(slot), 1e-300)
    for a in range(0, len(slot), _ROWS_AT_A_TIME):
        part = slice(a, a + _ROWS_AT_A_TIME)
        K[part] += scale * (A[:, part].T @ A)  # zero where A d = 0; makes K definite there
    K.flat[:: len(slot) + 1] += _RIDGE * scale
    factor, info = linalg.lapack.dpotrf(K.T, lower=True, overwrite_a=True, clean=False)
    if info != 0:
        return None
    solved, _ = linalg.lapack.dpotrs(factor, np.column_stack([f, A.T]), lower=True)
    schur = A @ solved[:, 1:]
    try:
        multiplier = linalg.solve(schur, A @ solved[:, 0], assume_a="pos")
    except linalg.LinAlgError:
        return None
    direction: Floats = solved[:, 0] - solved[:, 1:] @ multiplier
    for row in A:  # the sums of the groups must not move
        members = row > 0
        direction[members] -= direction[members].mean()
    return direction if np.isfinite(direction).all() and f @ direction > 0 else None


def _advance(work: WorkingSet, layer: Ints, slot: Ints, direction: Floats) -> float:
    """Move along a direction, at most to its end or to the first bound. Sets: beta, score."""
    beta = work.beta[layer, slot]
    lower, upper = work.lower[layer, slot], work.upper[layer, slot]
    bound = np.where(direction > 0, upper, lower)
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(direction != 0, (bound - beta) / direction, np.inf)
    length = float(min(1.0, room.min()))
    moved = np.clip(beta + length * direction, lower, upper)
    moved[room <= length] = bound[room <= length]
    change = moved - beta
    work.beta[layer, slot] = moved
    by = np.zeros(work.size)
    _core.add_scores(work.tile, work.size, slot, change, by, work.threads)
    work.score[work.present] += by
    return length
