"""Steps on the host within a block of a working set that is on a device.

A pair step is sequential, and costs a device several times as much as a core of the host, if the
tile of the block is in the cache. Where few variables are free, exact Newton steps join them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from widestreet._src.arrays import Floats, Ints
from widestreet._src.device.contract import Block
from widestreet._src.engines.working_set.newton import polish
from widestreet._src.engines.working_set.tile import WorkingSet, whole_set
from widestreet._src.kernels.poll import Poll
from widestreet._src.problems.dual import Dual

_LEAST_STEPS, _MOST_STEPS = 500, 8000  # pair steps before Newton steps
_SETTLED, _CUT = 0.5, 4.0  # factors of that number after Newton steps that ended, or were cut


@dataclass
class Patience:
    """Pair steps since the last Newton steps, and before the next ones."""

    wait: float = 4.0 * _LEAST_STEPS
    since: int = 0

    @property
    def left(self) -> int:
        return max(1, int(self.wait) - self.since)

    def took(self, settled: bool) -> None:
        """Learn from Newton steps. Sets: everything."""
        wait = self.wait * (_SETTLED if settled else _CUT)
        self.wait, self.since = min(max(wait, _LEAST_STEPS), _MOST_STEPS), 0


def solve_block(
    block: Block, tol: float, most: int, patience: Patience | None, poll: Poll
) -> tuple[Ints, Floats, int]:
    """Take at most `most` pair steps within a block, until it violates by at most `tol`.

    Newton steps are taken in between if there is a `patience`. An exception from `poll.look` leaves
    the block as it was.

    Returns
    -------
    at : ndarray
        Places of the coefficients that changed.
    coef : ndarray
        Their new values.
    steps : int
        Number of pair steps.
    """
    work = _working_set(block, poll)
    steps, violation, taken = 0, np.inf, 1
    while violation > tol and steps < most and taken:
        allowed = most - steps
        if patience is not None:
            allowed = min(allowed, patience.left)
        violation, taken = work.solve(tol, allowed, work.size)
        steps += taken
        if patience is not None:
            patience.since += taken
            if violation > tol and taken == allowed and patience.since >= patience.wait:
                patience.took(polish(work))
    coef = work.coef()
    at = np.flatnonzero(coef != block.variables.coef)
    return at, coef[at], steps


def _working_set(block: Block, poll: Poll) -> WorkingSet:
    """Return the rows of a block as a working set: two variables per row where there is a tube."""
    v, rows = block.variables, len(block.variables.coef)
    group, total = np.zeros((1, rows), dtype=np.uint8), np.zeros(1)
    if not v.tube.any():
        dual = Dual(v.target[None], v.lower[None], v.upper[None], group, total)
        return whole_set(block.tile, dual, v.coef[None].copy(), v.score.copy(), poll)
    zero = np.zeros(rows)
    dual = Dual(
        np.stack([v.target, v.target + v.tube]),
        np.stack([zero, v.lower]),
        np.stack([v.upper, zero]),
        np.repeat(group, 2, axis=0),
        total,
    )
    beta = np.stack([np.maximum(v.coef, 0.0), np.minimum(v.coef, 0.0)])
    return whole_set(block.tile, dual, beta, v.score.copy(), poll)
