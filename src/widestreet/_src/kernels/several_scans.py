"""Several scans of one Gram matrix in one native call.

A survey updates the scores of rows from changed coefficients: a short scan for each version of the
scores. Threads that share one short scan after the other mostly wait for each other. In one call
they share the parts of all of them (`core/kernels/scan_in_parts.hpp`).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from widestreet import _core
from widestreet._src.arrays import Floats, Ints
from widestreet._src.kernels.gram import CALL_COST, Gram, shared_scans
from widestreet._src.kernels.native import NativeBackend
from widestreet._src.kernels.poll import Poll

Scan = tuple[Ints, Ints, Floats]  # left rows, right rows, and the coefficient of each right row


def scan_each(
    gram: Gram, scans: Sequence[Scan], *, dtype: Any = np.float64, poll: Poll | None = None
) -> Iterator[tuple[int, Floats]]:
    """Yield the position of each scan, in any order, and K[I, J] @ coef in float64.

    Kernel values have the precision `dtype`. Scans with many kernel values, and kernels that are
    not computed by the core from all right rows, are computed one by one by `Gram.scan`.
    """
    backend, most = shared_scans(gram), gram.threads * CALL_COST
    cost = [gram.cost * len(I) * len(J) for I, J, _ in scans]
    short = [p for p in range(len(scans)) if 0 < cost[p] <= most]
    if backend is None or len(short) < 2:
        backend, short = None, []
    for p in sorted({*range(len(scans))} - {*short}):
        I, J, coef = scans[p]
        yield p, gram.scan(I, J, coef, dtype=dtype, poll=poll)
    if backend is None:
        return
    for some in _calls(short, cost, most):
        if poll is not None:
            poll.look()
        begun, mine = time.perf_counter(), [scans[p] for p in some]
        sums = _sums(gram, backend, mine, dtype)
        gram.pace.count(sum(len(I) * len(J) for I, J, _ in mine), begun, poll)
        yield from zip(some, sums, strict=True)


def _calls(some: Sequence[int], cost: Sequence[float], most: float) -> Iterator[list[int]]:
    """Yield parts of a list whose costs are at most `most` in all."""
    part: list[int] = []
    total = 0.0
    for p in some:
        if part and total + cost[p] > most:
            yield part
            part, total = [], 0.0
        part.append(p)
        total += cost[p]
    if part:
        yield part


def _sums(gram: Gram, backend: NativeBackend, scans: Sequence[Scan], dtype: Any) -> list[Floats]:
    """Return the sums of scans that have rows, computed in one native call."""
    left = [gram.left_index(I) for I, _, _ in scans]
    order = [backend.together(I, len(J)) for I, (_, J, _) in zip(left, scans, strict=True)]
    left = [I if at is None else I[at] for I, at in zip(left, order, strict=True)]
    end = np.cumsum([len(I) for I in left])
    sums = np.zeros(end[-1])
    kernel, rows, vectors = backend.operands
    _core.scan_each(
        kernel,
        left=rows,
        left_index=np.concatenate(left),
        left_end=end,
        right=vectors,
        right_index=np.concatenate([gram.right_index(J) for _, J, _ in scans]),
        right_end=np.cumsum([len(J) for _, J, _ in scans]),
        coef=np.concatenate([coef for _, _, coef in scans]),
        out=sums,
        in_double=dtype == np.float64,
        threads=gram.threads,
    )
    found = np.split(sums, end[:-1])
    for p, at in enumerate(order):
        if at is not None:
            found[p] = np.empty_like(found[p])
            found[p][at] = sums[end[p] - len(at) : end[p]]
    return found
