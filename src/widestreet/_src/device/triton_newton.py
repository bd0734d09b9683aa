"""Triton programs of a Newton step on a working set in device memory.

The step maximises F'd - d'(K + R)d / 2 where d sums to zero, in passes. A pass solves for the free
variables with the others fixed (`system`, `spread`), then fixes what leaves its box and releases
what should not be fixed (`settle`). PLACE is the position of a variable among the free ones, or -1.
"""

from __future__ import annotations

import triton
import triton.language as tl

from widestreet._src.device.launching import Program

_HALVINGS = tl.constexpr(64)  # in which the multiplier of a sum is found
_BALANCED = tl.constexpr(1e-9)  # of the change: larger sums make it useless
_ON_BOUND = tl.constexpr(1e-12)  # of a box: nearer coefficients are put on the bound


@Program
def face(
    SLOTS, COEF, SCORE, TARGET, TUBE, LOW, HIGH, ENDS, C, LEAST, MOST, F, R, n, ridge,
    B: tl.constexpr,
):  # fmt: skip
    """Coefficient, piece of the box in which it moves, F from the middle, and ridge."""
    p = tl.program_id(0) * B + tl.arange(0, B)
    here = p < n
    r = tl.load(SLOTS + p, mask=here, other=0)
    top, bottom = tl.load(ENDS), tl.load(ENDS + 1)
    middle = 0.5 * (top + bottom)
    c, tube = tl.load(COEF + r), tl.load(TUBE + r)
    f = tl.load(TARGET + r) - tl.load(SCORE + r) - middle
    low, high = tl.load(LOW + r), tl.load(HIGH + r)
    below = (c < 0) | ((c == 0) & (((f + tube < 0) & (low < 0)) | (high <= 0)))
    low, high = tl.where(below, low, 0.0), tl.where(below, 0.0, high)
    tl.store(C + p, c, mask=here)
    tl.store(LEAST + p, low, mask=here)
    tl.store(MOST + p, high, mask=here)
    tl.store(F + p, tl.where(below, f + tube, f), mask=here)
    tl.store(R + p, ridge * (top - bottom) / (high - low), mask=here)


@Program
def system(K, R, RIGHT, FREE, H, OUT, n, q, B: tl.constexpr):
    """H = K + R of the free variables, and the lines of OUT: their RIGHT, and ones."""
    a = tl.program_id(0) * B + tl.arange(0, B)
    b = tl.program_id(1) * B + tl.arange(0, B)
    i = tl.load(FREE + a, mask=a < q, other=0)
    j = tl.load(FREE + b, mask=b < q, other=0)
    value = tl.load(K + i[:, None].to(tl.int64) * n + j[None, :])
    value += tl.where(a[:, None] == b[None, :], tl.load(R + i)[:, None], 0.0)
    inside = (a[:, None] < q) & (b[None, :] < q)
    tl.store(H + a[:, None].to(tl.int64) * q + b[None, :], value, mask=inside)
    first = a < tl.where(tl.program_id(1) == 0, q, 0)
    tl.store(OUT + a, tl.load(RIGHT + i), mask=first)
    tl.store(OUT + q + a, tl.full((B,), 1.0, tl.float64), mask=first)


@Program
def spread(FOUND, PLACE, FIXED, STEP, ONE, MU, n, q, B: tl.constexpr):
    """STEP that sums to zero, its change with the sum, and the multiplier, from two solutions."""
    p = tl.arange(0, B)
    here = p < n
    place = tl.load(PLACE + p, mask=here, other=-1)
    free = place >= 0
    fixed = tl.load(FIXED + p, mask=here, other=0.0)
    x = tl.load(FOUND + place, mask=free, other=0.0)
    one = tl.load(FOUND + q + place, mask=free, other=0.0)
    mu = (tl.sum(x, 0) + tl.sum(fixed, 0)) / tl.sum(one, 0)
    tl.store(STEP + p, tl.where(free, x - mu * one, fixed), mask=here)
    tl.store(ONE + p, tl.maximum(one, 0.0), mask=here)
    tl.store(MU, mu)


@Program
def settle(
    STEP, PRODUCT, MU, C, LOW, HIGH, F, R, PLACE, FREE, FIXED, OUT, n, B: tl.constexpr
):  # fmt: skip
    """The next free variables, and the step of the others within their bounds.

    OUT has whether other variables are free than before, and how many. PRODUCT is K times STEP.
    Sets: PLACE, FREE, FIXED, OUT.
    """
    p = tl.arange(0, B)
    here = p < n
    c, step = tl.load(C + p, mask=here, other=0.0), tl.load(STEP + p, mask=here, other=0.0)
    low = tl.load(LOW + p, mask=here, other=0.0) - c
    high = tl.load(HIGH + p, mask=here, other=0.0) - c
    pull = tl.load(F + p, mask=here, other=0.0) - tl.load(PRODUCT + p, mask=here, other=0.0)
    pull -= tl.load(MU) + tl.load(R + p, mask=here, other=0.0) * step
    before = tl.load(PLACE + p, mask=here, other=-1) >= 0
    inside = before & (step >= low) & (step <= high)
    released = ((step == high) & (pull < 0)) | ((step == low) & (pull > 0))
    free = here & (inside | (released & (before == 0)))
    place = tl.cumsum(free.to(tl.int32), 0) - 1
    tl.store(FREE + place, p, mask=free)
    tl.store(PLACE + p, tl.where(free, place, -1), mask=here)
    clipped = tl.minimum(tl.maximum(step, low), high)
    tl.store(FIXED + p, tl.where(free, 0.0, clipped), mask=here)
    tl.store(OUT, tl.sum((free != before).to(tl.int32), 0))
    tl.store(OUT + 1, tl.sum(free.to(tl.int32), 0))


@Program
def arc(COEF, LOW, HIGH, STEP, ONE, OUT, n, ratio, B: tl.constexpr):
    """Point k of an arc: clip(c + ratio^k (STEP - mu ONE)) - c, where mu makes the sum zero."""
    p = tl.arange(0, B)
    here = p < n
    k = tl.program_id(0)
    s = tl.exp2(tl.log2(ratio) * k)
    c = tl.load(COEF + p, mask=here, other=0.0)
    low, high = tl.load(LOW + p, mask=here, other=0.0), tl.load(HIGH + p, mask=here, other=0.0)
    a, b = tl.load(STEP + p, mask=here, other=0.0), tl.load(ONE + p, mask=here, other=0.0)
    ones = tl.sum(b, 0)
    mu = tl.sum(a, 0) / ones
    reach = tl.abs(mu) + tl.sum(tl.abs(a), 0) / tl.abs(ones) + 1.0
    left, right = mu - reach, mu + reach
    for _ in range(_HALVINGS):
        mu = 0.5 * (left + right)
        change = tl.minimum(tl.maximum(c + s * (a - mu * b), low), high) - c
        over = tl.sum(change, 0) > 0
        left = tl.where(over, mu, left)
        right = tl.where(over, right, mu)
    change = tl.minimum(tl.maximum(c + s * (a - mu * b), low), high) - c
    rest = tl.sum(change, 0)
    now = c + change
    inside = here & (now > low) & (now < high)
    room = tl.where(inside, tl.where(rest > 0, now - low, high - now), 0.0)
    have = tl.sum(room, 0)
    enough = have > tl.abs(rest)
    change -= tl.where(enough, rest * room / tl.maximum(have, 1e-30), 0.0)
    size = tl.maximum(tl.sum(tl.abs(change), 0), 1e-30)
    balanced = tl.abs(tl.sum(change, 0)) < _BALANCED * size
    tl.store(OUT + k * n + p, tl.where(balanced, change, 0.0), mask=here)


@triton.jit
def _gain(POINTS, PRODUCTS, f, k, n, p, here):
    """Gain along the line to point k of an arc, and the best length of the step."""
    point = tl.load(POINTS + k * n + p, mask=here, other=0.0)
    rise = tl.sum(point * f, 0)
    bend = tl.sum(point * tl.load(PRODUCTS + k * n + p, mask=here, other=0.0), 0)
    length = tl.where(bend > rise, rise / tl.where(bend > rise, bend, 1.0), 1.0)
    gain = length * rise - 0.5 * length * length * bend
    return tl.where((rise > 0) & (gain > 0), gain, 0.0), length


@Program
def choose(
    POINTS, PRODUCTS, F, C, LOW, HIGH, SLOTS, COEF, DELTA, n, COUNT: tl.constexpr, B: tl.constexpr
):  # fmt: skip
    """Move to the point of an arc with the largest gain, if one gains. Sets: COEF, DELTA."""
    p = tl.arange(0, B)
    here = p < n
    f = tl.load(F + p, mask=here, other=0.0)
    best, length = _gain(POINTS, PRODUCTS, f, 0, n, p, here)
    at = tl.full([], 0, tl.int32)
    for k in range(1, COUNT):
        gain, step = _gain(POINTS, PRODUCTS, f, k, n, p, here)
        better = gain > best
        best, length = tl.where(better, gain, best), tl.where(better, step, length)
        at = tl.where(better, k, at)
    c = tl.load(C + p, mask=here, other=0.0)
    low, high = tl.load(LOW + p, mask=here, other=0.0), tl.load(HIGH + p, mask=here, other=0.0)
    new = c + length * tl.load(POINTS + at * n + p, mask=here, other=0.0)
    near = _ON_BOUND * (high - low)
    new = tl.where(new - low < near, low, tl.where(high - new < near, high, new))
    rest = tl.sum(new - c, 0)
    inside = here & (new > low) & (new < high)
    room = tl.where(inside, tl.where(rest > 0, new - low, high - new), 0.0)
    most = tl.max(room, 0)
    new = tl.where(p == tl.argmax(room, 0), new - rest, new)
    new = tl.where((best > 0) & (most > tl.abs(rest)), new, c)
    tl.store(COEF + tl.load(SLOTS + p, mask=here, other=0), new, mask=here)
    tl.store(DELTA + p, new - c, mask=here)
