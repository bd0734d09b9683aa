"""RandSVM: support vectors and a random subset of the violators, again and again.

Problem and stopping criterion: the dual of dual.py; the loop ends when no row violates, which the
certificate then confirms, or as published when there are k support vectors.

    W = r random rows, solved;  SV = support vectors of W,  V = rows outside W that violate
    while V is not empty (and |SV| < k):
        W = SV and a random subset of V of size r - |SV|, solved;  SV and V anew

Dropping rows with a zero coefficient does not change the objective, and adding a violator raises
it. The objective therefore rises in every round, and the loop ends.

The bound k = 16 ln(4 n / delta) / epsilon^2 (equation 7) comes from random projections: with
probability 1 - delta some hyperplane of nearly the best margin has no more than k support vectors.
The paper does not show that the loop finds this hyperplane, and its delta = 0.9 makes the
probability 0.1. With a bound the result is an approximation, and the certificate measures its
error.

Unless `until_certified` is false, three things differ from the paper. The sample grows with the
number of support vectors, because a fixed sample may have no room for violators. Half of the new
rows are the worst violators found, half are random. Sets are solved to a looser tolerance while the
violations outside are large.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf, log

import numpy as np

from widestreet._src import checks
from widestreet._src.arrays import Ints
from widestreet._src.engines.selection.strategy_protocol import (
    Notes,
    Proposal,
    RowSource,
    Situation,
    Strategy,
    make_room,
)
from widestreet._src.shards.survey_order import SurveyOrder

_DEFAULT_SAMPLE = 1024  # rows of the first sample if neither k nor sample_size is given
_LOOSENESS = 0.05  # fraction of the violation outside to which sets are solved


@dataclass(frozen=True)
class RandSVM(Strategy):
    """Strategy that solves random samples and keeps their support vectors (RandSVM).

    Parameters
    ----------
    epsilon : float, default=0.2
        Distortion of the projections that `k="paper"` allows.
    delta : float, default=0.9
        Probability of failure that `k="paper"` allows.
    k : int, "paper" or None, default=None
        Number of support vectors in the working set at which the fit ends with status
        "approximate". "paper" computes it from epsilon, delta and the number of rows. None sets no
        bound.
    sample_size : int, optional
        Number of rows in the working set; by default twice k, or 1,024 without k. It grows to twice
        the number of support vectors unless `until_certified` is False.
    until_certified : bool, default=True
        If True, the sample grows and half of the new rows are the worst violators, so that the fit
        reaches the optimum in few rounds. If False, every step is the published one. The fit then
        ends with status "approximate" when the sample has no room for violators.

    Notes
    -----
    Trace records have the notes `sample_size` and `k`. The last record also has `ended`:
    "violators" if no violators are left, "k" if there are k support vectors, or "room" if the
    sample has no room for violators.

    References
    ----------
    RandSVM: a randomized algorithm for training support vector machines on large datasets.

    Examples
    --------
    >>> import widestreet as ws
    >>> from widestreet.datasets import checkerboard
    >>> from widestreet.strategies import RandSVM
    >>> X, y = checkerboard(2000, random_state=0)
    >>> ws.SVC(C=10, gamma=2, strategy=RandSVM(), random_state=0).fit(X, y).certificate_.status
    'optimal'
    >>> small = ws.SVC(C=10, gamma=2, strategy=RandSVM(k=100, sample_size=300), random_state=0)
    >>> small.fit(X, y).certificate_.status
    'approximate'
    """

    epsilon: float = 0.2
    delta: float = 0.9
    k: int | str | None = None
    sample_size: int | None = None
    until_certified: bool = True

    def __post_init__(self) -> None:
        checks.require_real("epsilon", self.epsilon, least=1e-6)
        checks.require_real("delta", self.delta, above=0.0, below=1.0)
        checks.require_flag("until_certified", self.until_certified)
        if isinstance(self.k, str):
            if self.k != "paper":
                raise ValueError(f"k must be a number, 'paper' or None, got {self.k!r}")
        elif self.k is not None:
            checks.require_integer("k", self.k, least=1)
        if self.sample_size is not None:
            checks.require_integer("sample_size", self.sample_size, least=2)

    def bound(self, rows: int) -> float:
        """Return the number of support vectors at which a fit of so many rows ends."""
        if self.k is None:
            return inf
        if isinstance(self.k, str):
            return ceil(16 * log(4 * rows / self.delta) / self.epsilon**2)
        return self.k

    def size(self, rows: int) -> int:
        """Return the number of rows in the first sample."""
        if self.sample_size is not None:
            return min(rows, self.sample_size)
        bound = self.bound(rows)
        return min(rows, _DEFAULT_SAMPLE if bound == inf else 2 * int(bound))

    def search(self) -> _Search:
        """Return a new search."""
        return _Search(self)


class _Search:
    """State of a RandSVM during one fit."""

    def __init__(self, plan: RandSVM) -> None:
        self.plan = plan
        self.size, self.bound = 0, inf
        self._notes: Notes = {}  # of the last round

    def start(self, rows: int, capacity: int) -> int:
        """Return the size of the sample. Sets: size, bound."""
        self.size, self.bound = min(self.plan.size(rows), capacity), self.plan.bound(rows)
        return self.size

    def draw(self, source: RowSource, size: int, rng: np.random.Generator) -> Ints:
        """Return random rows; with `until_certified` some of each class."""
        if self.plan.until_certified:
            return source.draw(size, rng)
        return rng.choice(source.rows, size, replace=False)

    def propose(self, situation: Situation, rng: np.random.Generator) -> Proposal:
        """Keep support vectors and add violators. Sets: the notes of the last round."""
        self._notes.pop("ended", None)  # a certificate found violators after that round
        rows, final = situation.rows, situation.goal.aim
        if situation.round == 0:
            drop = np.zeros(0, dtype=bool)
            order = SurveyOrder(rows, final, whole=True, skip=self.plan.until_certified)
            return Proposal(drop, situation.violators, final, order)
        if not self.plan.until_certified:
            drop = ~situation.support
            add = _some(situation.violators, self._room(situation), rng)
            return Proposal(drop, add, final, SurveyOrder(rows, final, whole=True, skip=False))
        idle = ~situation.support & situation.moved
        self.size = min(situation.capacity, max(self.size, 2 * int((~idle).sum())))
        newcomers = len(situation.violators)
        drop = make_room(situation, idle, self.size, newcomers, rng)
        stay = len(drop) - int(drop.sum())
        add = self._best(situation, self.size - stay, rng)
        loose = max(final, _LOOSENESS * situation.violation)
        inner = final if stay + len(add) >= rows else loose
        return Proposal(drop, add, inner, SurveyOrder(self.size, final, whole=True))

    def _room(self, situation: Situation) -> int:
        return max(0, self.size - int(situation.support.sum()))

    def _best(self, situation: Situation, room: int, rng: np.random.Generator) -> Ints:
        """Return violators for the room left: half the worst ones, half random ones."""
        worst = np.argsort(-situation.excess, kind="stable")
        half = room // 2
        rest = _some(situation.violators[worst[half:]], room - half, rng)
        return np.concatenate([situation.violators[worst[:half]], rest])

    def observe(self, situation: Situation) -> Notes:
        """Return the notes of a round, with the reason if it is to be the last."""
        notes: Notes = {"sample_size": self.size, "k": self.bound}
        if situation.found == 0:
            notes |= {"ended": "violators"} if self.finished(situation) else {}
        elif situation.support.sum() >= self.bound:
            notes["ended"] = "k"
        elif not self.plan.until_certified and self._room(situation) == 0:
            notes["ended"] = "room"
        self._notes = notes
        return notes

    def finished(self, situation: Situation) -> bool:
        """Return whether no row violates."""
        if self.plan.until_certified:
            return situation.solved
        return situation.complete and situation.found == 0

    def enough(self, situation: Situation) -> bool:
        """Return whether there are k support vectors, or no room for violators."""
        if situation.found == 0:
            return False
        full = not self.plan.until_certified and self._room(situation) == 0
        return full or bool(situation.support.sum() >= self.bound)


def _some(ids: Ints, count: int, rng: np.random.Generator) -> Ints:
    """Return at most `count` of the ids, drawn at random."""
    return ids if len(ids) <= count else ids[rng.choice(len(ids), count, replace=False)]
