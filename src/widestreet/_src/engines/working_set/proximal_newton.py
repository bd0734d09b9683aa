"""Proximal Newton steps on a working set: many variables reach or leave their bounds at once.

Over the set S of variables that are free or violate, the step maximises

    F_S' d - 1/2 d' (K_SS + R) d      sum of d over each group = 0,  lower <= beta + d <= upper

where R is a diagonal of about the violation over the width of each box: it adds at most about the
violation to F, for a variable that crosses its box. Without R the maximiser lies far outside the
box if K is nearly singular, and a step that is cut at the first bound is very short (newton.py
takes such steps near the optimum). The bounds are met in passes:

    1) factorise K_SS + R = L L'
    2) solve with A d = 0 and the variables found so far at their bounds, C d = known, by
           mu = (V'V)^-1 (V' L^-1 F - known),   d = L^-T (L^-1 F - V mu),   V = L^-1 C'
    3) variables that leave their box are put on the bound: a row of C and a column of V each
    4) when none does, move along d as far as the dual rises

Both ends of the move are feasible and its length is exact, so that the objective never decreases
for any precision of the factors. They are float32 if R exceeds its rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

from widestreet import _core
from widestreet._src.arrays import Bools, Floats, Ints, Real
from widestreet._src.engines.working_set.tile import WorkingSet

MOST = 4000  # variables: a factorisation takes some tenths of a second
_RIDGE = 0.3  # of the violation over the width of a box
_LEAST_RIDGE = 1e-13  # of the mean diagonal
_SINGLE = 2e-8  # of the trace: a larger ridge exceeds the rounding of float32
_NEAR = 0.25  # of tol: variables at a bound are in S if they violate by more
_PASSES = 6
_PARTS = 6  # in which columns are computed
_COPIES = 3  # of the columns, while others join them


@dataclass(frozen=True, eq=False)
class _Face:
    """Variables of a step (the set S) and their bounds."""

    layer: Ints
    slot: Ints
    f: Floats  # F relative to the middle of the group
    beta: Floats
    lower: Floats
    upper: Floats
    sums: Floats  # a row of ones per group
    ridge: Floats


def leap(work: WorkingSet, tol: float) -> bool:
    """Take one step.

    Returns
    -------
    bool
        True if a variable moved.

    Sets: beta and score of the working set.
    """
    work.poll.look()  # a factorisation takes a while
    face = _face(work, tol)
    if face is None or len(face.slot) > MOST:
        return False
    try:
        factor = _factor(work, face)
    except linalg.LinAlgError:
        return False
    if factor is None:
        return False
    change = _change(face, factor, work.spare)
    return change is not None and _move(work, face, change)


def _face(work: WorkingSet, tol: float) -> _Face | None:
    """Return the variables of a step, or None if none violates."""
    highest, lowest = work.extremes()
    gap = highest - lowest
    both = np.isfinite(gap)
    violation = float(np.max(gap, where=both, initial=0.0))
    if not violation > tol:
        return None
    part, f = _part(work, tol, highest, lowest)
    layer, slot = np.nonzero(part)
    # Variables near a bound come last: they are fixed first, and their columns are short.
    beta = work.beta[layer, slot]
    far = np.minimum(beta - work.lower[layer, slot], work.upper[layer, slot] - beta)
    order = np.argsort(-far, kind="stable")
    layer, slot = layer[order], slot[order]
    lower, upper = work.lower[layer, slot], work.upper[layer, slot]
    group = work.group[layer, slot]
    return _Face(
        layer,
        slot,
        f[layer, slot],
        work.beta[layer, slot],
        lower,
        upper,
        np.array([group == g for g in np.unique(group)], dtype=np.float64),
        _RIDGE * violation / (upper - lower),
    )


def taking_part(work: WorkingSet, tol: float) -> int:
    """Return the number of variables in a step."""
    return int(_part(work, tol, *work.extremes())[0].sum())


def _part(work: WorkingSet, tol: float, highest: Floats, lowest: Floats) -> tuple[Bools, Floats]:
    """Return the mask of S, and F relative to the middle of each group."""
    both = np.isfinite(highest) & np.isfinite(lowest)
    with np.errstate(invalid="ignore"):
        middle = np.where(both, 0.5 * (highest + lowest), 0.0)
    group = work.group[:, work.present]
    f = work.indicator() - middle[group]
    grow, shrink = work.may_grow(), work.may_shrink()
    part = (grow & shrink) | (grow & (f > _NEAR * tol)) | (shrink & (f < -_NEAR * tol))
    return part & both[group], f


def _factor(work: WorkingSet, face: _Face) -> Real | None:
    """Return the lower factor of K_SS + R, in float32 if R allows it; None if it is too large."""
    n = len(face.slot)
    trace = float(work.tile.diagonal()[face.slot].sum(dtype=np.float64))
    ridge = np.maximum(face.ridge, _LEAST_RIDGE * trace / n)
    single = ridge.min() > _SINGLE * trace
    dtype: type[np.floating[Any]] = np.float32 if single else np.float64
    if np.dtype(dtype).itemsize * n**2 > work.spare:
        return None
    K = work.part(face.slot, dtype)
    K.flat[:: n + 1] += ridge
    potrf = linalg.get_lapack_funcs("potrf", (K,))
    factor: Real
    factor, info = potrf(K.T, lower=True, overwrite_a=True, clean=False)
    if info != 0:
        raise linalg.LinAlgError("not positive definite")
    return factor


def _change(face: _Face, factor: Real, memory: int) -> Floats | None:
    """Return the change of the variables, each within its box; None if it cannot be computed.

    `memory` is the limit in bytes of the factor and the columns of V.
    """
    n, groups = len(face.slot), len(face.sums)
    trsm = linalg.get_blas_funcs("trsm", (factor,))
    base = trsm(1.0, factor, face.f[:, None].astype(factor.dtype), lower=True)
    V = trsm(1.0, factor, np.asfortranarray(face.sums.T, dtype=factor.dtype), lower=True)
    low, high = face.lower - face.beta, face.upper - face.beta
    products = V.T @ V
    fixed, known = np.empty(0, dtype=np.int64), np.zeros(groups)
    for _ in range(_PASSES):
        right = (V.T @ base)[:, 0] - known
        _, mu, info = linalg.lapack.dposv(products, right)  # accuracy is not needed here
        if info != 0:
            return None
        part = base - (V @ mu.astype(factor.dtype))[:, None]
        change = trsm(1.0, factor, part, lower=True, trans_a=True)[:, 0].astype(np.float64)
        change[fixed] = known[groups:]
        beyond = np.flatnonzero((change < low) | (change > high))
        if len(beyond) == 0:
            break
        count = len(fixed) + len(beyond)
        if count > n // 2 or _memory(factor, int(beyond[0]), count) > memory:
            return None
        bound = np.where(change < low, low, high)[beyond]
        fixed, known = np.concatenate([fixed, beyond]), np.concatenate([known, bound])
        new = _unit_columns(factor, beyond)
        cross = V.T @ new
        products = np.block([[products, cross], [cross.T, new.T @ new]])
        V = np.hstack([V, new])
    else:
        return None
    return _balanced(face, change, low, high, fixed)


def _memory(factor: Real, first: int, count: int) -> int:
    """Return the bytes of the factor, of a copy of its part below a row, and of columns of V."""
    n = len(factor)
    return factor.nbytes + factor.itemsize * ((n - first) ** 2 + _COPIES * n * count)


def _unit_columns(factor: Real, rows: Ints) -> Real:
    """Return columns of L^-1 for ascending rows; the zeros above each row are skipped."""
    columns = np.zeros((len(factor), len(rows)), dtype=factor.dtype, order="F")
    trsm = linalg.get_blas_funcs("trsm", (factor,))
    for part in np.array_split(np.arange(len(rows)), _PARTS):
        if len(part):
            first = rows[part[0]]
            unit = np.zeros((len(factor) - first, len(part)), dtype=factor.dtype, order="F")
            unit[rows[part] - first, np.arange(len(part))] = 1
            columns[first:, part] = trsm(1.0, factor[first:, first:], unit, lower=True)
    return columns


def _balanced(face: _Face, change: Floats, low: Floats, high: Floats, fixed: Ints) -> Floats | None:
    """Return the change with group sums of zero, up to the rounding of one addition."""
    inside = np.ones(len(change), dtype=bool)
    inside[fixed] = False
    for members in face.sums > 0:
        movable = members & inside
        if not movable.any():
            return None
        change[movable] -= change[members].sum() / movable.sum()
        change[members] = np.clip(change, low, high)[members]
        rest = change[members].sum()
        room = np.where(movable, change - low if rest > 0 else high - change, -np.inf)
        roomiest = int(np.argmax(room))
        if room[roomiest] < abs(rest):
            return None
        change[roomiest] -= rest
    return change if np.isfinite(change).all() else None


def _move(work: WorkingSet, face: _Face, change: Floats) -> bool:
    """Move along `change` to the maximum of the dual, at most to its end. Sets: beta, score."""
    moved = np.zeros(work.size)
    _core.add_scores(work.tile, work.size, face.slot, change, moved, work.threads)
    rise, bend = float(face.f @ change), float(change @ moved[face.slot])
    if not rise > 0:
        return False
    length = 1.0 if bend <= rise else rise / bend
    beta = face.beta + length * change
    if length == 1.0:
        beta[change == face.lower - face.beta] = face.lower[change == face.lower - face.beta]
        beta[change == face.upper - face.beta] = face.upper[change == face.upper - face.beta]
    work.beta[face.layer, face.slot] = np.clip(beta, face.lower, face.upper)
    work.score[work.present] += length * moved
    return True
