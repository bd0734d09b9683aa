"""iSVM (two-stage incremental working set selection), literally.

W_0 is one row of either class (regression: row 0 and the first one that together with it does not
fit into the tube). Then

1) draw N rows outside W, add the worst violator among them to W, solve; until none of them
   violates ("sample"), W is larger than a limit ("size"), or as many rows were drawn as there are
   ("average");
2) go through the rows once: a violator enters W at once, a row of W with beta = 0 leaves for it.

With a block of q > 1 the q worst of a sample enter, and stage two goes on with the same solution
until q violators are found.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from reference.restricted import Point, excess, solve


@dataclass
class Step:
    """One solution, and what was looked at with it."""

    W: list[int]
    point: Point
    sample: list[int] = field(default_factory=list)  # stage one: rows drawn
    passed: list[int] = field(default_factory=list)  # stage two: rows gone through, W included
    violators: list[int] = field(default_factory=list)  # among these
    ended: str = ""  # why stage one ended here


def isvm(
    K, dual: Any, rng: np.random.Generator, tol: float, *,
    sample_size: int, stage_one_size: int, scan_fraction: float, block: int,
) -> list[Step]:  # fmt: skip
    """All steps; a row violates if it does so by more than tol."""
    n = len(K)
    W = first_rows(dual)
    steps = [Step(W, solve(K, dual, W))]

    # stage one
    t = 0
    while not steps[-1].ended:
        step = steps[-1]
        W, found = step.W, excess(K, dual, step.point)
        if len(W) > stage_one_size:
            step.ended = "size"
        elif t * sample_size >= n:
            step.ended = "average"
        else:
            outside = np.setdiff1d(np.arange(n), W)
            drawn = rng.choice(len(outside), min(sample_size, len(outside)), replace=False)
            step.sample = [int(x) for x in outside[drawn]]
            step.violators = [x for x in step.sample if found[x] > tol]
            if not step.violators:
                step.ended = "sample"
            else:
                worst = sorted(step.violators, key=lambda x: -found[x])[:block]
                W = [*W, *worst]
                steps.append(Step(W, solve(K, dual, W, step.point)))
                t += 1

    # stage two
    position = 0
    while position < scan_fraction * n:
        step = steps[-1]
        found = excess(K, dual, step.point)
        while position < scan_fraction * n and len(step.violators) < block:
            step.passed.append(position)
            if position not in step.W and found[position] > tol:
                step.violators.append(position)
            position += 1
        if step.violators:
            idle = [x for x in step.W if not step.point.beta[:, x].any()]
            idle.sort(key=lambda x: found[x])  # the farthest from violating first
            leave = idle[: len(step.violators)]
            W = [x for x in step.W if x not in leave] + step.violators
            steps.append(Step(W, solve(K, dual, W, step.point)))
    return steps


def first_rows(dual: Any) -> list[int]:
    """The first rows of the two classes; for two layers, the first two that do not fit together."""
    if len(dual.target) == 1:
        grows, shrinks = dual.upper[0] > 0, dual.lower[0] < 0
        return [int(np.argmax(grows)), int(np.argmax(shrinks))]
    low, high = dual.target  # y - epsilon, y + epsilon
    return [0, int(np.argmax((low > high[0]) | (low[0] > high)))]
