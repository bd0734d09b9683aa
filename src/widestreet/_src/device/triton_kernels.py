"""Triton programs: sums over kernel values that are never stored.

A program computes BM scores over a part of the vectors, BN at a time. `scan_halves` multiplies
features that are split into two halves of float16 on tensor cores; `scan_double` and
`scan_differences` use float64. MAP is the position of the kind of kernel in `KINDS`.

Products of the lower halves come first: the tensor cores cut off digits below those of the largest
term, which then is small. Sums of float32 terms are short, and are added up in float64.
"""

from __future__ import annotations

import triton
import triton.language as tl

from widestreet._src.device.launching import Program

KINDS = ("rbf", "linear", "poly", "sigmoid", "laplacian", "far_rbf")

_RBF = tl.constexpr(0)
_SIGMOID = tl.constexpr(3)
_LAPLACIAN = tl.constexpr(4)
_DECAY = tl.constexpr(-2.8853900817779268)  # -2 log2(e)


@triton.jit
def _positions(INDEX, at, inside, INDEXED: tl.constexpr):
    """Rows at some positions of a list, or of all rows."""
    if INDEXED:
        return tl.load(INDEX + at, mask=inside, other=0).to(tl.int64)
    return tl.where(inside, at, 0).to(tl.int64)


@triton.jit
def _value(z, x_norm, s_norm, start, MAP: tl.constexpr, DEGREE: tl.constexpr):
    """Kernel values from inner products."""
    if MAP == _RBF:
        return tl.exp2(tl.minimum(z - (x_norm[:, None] + s_norm[None, :]), 0.0))
    base = z + start
    if MAP == _SIGMOID:
        decay = tl.exp2(tl.abs(base) * _DECAY)
        size = (1.0 - decay) / (1.0 + decay)
        return tl.where(base < 0.0, -size, size)
    power = base
    for _ in tl.static_range(DEGREE - 1):
        power = power * base
    return power


@triton.jit
def _sums_of_halves(
    X_HIGH, X_LOW, X_NORM, S_HIGH, S_LOW, S_NORM, i, J, COEF, begin, end, s, alpha, start, short,
    BY_J: tl.constexpr, D: tl.constexpr, CHUNK: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
    LINES: tl.constexpr, MAP: tl.constexpr, DEGREE: tl.constexpr,
):  # fmt: skip
    """Sums over the vectors `begin` to `end` of J for rows i, for one or two lines of COEF."""
    k = tl.arange(0, CHUNK)
    x_at = i[:, None] * D + k[None, :]
    if D == CHUNK:
        x_high = tl.load(X_HIGH + x_at)
        x_low = tl.load(X_LOW + x_at)
    x_norm = tl.load(X_NORM + i)
    total = tl.zeros((BM,), tl.float64)
    other = tl.zeros((BM,), tl.float64)
    for j0 in range(begin, end, BN * short):
        sums = tl.zeros((BM, BN), tl.float32)
        others = tl.zeros((BM, BN), tl.float32)
        for f in range(short):
            p = j0 + f * BN + tl.arange(0, BN)
            here = p < end
            j = _positions(J, p, here, BY_J)
            s_at = j[:, None] * D + k[None, :]
            if D == CHUNK:
                s_high = tl.load(S_HIGH + s_at)
                z = tl.dot(x_high, tl.load(S_LOW + s_at).T)
                z = tl.dot(x_low, s_high.T, z)
                z = tl.dot(x_high, s_high.T, z)
            else:
                z = tl.zeros((BM, BN), tl.float32)
                for k0 in range(0, D, CHUNK):
                    high = tl.load(X_HIGH + x_at + k0)
                    z = tl.dot(high, tl.load(S_LOW + s_at + k0).T, z)
                    z = tl.dot(tl.load(X_LOW + x_at + k0), tl.load(S_HIGH + s_at + k0).T, z)
                for k0 in range(0, D, CHUNK):
                    high = tl.load(X_HIGH + x_at + k0)
                    z = tl.dot(high, tl.load(S_HIGH + s_at + k0).T, z)
            value = _value(alpha * z, x_norm, tl.load(S_NORM + j), start, MAP, DEGREE)
            sums += value * tl.load(COEF + p, mask=here, other=0.0)[None, :]
            if LINES == 2:
                others += value * tl.load(COEF + s + p, mask=here, other=0.0)[None, :]
        total += tl.sum(sums, 1).to(tl.float64)
        if LINES == 2:
            other += tl.sum(others, 1).to(tl.float64)
    return total, other


@Program
def scan_halves(
    X_HIGH, X_LOW, X_NORM, S_HIGH, S_LOW, S_NORM, I, J, COEF, OUT, alpha, start, m, s, per, short,
    BY_I: tl.constexpr, BY_J: tl.constexpr, D: tl.constexpr, CHUNK: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, LINES: tl.constexpr,
    MAP: tl.constexpr, DEGREE: tl.constexpr,
):  # fmt: skip
    """OUT[part, line, i] = sum over a part of J of K(x_i, s_j) COEF[line, j]."""
    at = tl.program_id(0) * BM + tl.arange(0, BM)
    begin = tl.program_id(1) * per
    total, other = _sums_of_halves(
        X_HIGH, X_LOW, X_NORM, S_HIGH, S_LOW, S_NORM, _positions(I, at, at < m, BY_I), J, COEF,
        begin, tl.minimum(begin + per, s), s, alpha, start, short,
        BY_J, D, CHUNK, BM, BN, LINES, MAP, DEGREE,
    )  # fmt: skip
    out = OUT + tl.program_id(1).to(tl.int64) * LINES * m + at
    tl.store(out, total, mask=at < m)
    if LINES == 2:
        tl.store(out + m, other, mask=at < m)


@triton.jit
def _sum(sums, BM: tl.constexpr, BN: tl.constexpr):
    """Sums of rows; no term takes part in more than ten additions."""
    return tl.sum(tl.sum(tl.reshape(sums, (BM, BN // 8, 8)), 2), 1)


@triton.jit
def _sums_in_double(
    X, X_NORM, S, S_NORM, i, J, COEF, begin, end, start,
    BY_J: tl.constexpr, D: tl.constexpr, CHUNK: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
    MAP: tl.constexpr, DEGREE: tl.constexpr,
):  # fmt: skip
    """Sums over the vectors `begin` to `end` of J for rows i, in float64."""
    k = tl.arange(0, CHUNK)
    x_at = i[:, None] * D + k[None, :]
    if D == CHUNK:
        x = tl.load(X + x_at)
    x_norm = tl.load(X_NORM + i)
    sums = tl.zeros((BM, BN), tl.float64)
    for j0 in range(begin, end, BN):
        p = j0 + tl.arange(0, BN)
        here = p < end
        j = _positions(J, p, here, BY_J)
        s_at = j[:, None] * D + k[None, :]
        if D == CHUNK:
            z = tl.dot(x, tl.load(S + s_at).T, out_dtype=tl.float64)
        else:
            z = tl.zeros((BM, BN), tl.float64)
            for k0 in range(0, D, CHUNK):
                part = tl.load(S + s_at + k0).T
                z = tl.dot(tl.load(X + x_at + k0), part, z, out_dtype=tl.float64)
        value = _value(z, x_norm, tl.load(S_NORM + j), start, MAP, DEGREE)
        sums += value * tl.load(COEF + p, mask=here, other=0.0)[None, :]
    return _sum(sums, BM, BN)


@Program
def scan_double(
    X, X_NORM, S, S_NORM, I, J, COEF, OUT, START, m, s, per,
    BY_I: tl.constexpr, BY_J: tl.constexpr, D: tl.constexpr, CHUNK: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, MAP: tl.constexpr, DEGREE: tl.constexpr,
):  # fmt: skip
    """OUT[part, i] = sum over a part of J of K(x_i, s_j) COEF[j], in float64."""
    at = tl.program_id(0) * BM + tl.arange(0, BM)
    begin = tl.program_id(1) * per
    sums = _sums_in_double(
        X, X_NORM, S, S_NORM, _positions(I, at, at < m, BY_I), J, COEF,
        begin, tl.minimum(begin + per, s), tl.load(START), BY_J, D, CHUNK, BM, BN, MAP, DEGREE,
    )  # fmt: skip
    out = OUT + tl.program_id(1).to(tl.int64) * m + at
    tl.store(out, sums, mask=at < m)


@Program
def scan_differences(
    X, S, I, J, COEF, OUT, d, m, s, per,
    BY_I: tl.constexpr, BY_J: tl.constexpr, D: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, MAP: tl.constexpr,
):  # fmt: skip
    """Scan in float64 for kernels of differences of features, 32 features at a time."""
    at = tl.program_id(0) * BM + tl.arange(0, BM)
    i = _positions(I, at, at < m, BY_I)
    begin = tl.program_id(1) * per
    end = tl.minimum(begin + per, s)
    sums = tl.zeros((BM, BN), tl.float64)
    for j0 in range(begin, end, BN):
        p = j0 + tl.arange(0, BN)
        here = p < end
        j = _positions(J, p, here, BY_J)
        z = tl.zeros((BM, BN), tl.float64)
        for k0 in range(0, d, 32):
            part = tl.zeros((BM, BN), tl.float64)
            for k in range(k0, tl.minimum(k0 + 32, d)):
                step = tl.load(X + i * D + k)[:, None] - tl.load(S + j * D + k)[None, :]
                if MAP == _LAPLACIAN:
                    part += tl.abs(step)
                else:
                    part += step * step
            z += part
        sums += tl.exp2(-z) * tl.load(COEF + p, mask=here, other=0.0)[None, :]
    out = OUT + tl.program_id(1).to(tl.int64) * m + at
    tl.store(out, _sum(sums, BM, BN), mask=at < m)
