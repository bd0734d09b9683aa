"""Triton programs that move the coefficients of many problems side by side.

The rows of all problems lie one after the other: those of problem p from BEGIN[p] to BEGIN[p + 1].
Arguments are named as in triton_steps.py. The grid of programs over rows is as long as the largest
problem needs, and as wide as there are problems; programs without rows do nothing.

A block has W rows of each problem, fewer if BLOCK has negative slots. FIGURES has one line per
problem: pair steps, both ends, the numbers of free rows, of others that violate above and below the
interval of biases and of extreme ones, and the number of kernel values.
"""

from __future__ import annotations

import triton
import triton.language as tl

from widestreet._src.device.launching import Program
from widestreet._src.device.triton_kernels import _positions, _sums_in_double, _sums_of_halves
from widestreet._src.device.triton_steps import (
    _BIG,
    _FINITE,
    _down,
    _take_pair_steps,
    _up,
    _values_of,
)

FIGURES = 8  # of each problem
_LINE = tl.constexpr(FIGURES)
# Kinds of rows.
_BELOW = tl.constexpr(1)
_ABOVE = tl.constexpr(2)
_FREE = tl.constexpr(3)
_EXTREME = tl.constexpr(4)  # is added to one of the others
_FILLED = tl.constexpr(0.97)  # of the room for violators that they fill on average
_EXTREMES = tl.constexpr(0.125)  # of a block that extreme rows fill for certain, if there are many
_NEARLY = tl.constexpr(0.9)  # of the goal: to which a block is solved at most
_ALL = tl.constexpr(0.95)  # of a block: up to so many rows that take part are all in it


@triton.jit
def _own_rows(BEGIN, B: tl.constexpr):
    """Positions of the rows of a program, and which of them there are."""
    at = tl.load(BEGIN + tl.program_id(1)) + tl.program_id(0) * B + tl.arange(0, B)
    return at, at < tl.load(BEGIN + tl.program_id(1) + 1)


@triton.jit
def _sides(COEF, SCORE, TARGET, TUBE, LOW, HIGH, at, here):
    """Coefficients, and UP and DOWN."""
    c, tube = tl.load(COEF + at, mask=here, other=0.0), tl.load(TUBE + at, mask=here, other=0.0)
    score = tl.load(SCORE + at, mask=here, other=0.0)
    f = tl.load(TARGET + at, mask=here, other=0.0) - score
    up = _up(c, f, tube, tl.load(HIGH + at, mask=here, other=0.0))
    down = _down(c, f, tube, tl.load(LOW + at, mask=here, other=0.0))
    return c, tl.where(here, up, -_BIG), tl.where(here, down, _BIG)


@Program
def look(BEGIN, COEF, SCORE, TARGET, TUBE, LOW, HIGH, TOP, BOTTOM, FIGURES, B: tl.constexpr):
    """Extremes of UP and DOWN of each program. Sets the counts of FIGURES to zero for `mark`."""
    at, here = _own_rows(BEGIN, B)
    _, up, down = _sides(COEF, SCORE, TARGET, TUBE, LOW, HIGH, at, here)
    out = tl.program_id(1) * tl.num_programs(0) + tl.program_id(0)
    tl.store(TOP + out, tl.max(up, 0))
    tl.store(BOTTOM + out, tl.min(down, 0))
    figures = FIGURES + tl.program_id(1) * _LINE
    tl.store(figures + 3, 0.0)
    tl.store(figures + 4, 0.0)
    tl.store(figures + 5, 0.0)
    tl.store(figures + 6, 0.0)


@Program
def mark(
    BEGIN, COEF, SCORE, TARGET, TUBE, LOW, HIGH, TOP, BOTTOM, KIND, FIGURES, near,
    B: tl.constexpr, MOST: tl.constexpr,
):  # fmt: skip
    """KIND of rows; both ends and the numbers of rows in FIGURES."""
    q, before = tl.arange(0, MOST), tl.program_id(1) * tl.num_programs(0)
    top = tl.max(tl.load(TOP + before + q, mask=q < tl.num_programs(0), other=-_BIG), 0)
    bottom = tl.min(tl.load(BOTTOM + before + q, mask=q < tl.num_programs(0), other=_BIG), 0)
    figures = FIGURES + tl.program_id(1) * _LINE
    tl.store(figures + 1, top)
    tl.store(figures + 2, bottom)
    middle = 0.5 * (top + bottom)
    at, here = _own_rows(BEGIN, B)
    c, up, down = _sides(COEF, SCORE, TARGET, TUBE, LOW, HIGH, at, here)
    free = here & (up > -_FINITE) & (down < _FINITE) & (c != 0)
    above = here & (up - middle > near) & (free == 0)
    below = here & (middle - down > near) & (free == 0) & (above == 0)
    extreme = here & ((up == top) | (down == bottom))
    kind = tl.where(free, _FREE, tl.where(above, _ABOVE, tl.where(below, _BELOW, 0)))
    kind += tl.where(extreme, _EXTREME, 0)
    tl.store(KIND + at, kind.to(tl.int8), mask=here)
    # sums of whole numbers, which are exact in any order
    tl.atomic_add(figures + 3, tl.sum(free.to(tl.float64), 0))
    tl.atomic_add(figures + 4, tl.sum(above.to(tl.float64), 0))
    tl.atomic_add(figures + 5, tl.sum(below.to(tl.float64), 0))
    tl.atomic_add(figures + 6, tl.sum(extreme.to(tl.float64), 0))


@triton.jit
def _drawn(BEGIN, KIND, FIGURES, at, here, seed, goal, W: tl.constexpr):
    """Mask of the rows that a block of W rows may get; of none if a problem is solved.

    These are all rows, if there are so few, or random ones: free rows, and violators in equal
    numbers from either side, as far as there are so many. The extreme rows are among them.
    """
    figures = FIGURES + tl.program_id(1) * _LINE
    violation = tl.load(figures + 1) - tl.load(figures + 2)
    free, above = tl.load(figures + 3), tl.load(figures + 4)
    below, extreme = tl.load(figures + 5), tl.load(figures + 6)
    room = tl.maximum(W - free, 0.5 * W)  # for violators
    chance_free = (W - tl.minimum(above + below, room)) / tl.maximum(free, 1.0)
    chance_above = _FILLED * tl.maximum(0.5 * room, room - below) / tl.maximum(above, 1.0)
    chance_below = _FILLED * tl.maximum(0.5 * room, room - above) / tl.maximum(below, 1.0)
    least = _EXTREMES * W / tl.maximum(extreme, 1.0)
    kind = tl.load(KIND + at, mask=here, other=0).to(tl.int32)
    own = kind % _EXTREME
    chance = tl.where(own == _FREE, chance_free, tl.where(own == _ABOVE, chance_above, 0.0))
    chance = tl.where(own == _BELOW, chance_below, chance)
    chance = tl.where(kind >= _EXTREME, tl.maximum(chance, least), chance)
    rows = tl.load(BEGIN + tl.program_id(1) + 1) - tl.load(BEGIN + tl.program_id(1))
    chance += tl.where(rows <= W, 1.0, 0.0)
    chance *= tl.where(violation > goal, 1.0, 0.0)
    return here & (tl.rand(seed, at) < chance)


@Program
def draw(BEGIN, KIND, FIGURES, COUNTS, seed, goal, B: tl.constexpr, W: tl.constexpr):
    """Number of rows that each program draws for the block of its problem."""
    at, here = _own_rows(BEGIN, B)
    drawn = _drawn(BEGIN, KIND, FIGURES, at, here, seed, goal, W)
    out = tl.program_id(1) * tl.num_programs(0) + tl.program_id(0)
    tl.store(COUNTS + out, tl.sum(drawn.to(tl.int32), 0))


@Program
def pick(
    BEGIN, KIND, FIGURES, COUNTS, BLOCK, SIZES, seed, goal,
    B: tl.constexpr, W: tl.constexpr, MOST: tl.constexpr,
):  # fmt: skip
    """The first W rows that `draw` counted, -1 where there are fewer, and how many there are."""
    q, pair, me = tl.arange(0, MOST), tl.program_id(1), tl.program_id(0)
    programs = tl.num_programs(0)
    counts = tl.load(COUNTS + pair * programs + q, mask=q < programs, other=0)
    before, every = tl.sum(tl.where(q < me, counts, 0), 0), tl.sum(counts, 0)
    at, here = _own_rows(BEGIN, B)
    drawn = _drawn(BEGIN, KIND, FIGURES, at, here, seed, goal, W).to(tl.int32)
    place = before + tl.cumsum(drawn, 0) - 1
    tl.store(BLOCK + pair * W + place, at, mask=(drawn == 1) & (place < W))
    empty = me * B + tl.arange(0, B)
    none = tl.full((B,), -1, tl.int32)
    tl.store(BLOCK + pair * W + empty, none, mask=(empty >= every) & (empty < W))
    tl.store(SIZES + pair, tl.minimum(every, W))


@Program
def tiles(
    X, NORM, ROWS, BLOCK, SIZES, OUT, START, W: tl.constexpr, D: tl.constexpr,
    CHUNK: tl.constexpr, B: tl.constexpr, MAP: tl.constexpr, DEGREE: tl.constexpr,
):  # fmt: skip
    """OUT[problem, a, b] = K of two rows of a block, computed in float64, with zeros after them.

    Values on one side of the diagonal are computed, and written on both.
    """
    pair = tl.program_id(2)
    q = tl.load(SIZES + pair)
    first, second = tl.program_id(0) * B, tl.program_id(1) * B
    a, b = first + tl.arange(0, B), second + tl.arange(0, B)
    out = OUT + pair.to(tl.int64) * (W * W)
    here, there = a < q, b < q
    if (first < q) & (second < q) & (first <= second):
        # rows after the block have no slot, and their values are not used
        i = tl.load(ROWS + tl.load(BLOCK + pair * W + a, mask=here, other=0)).to(tl.int64)
        j = tl.load(ROWS + tl.load(BLOCK + pair * W + b, mask=there, other=0)).to(tl.int64)
        value = _values_of(X, NORM, i, j, tl.load(START), D, CHUNK, B, MAP, DEGREE)
        value = tl.where(here[:, None] & there[None, :], value, 0.0).to(tl.float32)
        tl.store(out + a[:, None] * W + b[None, :], value)
        tl.store(out + b[None, :] * W + a[:, None], value)
    if (first < q) & (second >= q):
        tl.store(out + a[:, None] * W + b[None, :], tl.zeros((B, B), tl.float32))


@Program
def pair_steps(
    K, BEGIN, BLOCK, ROWS, COEF, SCORE, TARGET, TUBE, LOW, HIGH, NOW, F, VECTORS, DELTA, COUNTS,
    FIGURES, goal, part, part_of_all, most, limit, W: tl.constexpr,
):  # fmt: skip
    """Pair steps within one tile of each problem that violates by more than `goal`, side by side.

    They end near `goal`, or at a part of the violation: `part_of_all` if all rows that take part
    are in the block. If it has all rows at all, they end near `goal`. A problem takes `most` steps,
    and no more than `limit` in all calls.
    Sets: COEF of the rows, NOW, F; VECTORS, DELTA and COUNTS, the rows whose coefficients changed.
    """
    pair = tl.program_id(0)
    p = tl.arange(0, W)
    slot = tl.load(BLOCK + pair * W + p)
    taken = slot >= 0
    slot = tl.maximum(slot, 0)
    figures = FIGURES + pair * _LINE
    before = tl.load(figures).to(tl.int32)
    top, bottom = tl.load(figures + 1), tl.load(figures + 2)
    taking = tl.load(figures + 3) + tl.load(figures + 4) + tl.load(figures + 5)
    rows = tl.load(BEGIN + pair + 1) - tl.load(BEGIN + pair)
    share = tl.where(rows <= W, 0.0, tl.where(taking <= _ALL * W, part_of_all, part))
    least = tl.maximum(_NEARLY * goal, share * (top - bottom)).to(tl.float32)
    most = tl.where(top - bottom > goal, tl.minimum(most, limit - before), 0)
    change, steps = _take_pair_steps(
        K + pair.to(tl.int64) * (W * W), slot, taken, COEF, SCORE, TARGET, TUBE, LOW, HIGH,
        NOW + pair * (4 * W), F + pair * W, top, bottom, least, most, W,
    )  # fmt: skip
    moved = (change != 0).to(tl.int32)
    count, size = tl.sum(moved, 0), tl.sum(taken.to(tl.int32), 0)
    place = pair * W + tl.cumsum(moved, 0) - 1
    tl.store(VECTORS + place, tl.load(ROWS + slot), mask=moved == 1)
    tl.store(DELTA + place, change.to(tl.float32), mask=moved == 1)
    tl.store(COUNTS + pair, count)
    tl.store(figures, (before + steps).to(tl.float64))
    values = size.to(tl.float64) * size + count.to(tl.float64) * rows
    tl.store(figures + 7, tl.load(figures + 7) + values)


@Program
def add_scan(
    X_HIGH, X_LOW, X_NORM, BEGIN, ROWS, SCORE, VECTORS, DELTA, FIRST, COUNTS, alpha, start, short,
    D: tl.constexpr, CHUNK: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
    MAP: tl.constexpr, DEGREE: tl.constexpr,
):  # fmt: skip
    """Add the change of the scores by the changes of some rows of the same problem to SCORE.

    Those of problem p are COUNTS[p] entries of VECTORS and DELTA from FIRST[p] on.
    """
    begin, count = tl.load(FIRST + tl.program_id(1)), tl.load(COUNTS + tl.program_id(1))
    at, here = _own_rows(BEGIN, BM)
    if count > 0:
        total, _ = _sums_of_halves(
            X_HIGH, X_LOW, X_NORM, X_HIGH, X_LOW, X_NORM, _positions(ROWS, at, here, True),
            VECTORS, DELTA, begin, begin + count, 0, alpha, start,
            tl.minimum(short, (count + BN - 1) // BN), True, D, CHUNK, BM, BN, 1, MAP, DEGREE,
        )  # fmt: skip
        tl.store(SCORE + at, tl.load(SCORE + at, mask=here, other=0.0) + total, mask=here)


@Program
def scan(
    X, NORM, BEGIN, ROWS, SCORE, VECTORS, COEF, FIRST, COUNTS, START,
    D: tl.constexpr, CHUNK: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
    MAP: tl.constexpr, DEGREE: tl.constexpr,
):  # fmt: skip
    """SCORE of all rows from some rows of the same problem, in float64."""
    begin, count = tl.load(FIRST + tl.program_id(1)), tl.load(COUNTS + tl.program_id(1))
    at, here = _own_rows(BEGIN, BM)
    sums = _sums_in_double(
        X, NORM, X, NORM, _positions(ROWS, at, here, True), VECTORS, COEF, begin, begin + count,
        tl.load(START), True, D, CHUNK, BM, BN, MAP, DEGREE,
    )  # fmt: skip
    tl.store(SCORE + at, sums, mask=here)
