"""Triton programs that move the coefficients of a working set in device memory.

Every row has one coefficient between LOW and HIGH. F is TARGET less SCORE, and TUBE more than that
where the coefficient is negative. UP is F where the coefficient may grow, DOWN is F where it may
shrink; they are infinite (`_BIG`) elsewhere. Slots number the rows of the working set; ROWS has
their positions among the rows that the device holds.
"""

from __future__ import annotations

import triton
import triton.language as tl

from widestreet._src.device.launching import Program
from widestreet._src.device.triton_kernels import _value

_BIG = tl.constexpr(1e30)
_FINITE = tl.constexpr(1e29)  # less than _BIG in any precision
_STEPS = tl.constexpr(8)  # pair steps between two tests of the violation
_TINY = tl.constexpr(1e-30)  # where there is no curvature at all
_LEAST_CURVATURE = tl.constexpr(3e-8)  # of the diagonal: about the rounding of float32


@triton.jit
def _total(PARTS, at, here, m, parts, B: tl.constexpr):
    """Sums of the parts of a scan."""
    total = tl.zeros((B,), tl.float64)
    for k in range(parts):
        total += tl.load(PARTS + k * m + at, mask=here, other=0.0)
    return total


@triton.jit
def _up(c, f, tube, high):
    return tl.where(c < 0, f + tube, tl.where(c < high, f, -_BIG))


@triton.jit
def _down(c, f, tube, low):
    return tl.where(c > 0, f, tl.where(c > low, f + tube, _BIG))


@Program
def look(
    SLOTS, COEF, SCORE, TARGET, TUBE, LOW, HIGH, PARTS, UP, DOWN, TOP, BOTTOM, m, parts,
    B: tl.constexpr,
):  # fmt: skip
    """Add the parts of a scan to SCORE; UP and DOWN of rows, and their extremes per program."""
    at = tl.program_id(0) * B + tl.arange(0, B)
    here = at < m
    r = tl.load(SLOTS + at, mask=here, other=0)
    score = tl.load(SCORE + r) + _total(PARTS, at, here, m, parts, B)
    tl.store(SCORE + r, score, mask=here)
    c, tube = tl.load(COEF + r), tl.load(TUBE + r)
    f = tl.load(TARGET + r) - score
    up = tl.where(here, _up(c, f, tube, tl.load(HIGH + r)), -_BIG)
    down = tl.where(here, _down(c, f, tube, tl.load(LOW + r)), _BIG)
    tl.store(UP + at, up, mask=here)
    tl.store(DOWN + at, down, mask=here)
    tl.store(TOP + tl.program_id(0), tl.max(up, 0))
    tl.store(BOTTOM + tl.program_id(0), tl.min(down, 0))


@Program
def mark(
    SLOTS, COEF, UP, DOWN, TOP, BOTTOM, ENDS, KIND, FREE, VIOLATE, m, programs, near,
    B: tl.constexpr, MOST: tl.constexpr,
):  # fmt: skip
    """KIND of rows: 3 extreme, 2 free, 1 violating, 0 other; counts per program; both ENDS."""
    q = tl.arange(0, MOST)
    top = tl.max(tl.load(TOP + q, mask=q < programs, other=-_BIG), 0)
    bottom = tl.min(tl.load(BOTTOM + q, mask=q < programs, other=_BIG), 0)
    tl.store(ENDS, top)
    tl.store(ENDS + 1, bottom)
    middle = 0.5 * (top + bottom)
    at = tl.program_id(0) * B + tl.arange(0, B)
    here = at < m
    up = tl.load(UP + at, mask=here, other=-_BIG)
    down = tl.load(DOWN + at, mask=here, other=_BIG)
    c = tl.load(COEF + tl.load(SLOTS + at, mask=here, other=0))
    free = here & (up > -_FINITE) & (down < _FINITE) & (c != 0)
    violates = here & ((up - middle > near) | (middle - down > near)) & (free == 0)
    extreme = here & ((up == top) | (down == bottom))
    kind = tl.where(extreme, 3, tl.where(free, 2, tl.where(violates, 1, 0)))
    tl.store(KIND + at, kind.to(tl.int8), mask=here)
    tl.store(FREE + tl.program_id(0), tl.sum(free.to(tl.int32), 0))
    tl.store(VIOLATE + tl.program_id(0), tl.sum(violates.to(tl.int32), 0))


@Program
def pack(STEPS, ENDS, FREE, VIOLATE, OUT, programs, MOST: tl.constexpr):
    """One small array for the host: steps, both ends, number of free rows and of violators."""
    q = tl.arange(0, MOST)
    free = tl.sum(tl.load(FREE + q, mask=q < programs, other=0), 0)
    violate = tl.sum(tl.load(VIOLATE + q, mask=q < programs, other=0), 0)
    tl.store(OUT, tl.load(STEPS))
    tl.store(OUT + 1, tl.load(ENDS))
    tl.store(OUT + 2, tl.load(ENDS + 1))
    tl.store(OUT + 3, free * 1.0)
    tl.store(OUT + 4, violate * 1.0)


@triton.jit
def _chosen(KIND, at, m, seed, free, violating):
    """Mask of a random part of the free rows and of the violators, and of the extreme rows."""
    kind = tl.load(KIND + at, mask=at < m, other=0)
    x = tl.rand(seed, at)
    return (kind == 3) | ((kind == 2) & (x < free)) | ((kind == 1) & (x < violating))


@Program
def draw(KIND, COUNTS, m, seed, free, violating, B: tl.constexpr):
    """Number of rows that each program draws for a block."""
    at = tl.program_id(0) * B + tl.arange(0, B)
    chosen = _chosen(KIND, at, m, seed, free, violating)
    tl.store(COUNTS + tl.program_id(0), tl.sum(chosen.to(tl.int32), 0))


@Program
def pick(
    KIND, COUNTS, SLOTS, ROWS, BLOCK, VECTORS, m, size, programs, seed, free, violating,
    B: tl.constexpr, MOST: tl.constexpr,
):  # fmt: skip
    """The first `size` rows that `draw` counted: their slots, -1 where there are fewer, and rows.

    There must be at least `size` rows to draw from.
    """
    q, me = tl.arange(0, MOST), tl.program_id(0)
    counts = tl.load(COUNTS + q, mask=q < programs, other=0)
    before, every = tl.sum(tl.where(q < me, counts, 0), 0), tl.sum(counts, 0)
    at = me * B + tl.arange(0, B)
    chosen = _chosen(KIND, at, m, seed, free, violating).to(tl.int32)
    place = before + tl.cumsum(chosen, 0) - 1
    here = (chosen == 1) & (place < size)
    slot = tl.load(SLOTS + at, mask=here, other=0)
    tl.store(BLOCK + place, slot, mask=here)
    tl.store(VECTORS + place, tl.load(ROWS + slot, mask=here, other=0), mask=here)
    empty = (at >= every) & (at < size)
    tl.store(BLOCK + at, tl.full((B,), -1, tl.int32), mask=empty)
    tl.store(VECTORS + at, tl.full((B,), 0, tl.int32), mask=empty)


@Program
def tile(
    X, NORM, ROWS, SLOTS, OUT, START, n, W, D: tl.constexpr, CHUNK: tl.constexpr,
    B: tl.constexpr, MAP: tl.constexpr, DEGREE: tl.constexpr,
):  # fmt: skip
    """OUT[a, b] = K of two slots, computed in float64, in lines of W, with zeros after them.

    Negative slots are empty.
    """
    a = tl.program_id(0) * B + tl.arange(0, B)
    b = tl.program_id(1) * B + tl.arange(0, B)
    k = tl.arange(0, CHUNK)
    i = tl.load(ROWS + tl.maximum(tl.load(SLOTS + a, mask=a < n, other=0), 0)).to(tl.int64)
    j = tl.load(ROWS + tl.maximum(tl.load(SLOTS + b, mask=b < n, other=0), 0)).to(tl.int64)
    z = tl.zeros((B, B), tl.float64)
    for k0 in range(0, D, CHUNK):
        x = tl.load(X + i[:, None] * D + k0 + k[None, :])
        z = tl.dot(x, tl.load(X + j[:, None] * D + k0 + k[None, :]).T, z, out_dtype=tl.float64)
    value = _value(z, tl.load(NORM + i), tl.load(NORM + j), tl.load(START), MAP, DEGREE)
    value = tl.where((b < n)[None, :], value, 0.0)
    inside = (a[:, None] < n) & (b[None, :] < W)
    tl.store(OUT + a[:, None].to(tl.int64) * W + b[None, :], value, mask=inside)


@Program
def add_parts(PARTS, SLOTS, SCORE, m, parts, B: tl.constexpr):
    """Add the parts of a scan to the scores of slots."""
    at = tl.program_id(0) * B + tl.arange(0, B)
    here = at < m
    total = _total(PARTS, at, here, m, parts, B)
    r = tl.load(SLOTS + at, mask=here, other=0)
    tl.store(SCORE + r, tl.load(SCORE + r, mask=here, other=0.0) + total, mask=here)


@Program
def place(BLOCK, AT, NEW, ROWS, COEF, DELTA, VECTORS, n, B: tl.constexpr):
    """Set coefficients at places of a block; their changes and rows. Sets: COEF."""
    p = tl.program_id(0) * B + tl.arange(0, B)
    here = p < n
    slot = tl.load(BLOCK + tl.load(AT + p, mask=here, other=0), mask=here, other=0)
    new = tl.load(NEW + p, mask=here, other=0.0)
    tl.store(DELTA + p, new - tl.load(COEF + slot, mask=here, other=0.0), mask=here)
    tl.store(VECTORS + p, tl.load(ROWS + slot, mask=here, other=0), mask=here)
    tl.store(COEF + slot, new, mask=here)


@triton.jit
def _key_of_largest(x, p, W: tl.constexpr):
    """Key that has the leading digits of the largest x, and its position in the last ones.

    Whole numbers in the order of float32 numbers are compared: a warp does so in one instruction.
    The digits that give way to the position are 2^-12 of a number or less.
    """
    bits = x.to(tl.int32, bitcast=True)
    return tl.max((tl.where(bits < 0, bits ^ 0x7FFFFFFF, bits) & -W) | p, 0)


@triton.jit
def _get(NOW, i, W: tl.constexpr):
    c, low = tl.load(NOW + i), tl.load(NOW + W + i)
    return c, low, tl.load(NOW + 2 * W + i), tl.load(NOW + 3 * W + i)


@triton.jit
def _set(NOW, p, W: tl.constexpr, c, low, high, tube):
    tl.store(NOW + p, c)
    tl.store(NOW + W + p, low)
    tl.store(NOW + 2 * W + p, high)
    tl.store(NOW + 3 * W + p, tube)


@triton.jit
def _begun(COEF, TUBE, LOW, HIGH, NOW, slot, taken, p, W: tl.constexpr):
    """Coefficients of a block, and what is added to F for UP and DOWN. Sets: NOW."""
    c, tube = tl.load(COEF + slot), tl.load(TUBE + slot)
    low, high = tl.load(LOW + slot), tl.load(HIGH + slot)
    _set(NOW, p, W, c, low, high, tube)
    grow = tl.where(taken, _up(c, 0.0 * c, tube, high), -_BIG).to(tl.float32)
    return c, grow, tl.where(taken, _down(c, 0.0 * c, tube, low), _BIG).to(tl.float32)


@triton.jit
def _moved(c, step, room, bound):
    """Coefficient after a step, which is exactly at its bound if there is no more room."""
    return tl.where(tl.abs(step) >= tl.abs(room), bound, c + step)


@triton.jit
def _curvature(k_xx, k_yy, k_xy):
    return tl.maximum(k_xx + k_yy - 2 * k_xy, _LEAST_CURVATURE * (k_xx + k_yy) + _TINY)


@triton.jit
def _replaced(values, p, i, at_i, j, at_j):
    values = tl.where(p == i, at_i.to(tl.float32), values)
    return tl.where(p == j, at_j.to(tl.float32), values)


@Program
def pairs(
    K, SLOTS, COEF, SCORE, TARGET, TUBE, LOW, HIGH, ENDS, NOW, F, DELTA, STEPS, q, tol, part, most,
    W: tl.constexpr,
):  # fmt: skip
    """Pair steps with second-order choice within one tile, by one program.

    F is float32, relative to the middle of the ends. Both rows of a step are the best ones up to
    2^-12; the step itself is exact. Coefficients are float64 and lie in NOW, with their bounds: a
    step reads those of its two rows, and their F. Ends at the larger of `tol` and `part` of the
    violation, which is computed after every eight steps. Sets: COEF of the rows, NOW, F, DELTA;
    adds to STEPS.
    """
    p = tl.arange(0, W)
    slot = tl.load(SLOTS + p, mask=p < q, other=-1)
    taken = slot >= 0
    slot = tl.maximum(slot, 0)
    top, bottom = tl.load(ENDS), tl.load(ENDS + 1)
    c, grow, shrink = _begun(COEF, TUBE, LOW, HIGH, NOW, slot, taken, p, W)
    f = (tl.load(TARGET + slot) - tl.load(SCORE + slot) - 0.5 * (top + bottom)).to(tl.float32)
    tl.store(F + p, f)
    tl.debug_barrier()
    diagonal = tl.load(K + p * W + p, mask=taken, other=1.0)
    goal = tl.maximum(tol, part * (top - bottom)).to(tl.float32)
    steps = tl.full([], 0, tl.int32)
    busy = ((top - bottom).to(tl.float32) > goal) & (steps < most)
    useful = busy
    while busy:
        for _ in range(_STEPS):
            i = _key_of_largest(f + grow, p, W) & (W - 1)
            ki, kii = tl.load(K + i * W + p), tl.load(K + i * W + i)
            ci, li, hi, ti = _get(NOW, i, W)
            fi = _up(ci, tl.load(F + i), ti.to(tl.float32), hi)
            rise = tl.maximum(fi - (f + shrink), 0.0)
            gain = _key_of_largest(rise * tl.rsqrt(_curvature(kii, diagonal, ki)), p, W)
            j = gain & (W - 1)
            kj, kjj = tl.load(K + j * W + p), tl.load(K + j * W + j)
            cj, lj, hj, tj = _get(NOW, j, W)
            fj = _down(cj, tl.load(F + j), tj.to(tl.float32), lj)
            useful = (gain >= W) & (fi > fj) & (steps < most)
            room_i = tl.where(ci < 0, -ci, hi - ci)
            room_j = tl.where(cj > 0, cj, cj - lj)
            ratio = (fi - fj) / _curvature(kii, kjj, tl.load(K + i * W + j))
            short = tl.minimum(ratio, tl.minimum(room_i.to(tl.float32), room_j.to(tl.float32)))
            f -= tl.where(useful, short, 0.0) * (ki - kj)
            step = tl.minimum(ratio.to(tl.float64), tl.minimum(room_i, room_j))
            ni = tl.where(useful, _moved(ci, step, room_i, tl.where(ci < 0, 0.0, hi)), ci)
            nj = tl.where(useful, _moved(cj, -step, -room_j, tl.where(cj > 0, 0.0, lj)), cj)
            tl.debug_barrier()  # all have read what is replaced now
            tl.store(F + p, f)
            tl.store(NOW + i, ni)
            tl.store(NOW + j, nj)
            grow = _replaced(grow, p, i, _up(ni, 0.0, ti, hi), j, _up(nj, 0.0, tj, hj))
            shrink = _replaced(shrink, p, i, _down(ni, 0.0, ti, li), j, _down(nj, 0.0, tj, lj))
            steps += useful.to(tl.int32)
            tl.debug_barrier()
        violation = tl.max(f + grow, 0) - tl.min(f + shrink, 0)
        busy = useful & (violation > goal) & (steps < most)
    new = tl.load(NOW + p)
    tl.store(COEF + slot, new, mask=taken)
    tl.store(DELTA + p, tl.where(taken, new - c, 0.0), mask=p < q)
    tl.store(STEPS, tl.load(STEPS) + steps)
