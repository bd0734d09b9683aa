"""The default strategy: random violators, a doubling working set, skipped rows.

Problem and stopping criterion: the dual of dual.py, until a survey that visits every row finds
none that violates by more than 0.4 tol against the middle of the bias interval and the working set
itself is solved to 0.8 tol, which is 0.4 tol on either side of the middle (goal.py). Together these
bound the violation by 0.8 tol, which leaves room for rounding in the scores.

Each round
    1) keeps support vectors and rows near the margin, drops the rest,
    2) adds as many violators as the set has rows, drawn at random: the worst violators would bias
       the set (RandSVM's sampling),
    3) solves the set loosely while the violations outside are still large. The largest alone does
       not decide: in noisy data a few rows violate much more than all others,
    4) surveys rows in random order only until it found as many violators as the next round can
       admit (iSVM's first stage in blocks). Once such a survey had to visit all rows, surveys visit
       all that are not skipped.

If the kernel matrix has a low rank, rounds that cost more than a fraction of the interior-point
method (engines/interior/cost_against_pair_steps.py) are given up for it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from widestreet._src import checks
from widestreet._src.engines.selection.strategy_protocol import (
    Context,
    Growth,
    Proposal,
    Situation,
    Stateless,
    make_room,
)
from widestreet._src.engines.solution import Solution
from widestreet._src.shards.survey_order import SurveyOrder

_FIRST_OF_FEW, _FIRST_ON_DEVICE, _LARGEST_ON_DEVICE = 2, 4, 64  # times the sizes of the CPU
_FEW_ON_DEVICE = 200  # times `start_size`: fewer rows have a smaller first working set
_LOOSER_ON_DEVICE = 2.0  # times the looseness of the CPU
_ALL_AT_ONCE = 1.5  # times `start_size`: up to this many rows all are in the first working set


@dataclass(frozen=True)
class Auto(Stateless):
    """Default strategy: random violators in a working set that doubles.

    Parameters
    ----------
    start_size : int, default=1024
        Number of rows in the first working set. With at most 1.5 times as many rows in total, the
        first working set contains all of them.
    max_size : int, default=4096
        Number of rows up to which the working set grows freely. Beyond it the set keeps only free
        support vectors and violators, up to twice the number of free support vectors. Other support
        vectors leave the set and keep their coefficients in the model. If a GPU solves the working
        set, `start_size` is multiplied by 4 (by 2 if there are at most 200 times as many rows),
        `max_size` by 64 and `looseness` by 2. If its memory has all rows, the set grows in device
        memory and `max_size` is not used.
    looseness : float, default=0.05
        Fraction of the violations last seen outside the working set, to which the set is solved:
        of the geometric mean of the average violation and the largest.
    keep_slack : float, default=0.2
        Fraction of the violation last seen. Rows that are not support vectors stay in the working
        set while their distance from violating is smaller than this.
    """

    start_size: int = 1024
    max_size: int = 4096
    looseness: float = 0.05
    keep_slack: float = 0.2
    solves_small: ClassVar[bool] = True

    def __post_init__(self) -> None:
        checks.require_integer("start_size", self.start_size, least=2)
        checks.require_integer("max_size", self.max_size, least=2)
        checks.require_real("looseness", self.looseness, least=0.0)
        checks.require_real("keep_slack", self.keep_slack, least=0.0)

    def solve(self, context: Context) -> Solution:
        """Solve a problem by rounds; if they are slow, by the interior-point engine."""
        return context.by_rounds_or_interior(self)

    def on_device(self, rows: int) -> Auto:
        """Return the strategy with larger working sets: on a device, surveys cost less."""
        few = rows <= _FEW_ON_DEVICE * self.start_size
        return replace(
            self,
            start_size=(_FIRST_OF_FEW if few else _FIRST_ON_DEVICE) * self.start_size,
            max_size=_LARGEST_ON_DEVICE * self.max_size,
            looseness=_LOOSER_ON_DEVICE * self.looseness,
        )

    def start(self, rows: int, capacity: int) -> int:
        """Return the number of rows in the first working set."""
        few = rows <= _ALL_AT_ONCE * self.start_size
        return min(rows if few else self.start_size, capacity)

    def propose(self, situation: Situation, rng: np.random.Generator) -> Proposal:
        """Return the instructions for the next round."""
        free = int(situation.free.sum())
        limit = min(situation.capacity, max(self.max_size, 2 * free))
        near = situation.slack < self.keep_slack * situation.violation
        idle = ~situation.support & ~near
        drop = make_room(situation, idle, limit, len(situation.violators), rng)
        stay = len(drop) - int(drop.sum())
        add = situation.violators
        if len(add) > limit - stay:
            add = add[rng.permutation(len(add))[: limit - stay]]
        size, goal = stay + len(add), situation.goal
        inner = goal.within
        if size < situation.rows:
            average = situation.excess.mean() if len(situation.excess) else situation.violation
            inner = max(inner, self.looseness * float(np.sqrt(average * situation.violation)))
        quota = max(self.start_size, min(size, limit - size // 3))
        order = SurveyOrder(quota, goal.aim, whole=situation.complete)
        growth = Growth(self.start_size, self.looseness, self.keep_slack)
        return Proposal(drop, add, inner, order, growth=growth)

    def finished(self, situation: Situation) -> bool:
        """Return whether every row was visited and none violates."""
        return situation.solved
