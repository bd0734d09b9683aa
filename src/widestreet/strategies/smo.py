"""Classical decomposition: sequential minimal optimisation on a fixed working set.

If the kernel tile of all rows fits, the working set is the whole problem and this is plain SMO
with second-order pair selection (Fan, Chen and Lin 2005). Otherwise each round keeps the newest
half of a working set of fixed size and replaces the rest by the worst violators, as ThunderSVM
and oneDAL do. It is the yardstick for the other strategies.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from widestreet.shard import SurveyOrder
from widestreet.strategies.base import MARGIN, Proposal, Situation


@dataclass(frozen=True)
class SMO:
    """Plain sequential minimal optimisation.

    Parameters
    ----------
    size : int, default=8192
        Rows in the working set; problems with no more rows than this are solved in one piece.
    """

    size: int = 8192

    def start(self, rows: int, capacity: int) -> int:
        """Return how many rows the first working set has."""
        return min(rows, capacity, self.size)

    def propose(self, situation: Situation, rng: np.random.Generator) -> Proposal:
        """Return what the next round does."""
        limit = min(situation.capacity, self.size)
        size = len(situation.slack)
        order = np.argsort(-situation.excess, kind="stable")
        add = situation.violators[order[: max(1, limit // 2)]]
        drop = np.zeros(size, dtype=bool)
        surplus = size + len(add) - limit
        if surplus > 0:
            # The least violating rows leave, those that are not free first.
            leaving = np.lexsort((-situation.slack, situation.free))
            drop[leaving[:surplus]] = True
        final = MARGIN * situation.tol
        inner = max(final, min(1.0, 0.1 * situation.violation)) if len(add) else final
        if size >= situation.rows:
            inner = final
        return Proposal(
            drop, add, inner, SurveyOrder(situation.rows, final, whole=True, skip=False)
        )

    def finished(self, situation: Situation) -> bool:
        """Return whether no row violates."""
        return situation.complete and situation.violation <= situation.tol
