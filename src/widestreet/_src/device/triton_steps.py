"""Triton programs that move the coefficients of a working set in device memory.

Every row has one coefficient between LOW and HIGH. F is TARGET less SCORE, and TUBE more than that
where the coefficient is negative. UP is F where the coefficient may grow, DOWN is F where it may
shrink; they are infinite (`_BIG`) elsewhere. Slots number the rows of the working set; ROWS has
their positions among the rows that the device holds.
"""

from __future__ import annotations

import triton
import triton.language as tl

from widestreet._src.device.triton_kernels import _value

_BIG = tl.constexpr(1e30)
_FINITE = tl.constexpr(1e29)  # less than _BIG in any precision
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


@triton.jit(do_not_specialize=["m", "parts"])
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


@triton.jit(do_not_specialize=["m", "programs", "near"])
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


@triton.jit(do_not_specialize=["programs"])
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


@triton.jit(do_not_specialize=["m", "seed", "free", "violating"])
def draw(KIND, COUNTS, m, seed, free, violating, B: tl.constexpr):
    """Number of rows that each program draws for a block."""
    at = tl.program_id(0) * B + tl.arange(0, B)
    chosen = _chosen(KIND, at, m, seed, free, violating)
    tl.store(COUNTS + tl.program_id(0), tl.sum(chosen.to(tl.int32), 0))


@triton.jit(do_not_specialize=["m", "size", "programs", "seed", "free", "violating"])
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


@triton.jit(do_not_specialize=["n"])
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


@triton.jit(do_not_specialize=["m", "parts"])
def add_parts(PARTS, SLOTS, SCORE, m, parts, B: tl.constexpr):
    """Add the parts of a scan to the scores of slots."""
    at = tl.program_id(0) * B + tl.arange(0, B)
    here = at < m
    total = _total(PARTS, at, here, m, parts, B)
    r = tl.load(SLOTS + at, mask=here, other=0)
    tl.store(SCORE + r, tl.load(SCORE + r, mask=here, other=0.0) + total, mask=here)


@triton.jit(do_not_specialize=["n"])
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
def _first(f1, i1, l1, f2, i2, l2):
    ahead = (f1 > f2) | ((f1 == f2) & (i1 < i2))
    return tl.where(ahead, f1, f2), tl.where(ahead, i1, i2), tl.minimum(l1, l2)


@triton.jit
def _second(g1, j1, f1, g2, j2, f2):
    ahead = (g1 > g2) | ((g1 == g2) & (j1 < j2))
    return tl.where(ahead, g1, g2), tl.where(ahead, j1, j2), tl.where(ahead, f1, f2)


@triton.jit
def _get(NOW, i, W: tl.constexpr):
    c, low = tl.load(NOW + i), tl.load(NOW + W + i)
    return c, low, tl.load(NOW + 2 * W + i), tl.load(NOW + 3 * W + i)


@triton.jit
def _replaced(values, p, i, at_i, j, at_j):
    values = tl.where(p == i, at_i.to(tl.float32), values)
    return tl.where(p == j, at_j.to(tl.float32), values)


@triton.jit(do_not_specialize=["q", "tol", "part", "most"])
def pairs(
    K, SLOTS, COEF, SCORE, TARGET, TUBE, LOW, HIGH, ENDS, NOW, DELTA, STEPS, q, tol, part, most,
    W: tl.constexpr,
):  # fmt: skip
    """Pair steps with second-order choice within one tile, by one program.

    F is float32, relative to the middle of the ends. Coefficients are float64 and lie in NOW, with
    their bounds: a step reads those of its two rows, and reductions are in float32. Ends at the
    larger of `tol` and `part` of the violation. Sets: COEF of the rows, NOW, DELTA; adds to STEPS.
    """
    p = tl.arange(0, W)
    slot = tl.load(SLOTS + p, mask=p < q, other=-1)
    taken = slot >= 0
    slot = tl.maximum(slot, 0)
    top, bottom = tl.load(ENDS), tl.load(ENDS + 1)
    c, tube = tl.load(COEF + slot), tl.load(TUBE + slot)
    low, high = tl.load(LOW + slot), tl.load(HIGH + slot)
    tl.store(NOW + p, c)
    tl.store(NOW + W + p, low)
    tl.store(NOW + 2 * W + p, high)
    tl.store(NOW + 3 * W + p, tube)
    tl.debug_barrier()
    f = (tl.load(TARGET + slot) - tl.load(SCORE + slot) - 0.5 * (top + bottom)).to(tl.float32)
    grow = tl.where(taken, _up(c, 0.0 * c, tube, high), -_BIG).to(tl.float32)
    shrink = tl.where(taken, _down(c, 0.0 * c, tube, low), _BIG).to(tl.float32)
    diagonal = tl.load(K + p * W + p, mask=taken, other=1.0)
    goal = tl.maximum(tol, part * (top - bottom)).to(tl.float32)
    steps = tl.full([], 0, tl.int32)
    busy = ((top - bottom).to(tl.float32) > goal) & (steps < most)
    while busy:
        down = f + shrink
        fi, i, least = tl.reduce((f + grow, p, down), 0, _first)
        ki, kii = tl.load(K + i * W + p), tl.load(K + i * W + i)
        rise, bend = tl.maximum(fi - down, 0.0), kii + diagonal
        bend = tl.maximum(bend - 2 * ki, _LEAST_CURVATURE * bend)
        _, j, fj = tl.reduce((rise * rise / bend, p, down), 0, _second)
        kj, kjj = tl.load(K + j * W + p), tl.load(K + j * W + j)
        bend_ij = kii + kjj
        bend_ij = tl.maximum(bend_ij - 2 * tl.load(K + i * W + j), _LEAST_CURVATURE * bend_ij)
        ci, li, hi, ti = _get(NOW, i, W)
        cj, lj, hj, tj = _get(NOW, j, W)
        room_i = tl.where(ci < 0, -ci, hi - ci)
        room_j = tl.where(cj > 0, cj, cj - lj)
        step = tl.minimum(((fi - fj) / bend_ij).to(tl.float64), tl.minimum(room_i, room_j))
        step = tl.where(fi - least > goal, step, 0.0)
        ni = tl.where(step >= room_i, tl.where(ci < 0, 0.0, hi), ci + step)
        nj = tl.where(step >= room_j, tl.where(cj > 0, 0.0, lj), cj - step)
        tl.store(NOW + i, ni)
        tl.store(NOW + j, nj)
        f -= step.to(tl.float32) * (ki - kj)
        grow = _replaced(grow, p, i, _up(ni, 0.0, ti, hi), j, _up(nj, 0.0, tj, hj))
        shrink = _replaced(shrink, p, i, _down(ni, 0.0, ti, li), j, _down(nj, 0.0, tj, lj))
        steps += 1
        busy = (fi - least > goal) & (steps < most)
        tl.debug_barrier()
    new = tl.load(NOW + p)
    tl.store(COEF + slot, new, mask=taken)
    tl.store(DELTA + p, tl.where(taken, new - c, 0.0), mask=p < q)
    tl.store(STEPS, tl.load(STEPS) + steps)
