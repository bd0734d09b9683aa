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
_STEPS_PER_TEST = tl.constexpr(8)  # pair steps between two tests of the violation
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
    SLOTS, COEF, SCORE, TARGET, TUBE, LOW, HIGH, PARTS, UP, DOWN, TOP, BOTTOM, FIGURES, m, parts,
    B: tl.constexpr,
):  # fmt: skip
    """Add the parts of a scan to SCORE; UP and DOWN of rows, and their extremes per program.

    Sets the counts of FIGURES to zero for `mark`.
    """
    tl.store(FIGURES + 3, 0.0)
    tl.store(FIGURES + 4, 0.0)
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


@triton.jit
def _first(mask, at):
    """Smallest position in a mask, or a large number."""
    return tl.min(tl.where(mask, at, 0x7FFFFFFF), 0)


@Program
def mark(
    SLOTS, COEF, UP, DOWN, TOP, BOTTOM, ENDS, KIND, FIGURES, m, programs, near,
    B: tl.constexpr, MOST: tl.constexpr,
):  # fmt: skip
    """KIND of rows: 3 extreme, 2 free, 1 violating, 0 other; both ENDS.

    Each program marks at most one extreme row of either side: if all rows of a class are extreme,
    a block must not be full of them. FIGURES has one small array for the host: pair steps, both
    ends, number of free rows and of violators.
    """
    q = tl.arange(0, MOST)
    top = tl.max(tl.load(TOP + q, mask=q < programs, other=-_BIG), 0)
    bottom = tl.min(tl.load(BOTTOM + q, mask=q < programs, other=_BIG), 0)
    tl.store(ENDS, top)
    tl.store(ENDS + 1, bottom)
    tl.store(FIGURES + 1, top)
    tl.store(FIGURES + 2, bottom)
    middle = 0.5 * (top + bottom)
    at = tl.program_id(0) * B + tl.arange(0, B)
    here = at < m
    up = tl.load(UP + at, mask=here, other=-_BIG)
    down = tl.load(DOWN + at, mask=here, other=_BIG)
    c = tl.load(COEF + tl.load(SLOTS + at, mask=here, other=0))
    free = here & (up > -_FINITE) & (down < _FINITE) & (c != 0)
    violates = here & ((up - middle > near) | (middle - down > near)) & (free == 0)
    extreme = (at == _first(here & (up == top), at)) | (at == _first(here & (down == bottom), at))
    kind = tl.where(extreme, 3, tl.where(free, 2, tl.where(violates, 1, 0)))
    tl.store(KIND + at, kind.to(tl.int8), mask=here)
    # sums of whole numbers, which are exact in any order
    tl.atomic_add(FIGURES + 3, tl.sum(free.to(tl.float64), 0))
    tl.atomic_add(FIGURES + 4, tl.sum(violates.to(tl.float64), 0))


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


@triton.jit
def _values_of(
    X, NORM, i, j, start, D: tl.constexpr, CHUNK: tl.constexpr, B: tl.constexpr,
    MAP: tl.constexpr, DEGREE: tl.constexpr,
):  # fmt: skip
    """Kernel values between rows i and j in float64."""
    k = tl.arange(0, CHUNK)
    z = tl.zeros((B, B), tl.float64)
    for k0 in range(0, D, CHUNK):
        x = tl.load(X + i[:, None] * D + k0 + k[None, :])
        z = tl.dot(x, tl.load(X + j[:, None] * D + k0 + k[None, :]).T, z, out_dtype=tl.float64)
    return _value(z, tl.load(NORM + i), tl.load(NORM + j), start, MAP, DEGREE)


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
    i = tl.load(ROWS + tl.maximum(tl.load(SLOTS + a, mask=a < n, other=0), 0)).to(tl.int64)
    j = tl.load(ROWS + tl.maximum(tl.load(SLOTS + b, mask=b < n, other=0), 0)).to(tl.int64)
    value = _values_of(X, NORM, i, j, tl.load(START), D, CHUNK, B, MAP, DEGREE)
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
def _row(K, NOW, F, i, p, W: tl.constexpr):
    """Kernel values of a row, that with itself, its coefficient, bounds, tube and F."""
    k, kii = tl.load(K + i * W + p), tl.load(K + i * W + i)
    c, low, high = tl.load(NOW + i), tl.load(NOW + W + i), tl.load(NOW + 2 * W + i)
    tube, f = tl.load(NOW + 3 * W + i).to(tl.float32), tl.load(F + i)
    return k, kii, c, low, high, tube, f


@triton.jit
def _load_block(COEF, TUBE, LOW, HIGH, NOW, slot, taken, p, W: tl.constexpr):
    """Coefficients of a block, and what is added to F for UP and DOWN. Sets: NOW.

    The bounds of empty places are zero: these cannot move.
    """
    c, tube = tl.load(COEF + slot, mask=taken, other=0.0), tl.load(TUBE + slot)
    low = tl.load(LOW + slot, mask=taken, other=0.0)
    high = tl.load(HIGH + slot, mask=taken, other=0.0)
    tl.store(NOW + p, c)
    tl.store(NOW + W + p, low)
    tl.store(NOW + 2 * W + p, high)
    tl.store(NOW + 3 * W + p, tube)
    grow = tl.where(taken, _up(c, 0.0 * c, tube, high), -_BIG).to(tl.float32)
    return c, grow, tl.where(taken, _down(c, 0.0 * c, tube, low), _BIG).to(tl.float32)


@triton.jit
def _new_coefficient(c, step, room, bound):
    """Coefficient after a step, which is exactly at its bound if there is no more room."""
    return tl.where(tl.abs(step) >= tl.abs(room), bound, c + step)


@triton.jit
def _curvature(k_xx, k_yy, k_xy):
    sizes = tl.abs(k_xx) + tl.abs(k_yy)
    return tl.maximum(k_xx + k_yy - 2 * k_xy, _LEAST_CURVATURE * sizes + _TINY)


@triton.jit
def _new_sides(grow, shrink, p, i, c, low, high, tube):
    """What is added to F for UP and DOWN, where row i has a new coefficient."""
    up, down = _up(c, 0.0, tube, high), _down(c, 0.0, tube, low)
    grow = tl.where(p == i, up.to(tl.float32), grow)
    return grow, tl.where(p == i, down.to(tl.float32), shrink)


@triton.jit
def _pair_step(K, NOW, F, diagonal, p, most, f, grow, shrink, steps, W: tl.constexpr):
    """Step of the row i with the largest F and its best partner j.

    Returns F, what is added to it for UP and DOWN, the number of steps and whether there was one.
    Sets: NOW, F.
    """
    i = _key_of_largest(f + grow, p, W) & (W - 1)
    ki, kii, ci, low_i, high_i, tube_i, fi = _row(K, NOW, F, i, p, W)
    fi = _up(ci, fi, tube_i, high_i)
    rise = tl.maximum(fi - (f + shrink), 0.0)
    gain = _key_of_largest(rise * tl.rsqrt(_curvature(kii, diagonal, ki)), p, W)
    j = gain & (W - 1)
    kj, kjj, cj, low_j, high_j, tube_j, fj = _row(K, NOW, F, j, p, W)
    kij = tl.load(K + i * W + j)
    tl.debug_barrier()  # every thread has read the values that are overwritten next
    useful = (gain >= W) & (steps < most)
    room_i, bound_i = tl.where(ci < 0, -ci, high_i - ci), tl.where(ci < 0, 0.0, high_i)
    if useful:  # a branch: the compiler would load row j behind all that does not depend on it
        fj = _down(cj, fj, tube_j, low_j)
        useful = fi > fj
        room_j = tl.where(cj > 0, cj, cj - low_j)
        ratio = tl.where(useful, fi - fj, 0.0) / _curvature(kii, kjj, kij)
        f -= tl.minimum(ratio, tl.minimum(room_i.to(tl.float32), room_j.to(tl.float32))) * (ki - kj)
        step = tl.minimum(ratio.to(tl.float64), tl.minimum(room_i, room_j))
        bound_j = tl.where(cj > 0, 0.0, low_j)
        ci = tl.where(useful, _new_coefficient(ci, step, room_i, bound_i), ci)
        cj = tl.where(useful, _new_coefficient(cj, -step, -room_j, bound_j), cj)
        tl.store(F + p, f)
        tl.store(NOW + i, ci)
        tl.store(NOW + j, cj)
        grow, shrink = _new_sides(grow, shrink, p, i, ci, low_i, high_i, tube_i)
        grow, shrink = _new_sides(grow, shrink, p, j, cj, low_j, high_j, tube_j)
    tl.debug_barrier()
    return f, grow, shrink, steps + useful.to(tl.int32), useful


@triton.jit
def _take_pair_steps(
    K, slot, taken, COEF, SCORE, TARGET, TUBE, LOW, HIGH, NOW, F, top, bottom, goal, most,
    W: tl.constexpr,
):  # fmt: skip
    """Pair steps with second-order choice within one tile, until it violates by at most `goal`.

    F is float32, relative to the middle of the ends. Both rows of a step are the best ones up to
    2^-12; the step itself is exact. Coefficients are float64 and lie in NOW, with their bounds: a
    step reads those of its two rows, and their F. The violation is computed after every eight
    steps.

    Returns the changes and the number of steps. Sets: COEF of the slots that are taken, NOW, F.
    """
    p = tl.arange(0, W)
    c, grow, shrink = _load_block(COEF, TUBE, LOW, HIGH, NOW, slot, taken, p, W)
    f = (tl.load(TARGET + slot) - tl.load(SCORE + slot) - 0.5 * (top + bottom)).to(tl.float32)
    tl.store(F + p, f)
    tl.debug_barrier()
    diagonal = tl.load(K + p * W + p, mask=taken, other=1.0)
    steps = tl.full([], 0, tl.int32)
    busy = ((top - bottom).to(tl.float32) > goal) & (steps < most)
    useful = busy
    while busy:
        for _ in range(_STEPS_PER_TEST):
            f, grow, shrink, steps, useful = _pair_step(
                K, NOW, F, diagonal, p, most, f, grow, shrink, steps, W
            )
        violation = tl.max(f + grow, 0) - tl.min(f + shrink, 0)
        busy = useful & (violation > goal) & (steps < most)
    new = tl.load(NOW + p)
    tl.store(COEF + slot, new, mask=taken)
    return tl.where(taken, new - c, 0.0), steps


@Program
def pairs(
    K, SLOTS, COEF, SCORE, TARGET, TUBE, LOW, HIGH, ENDS, NOW, F, DELTA, SHORT, FIGURES, q, tol,
    part, most, W: tl.constexpr,
):  # fmt: skip
    """Pair steps within one tile, by one program.

    Ends at the larger of `tol` and `part` of the violation. Sets: COEF of the rows, NOW, F, the
    changes DELTA, the same rounded (SHORT); adds to the steps of FIGURES.
    """
    p = tl.arange(0, W)
    slot = tl.load(SLOTS + p, mask=p < q, other=-1)
    top, bottom = tl.load(ENDS), tl.load(ENDS + 1)
    goal = tl.maximum(tol, part * (top - bottom)).to(tl.float32)
    change, steps = _take_pair_steps(
        K, tl.maximum(slot, 0), slot >= 0, COEF, SCORE, TARGET, TUBE, LOW, HIGH, NOW, F, top,
        bottom, goal, most, W,
    )  # fmt: skip
    tl.store(DELTA + p, change, mask=p < q)
    tl.store(SHORT + p, change.to(tl.float32), mask=p < q)
    tl.store(FIGURES, tl.load(FIGURES) + steps)
