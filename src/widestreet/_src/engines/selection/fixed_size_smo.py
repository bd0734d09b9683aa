"""Classical decomposition: sequential minimal optimisation on a fixed working set.

If the kernel tile of all rows fits, the working set is the whole problem and this is plain SMO
with second-order pair selection (Fan, Chen and Lin 2005). Otherwise each round keeps the newest
half of a working set of fixed size and replaces the rest by the worst violators, as ThunderSVM
and oneDAL do. It is the baseline for the other strategies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from widestreet._src import checks
from widestreet._src.engines.selection.strategy_protocol import Proposal, Situation, Stateless
from widestreet._src.shards.survey_order import SurveyOrder


@dataclass(frozen=True)
class SMO(Stateless):
    """Strategy of plain sequential minimal optimisation.

    Parameters
    ----------
    size : int, default=8192
        Rows in the working set; problems with no more rows than this are solved in one piece.
    """

    size: int = 8192
    solves_small: ClassVar[bool] = True

    def __post_init__(self) -> None:
        checks.require_integer("size", self.size, least=2)

    def start(self, rows: int, capacity: int) -> int:
        """Return the number of rows in the first working set."""
        return min(rows, capacity, self.size)

    def propose(self, situation: Situation, rng: np.random.Generator) -> Proposal:
        """Return the instructions for the next round."""
        limit = min(situation.capacity, self.size)
        size = len(situation.slack)
        newcomers = limit if size == 0 else max(1, limit // 2)
        add = situation.violators[np.argsort(-situation.excess, kind="stable")[:newcomers]]
        drop = np.zeros(size, dtype=bool)
        surplus = max(0, size + len(add) - limit)
        # The least violating rows leave, those that are not free first. Newest rows that changed
        # nothing leave last: rows that violate in the other direction must meet them.
        held = situation.newest & (not situation.moved)
        drop[np.lexsort((-situation.slack, situation.free, held))[:surplus]] = True
        final = situation.goal.aim
        everything = size - surplus + len(add) >= situation.rows
        inner = final if everything else max(final, 0.1 * situation.violation)
        order = SurveyOrder(situation.rows, final, whole=True, skip=False)
        return Proposal(drop, add, inner, order)

    def finished(self, situation: Situation) -> bool:
        """Return whether no row violates."""
        return situation.solved
