"""RandSVM's Algorithm 2, literally.

1: S = a random subset of r rows      2: SV = support vectors of the solution on S
3: V = the other rows that violate    4: while |V| > 0 and |SV| < k
5:     R = a random subset of V, of size r - |SV|
6, 7:  SV = support vectors of the solution on SV u R
8:     V = the other rows that violate
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from reference.restricted import Point, solve, violators

MOST_STEPS = 1000


@dataclass
class Step:
    """One solution."""

    W: list[int]
    point: Point
    V: np.ndarray
    ended: str = ""


def bound(n: int, epsilon: float, delta: float) -> int:
    """k of equation 7."""
    return math.ceil(16 / epsilon**2 * math.log(4 * n / delta))


def randsvm(K, dual: Any, rng: np.random.Generator, tol: float, *, k: float, r: int) -> list[Step]:
    """All steps; a row violates if it does so by more than tol.

    Small samples may go on for ever, as published: many steps are an error.
    """
    n = len(K)
    r = min(r, n)
    W = rng.choice(n, r, replace=False)
    steps = [_step(K, dual, W, None, tol)]
    while not steps[-1].ended:
        assert len(steps) < MOST_STEPS
        step = steps[-1]
        SV, V = step.point.support, step.V
        room = r - len(SV)
        if len(V) == 0:
            step.ended = "violators"
        elif len(SV) >= k:
            step.ended = "k"
        elif room <= 0:
            step.ended = "room"
        else:
            R = V if len(V) <= room else V[rng.choice(len(V), room, replace=False)]
            steps.append(_step(K, dual, np.union1d(SV, R), step.point, tol))
    return steps


def _step(K, dual: Any, W, start: Point | None, tol: float) -> Step:
    point = solve(K, dual, W, start)
    return Step(sorted(int(x) for x in W), point, violators(K, dual, point, tol, W))
