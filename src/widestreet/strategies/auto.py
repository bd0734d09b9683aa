"""The default strategy: random violators, a doubling working set, skipped rows.

Problem and stopping criterion: the dual of duals.py, until a survey that visits every row finds
none that violates by more than MARGIN tol against the middle of the bias interval and the working
set itself is solved to MARGIN tol; together these bound the violation by 0.8 tol, which leaves
room for rounding in the scores.

Each round
    1) keeps support vectors and rows near the margin, drops the rest,
    2) adds as many violators as the set has rows, drawn at random: the worst violators would bias
       the set (RandSVM's sampling),
    3) solves the set loosely while the violations outside are still large,
    4) surveys rows in random order only until enough violators are found (iSVM's first stage in
       blocks), and all rows, but for those that are skipped, once such a survey had to visit them
       all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from widestreet.arrays import Bools
from widestreet.shard import SurveyOrder
from widestreet.strategies.base import MARGIN, Proposal, Situation

_ALL_AT_ONCE = 1.5  # times `start_size`: no more rows than this are the first set together


@dataclass(frozen=True)
class Auto:
    """The default strategy.

    Parameters
    ----------
    start_size : int, default=1024
        Rows in the first working set, which is everything if there are few more.
    max_size : int, default=8192
        Rows beyond which the working set keeps only what it must: free support vectors, for which
        it may grow to twice their number, and violators. Other support vectors stay in the model
        with their coefficient held.
    looseness : float, default=0.05
        The working set is solved to this part of the violation last seen outside it.
    keep_slack : float, default=0.2
        Rows that are not support vectors stay while they are nearer to violating than this part
        of the violation last seen.
    """

    start_size: int = 1024
    max_size: int = 8192
    looseness: float = 0.05
    keep_slack: float = 0.2

    def __post_init__(self) -> None:
        if self.start_size < 2:
            raise ValueError(f"start_size must be at least 2, got {self.start_size!r}")
        if self.max_size < 2:
            raise ValueError(f"max_size must be at least 2, got {self.max_size!r}")

    def start(self, rows: int, capacity: int) -> int:
        """Return how many rows the first working set has."""
        few = rows <= _ALL_AT_ONCE * self.start_size
        return min(rows if few else self.start_size, capacity)

    def propose(self, situation: Situation, rng: np.random.Generator) -> Proposal:
        """Return what the next round does."""
        free = int(situation.free.sum())
        limit = min(situation.capacity, max(self.max_size, 2 * free))
        drop = self._drop(situation, limit, rng)
        stay = len(drop) - int(drop.sum())
        add = situation.violators
        if len(add) > limit - stay:
            add = add[rng.permutation(len(add))[: limit - stay]]
        final = MARGIN * situation.tol
        everything = stay + len(add) >= situation.rows
        inner = final if everything else max(final, self.looseness * situation.violation)
        quota = max(self.start_size, min(limit, stay + len(add)))
        order = SurveyOrder(quota, final, whole=situation.complete)
        return Proposal(drop, add, inner, order)

    def _drop(self, situation: Situation, limit: int, rng: np.random.Generator) -> Bools:
        """Rows to drop: idle ones always, others when room is short.

        Support vectors at a bound make way for up to half a set of newcomers, those farthest from
        violating first, but those that came last go last: two rows that violate against each other
        must meet. Free ones make way only for a quarter, at random, which happens when the memory
        is too small for all of them.
        """
        near = situation.slack < self.keep_slack * situation.violation
        drop = ~situation.support & ~near
        newcomers = len(situation.violators)
        for movable, share, urgency in (
            (~situation.free, limit // 2, np.where(situation.newest, -np.inf, situation.slack)),
            (situation.free, max(1, limit // 4), rng.random(len(drop))),
        ):
            excess = len(drop) - int(drop.sum()) + min(newcomers, share) - limit
            candidates = np.flatnonzero(movable & ~drop)
            if excess > 0 and len(candidates):
                order = np.argsort(-urgency[candidates], kind="stable")
                drop[candidates[order[:excess]]] = True
        return drop

    def finished(self, situation: Situation) -> bool:
        """Return whether every row was visited and none violates."""
        return situation.complete and situation.violation <= situation.tol
