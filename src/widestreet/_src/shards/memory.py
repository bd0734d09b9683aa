"""What a shard remembers: the last score of each row, and the expansion it belongs to.

Memory only saves work. A shard that has none answers every question from the news alone: the score
of every row is zero at version 0, the zero expansion.
"""

from __future__ import annotations

import numpy as np

from widestreet import _core
from widestreet._src.arrays import Bools, Floats, Ints, Real
from widestreet._src.certificate import Part
from widestreet._src.problems.dual import Dual
from widestreet._src.shards.expansion import Expansion
from widestreet._src.shards.news import News

_KEPT_VERSIONS = 6  # older scores are recomputed from all support vectors


class Memory:
    """Arrays with one entry per row of a shard.

    Parameters
    ----------
    dual : Dual
    begin : int
        The number of the first row among those of all shards.
    norm : ndarray or None
        The root of K(x, x) of each row; None where it is one.

    Attributes
    ----------
    beta : ndarray of shape (layers, n)
    score : ndarray of shape (n,)
    version : ndarray of shape (n,)
        Of the expansion that each score belongs to.
    native : _core.Shard
        The same arrays as the core knows them.
    epoch : int
        Of the news that it knows.
    part : Part or None
        The rows as a part of an examination of the present point, if there was one.
    """

    def __init__(self, dual: Dual, begin: int, norm: Real | None) -> None:
        self.epoch = 0
        self.part: Part | None = None
        self.begin, self.end = begin, begin + dual.rows
        self.beta = np.zeros_like(dual.target)
        self.score = np.zeros(dual.rows)
        self.version = np.zeros(dual.rows, dtype=np.int32)
        self.native = _core.Shard(dual.native(), self.beta, self.score, self.version, norm)
        nothing = np.empty(0, dtype=np.int64)
        self._serial = self._version = -1
        self._support = self._members = nothing
        self._past: dict[int, tuple[Ints, Floats]] = {0: (nothing, np.empty(0))}

    def hear(self, news: News) -> bool:
        """Take in news; return whether they are new. Sets: everything."""
        if news.serial == self._serial:
            return False
        self._serial = news.serial
        if news.expansion.version != self._version:
            self.part, self._version = None, news.expansion.version
        point = news.point.between(self.begin, self.end)
        self.beta[:, self._support] = 0.0
        self.beta[:, point.ids] = point.beta
        self._support = point.ids
        self.score[self._members], self.version[self._members] = 0.0, 0
        known = self._mine(news.released.ids)
        rows = news.released.ids[known] - self.begin
        self.score[rows], self.version[rows] = news.released.score[known], news.released.version
        self._members = news.members[self._mine(news.members)] - self.begin
        self.version[self._members] = _core.IN_WORKING_SET
        expansion = news.expansion
        self._past[expansion.version] = expansion.ids, expansion.coef
        self._past.pop(expansion.version - _KEPT_VERSIONS, None)
        return True

    @property
    def past(self) -> list[Ints]:
        """Support vectors of the expansions that are still known."""
        return [ids for ids, _ in self._past.values()]

    def _mine(self, ids: Ints) -> Bools:
        found: Bools = (ids >= self.begin) & (ids < self.end)
        return found

    def change_since(self, version: int, expansion: Expansion) -> tuple[Ints, Floats] | None:
        """Return what changed since a past expansion; None if that is not known any more."""
        past = self._past.get(version)
        return None if past is None else expansion.change_from(*past)
