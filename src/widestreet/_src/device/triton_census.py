"""Triton programs over all rows in device memory: counts and sums, and the choice of rows.

Arguments are named as in triton_steps.py. Both ENDS are those of the rows of the working set.
"""

from __future__ import annotations

import triton
import triton.language as tl

from widestreet._src.device.launching import Program
from widestreet._src.device.triton_steps import _BIG, _FINITE, _down, _up

FIGURES = 10  # of each program of `count`


@triton.jit
def _middle(top, bottom):
    """Middle of an interval of biases; the finite end if there is one, or zero."""
    left = tl.where(top > -_FINITE, top, tl.where(bottom < _FINITE, bottom, 0.0))
    return 0.5 * (left + tl.where(bottom < _FINITE, bottom, left))


@triton.jit
def _write(OUT, k: tl.constexpr, figure):
    tl.store(OUT + k * tl.num_programs(0) + tl.program_id(0), figure)


@Program
def count(
    COEF, SCORE, TARGET, TUBE, LOW, HIGH, INSIDE, ENDS, OUT, n, tol, B: tl.constexpr
):  # fmt: skip
    """Extremes of UP and DOWN, the bias, numbers and sums over the rows of each program.

    The numbers are of rows outside that violate by more than `tol`, of coefficients that are not
    zero, and of those strictly between their bounds; the sums are of the violations outside, of
    both terms of the dual objective, and of the loss.
    """
    at = tl.program_id(0) * B + tl.arange(0, B)
    here = at < n
    c, score = tl.load(COEF + at, mask=here, other=0.0), tl.load(SCORE + at, mask=here, other=0.0)
    target, tube = tl.load(TARGET + at, mask=here, other=0.0), tl.load(TUBE + at, here, other=0.0)
    low, high = tl.load(LOW + at, mask=here, other=0.0), tl.load(HIGH + at, mask=here, other=0.0)
    inside = tl.load(INSIDE + at, mask=here, other=1) != 0
    bias = _middle(tl.load(ENDS), tl.load(ENDS + 1))
    f = target - score
    up = tl.where(here, _up(c, f, tube, high), -_BIG)
    down = tl.where(here, _down(c, f, tube, low), _BIG)
    excess = tl.maximum(up - bias, bias - down)
    violates = (excess > tol) & (inside == 0)
    e = f - bias
    loss = tl.maximum(high * e, 0.0) + tl.maximum(low * (e + tube), 0.0)
    _write(OUT, 0, tl.max(up, 0))
    _write(OUT, 1, tl.min(down, 0))
    _write(OUT, 2, bias)
    _write(OUT, 3, tl.sum(violates.to(tl.int32), 0) * 1.0)
    _write(OUT, 4, tl.sum(tl.where(violates, excess, 0.0), 0))
    _write(OUT, 5, tl.sum((c != 0).to(tl.int32), 0) * 1.0)
    _write(OUT, 6, tl.sum(((c != 0) & (c > low) & (c < high)).to(tl.int32), 0) * 1.0)
    _write(OUT, 7, tl.sum(target * c + tube * tl.minimum(c, 0.0), 0))
    _write(OUT, 8, tl.sum(c * score, 0))
    _write(OUT, 9, tl.sum(tl.where(here, loss, 0.0), 0))


@Program
def choose(
    COEF, SCORE, TARGET, TUBE, LOW, HIGH, INSIDE, ENDS, FOUND, n, slack, support_slack, tol, chance,
    seed, B: tl.constexpr,
):  # fmt: skip
    """FOUND = rows inside that are nearer to violating than a slack, and violators outside.

    If no coefficient is free, every bias in an interval is optimal. The distance of a row inside is
    then measured from the nearer end of the interval. A violator is chosen with a probability.
    """
    at = tl.program_id(0) * B + tl.arange(0, B)
    here = at < n
    c = tl.load(COEF + at, mask=here, other=0.0)
    f = tl.load(TARGET + at, mask=here, other=0.0) - tl.load(SCORE + at, mask=here, other=0.0)
    tube = tl.load(TUBE + at, mask=here, other=0.0)
    up = _up(c, f, tube, tl.load(HIGH + at, mask=here, other=0.0))
    down = _down(c, f, tube, tl.load(LOW + at, mask=here, other=0.0))
    top, bottom = tl.load(ENDS), tl.load(ENDS + 1)
    bias = _middle(top, bottom)
    interval = (top < bottom) & (top > -_FINITE) & (bottom < _FINITE)
    least, most = tl.where(interval, top, bias), tl.where(interval, bottom, bias)
    stays = tl.minimum(least - up, down - most) < tl.where(c != 0, support_slack, slack)
    enters = (tl.maximum(up - bias, bias - down) > tol) & (tl.rand(seed, at) < chance)
    inside = tl.load(INSIDE + at, mask=here, other=0) != 0
    tl.store(FOUND + at, tl.where(inside, stays, enters).to(tl.int8), mask=here)
