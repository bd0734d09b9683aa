"""The memory of a shard: the last score of each row, and the expansion it was computed from.

The memory only saves work. A shard without memory answers every question from the news alone: the
score of every row is zero at version 0, the zero expansion.
"""

from __future__ import annotations

from copy import copy

import numpy as np
from numpy.typing import NDArray

from widestreet import _core
from widestreet._src.arrays import Bools, Floats, Ints, Real
from widestreet._src.certificate import Examined, Part, Record
from widestreet._src.problems.dual import Dual
from widestreet._src.shards.expansion import Expansion
from widestreet._src.shards.news import News

# Scores that are older than the expansions kept are recomputed from all support vectors.
_KEPT_VERSIONS, _MOST_VERSIONS = 6, 24
_MANY_ROWS = 512  # with scores from an old expansion
_KEPT_ENTRIES = 6  # per row, in all expansions together: beyond it only the least number is kept


class Ledger:
    """Last scores of consecutive rows, and the expansions that they were computed from.

    Parameters
    ----------
    begin, end : int
        Number of the first row, and of the row after the last, among those of all shards.
    threads : int

    Attributes
    ----------
    score : ndarray of shape (n,)
    version : ndarray of shape (n,)
        Version of the expansion that each score was computed from.
    epoch : int
        Epoch of the last news.
    """

    def __init__(self, begin: int, end: int, threads: int = 1) -> None:
        self.begin, self.end, self.epoch = begin, end, 0
        self.score = _core.zeros(end - begin, threads)
        halves = _core.zeros((end - begin + 1) // 2, threads)  # two versions in each
        self.version = halves.view(np.int32)[: end - begin]
        nothing = np.empty(0, dtype=np.int64)
        self._serial = -1
        self._members = nothing
        self._double = False
        self._past: dict[int, tuple[Ints, Floats]] = {0: (nothing, np.empty(0))}
        self._change: dict[int, tuple[Ints, Floats]] = {}  # from past versions to `_now`
        self._now = -1

    def between(self, begin: int, end: int) -> Ledger:
        """Return the ledger of some of the rows, which shares the arrays and the news so far."""
        part = copy(self)
        part.begin, part.end = begin, end
        at = slice(begin - self.begin, end - self.begin)
        part.score, part.version = self.score[at], self.version[at]
        return part

    def hear(self, news: News) -> bool:
        """Update the ledger from news; return whether they are new. Sets: everything."""
        if news.serial == self._serial:
            return False
        self._serial = news.serial
        if news.double and not self._double:
            self._end_float32(news.expansion.version)
        self.score[self._members], self.version[self._members] = 0.0, 0
        known = self._mine(news.released.ids)
        rows = news.released.ids[known] - self.begin
        self.score[rows], self.version[rows] = news.released.score[known], news.released.version
        self._members = news.members[self._mine(news.members)] - self.begin
        self.version[self._members] = _core.IN_WORKING_SET
        expansion = news.expansion
        self._past[expansion.version] = expansion.ids, expansion.coef
        self._discard(expansion.version)
        return True

    def _end_float32(self, version: int) -> None:
        """Keep scores from float32 only to skip rows: rows that are visited are scored anew.

        Sets: version, past, double.
        """
        if version > 0:  # scores of version 0 are zero, which is exact
            self.version[self.version == version] = version - 1
        self._past, self._double = {}, True

    def drop(self, version: int) -> None:
        """Forget a past expansion, so that no score of it is updated. Sets: past."""
        self._past.pop(version, None)

    def _discard(self, version: int) -> None:
        """Discard old expansions: more of them if they have many support vectors. Sets: past."""
        entries = 0
        for old in sorted(self._past, reverse=True):
            entries += len(self._past[old][0])
            full = entries > _KEPT_ENTRIES * len(self.score)
            if version - old >= (_KEPT_VERSIONS if full else _MOST_VERSIONS):
                del self._past[old]

    @property
    def past(self) -> list[Ints]:
        """Support vectors of each stored expansion."""
        return [ids for ids, _ in self._past.values()]

    def _mine(self, ids: Ints) -> Bools:
        """Return the mask of the rows of this ledger."""
        found: Bools = (ids >= self.begin) & (ids < self.end)
        return found

    def change_since(
        self, version: int, expansion: Expansion, rows: int, threads: int = 1
    ) -> tuple[Ints, Floats] | None:
        """Return the changes of coefficients since a past expansion.

        The result is None if the expansion is not stored, or if it is old and the scores of too few
        rows were computed from it: to find what changed since would cost more than it saves.
        The changes are kept for the other blocks of a survey. Sets: change.
        """
        past = self._past.get(version)
        if past is None or (expansion.version - version >= _KEPT_VERSIONS and rows < _MANY_ROWS):
            return None
        if expansion.version != self._now:
            self._now, self._change = expansion.version, {}
        if version not in self._change:
            self._change[version] = expansion.change_from(*past, threads)
        return self._change[version]


class Memory:
    """Coefficients and last scores of the rows of a shard.

    Parameters
    ----------
    dual : Dual
    ledger : Ledger
    norm : ndarray or None
        Square root of K(x, x) of each row; None if it is one for all rows.
    threads : int

    Attributes
    ----------
    beta : ndarray of shape (layers, n)
    native : _core.Shard
        The same arrays in the native core.
    part : Part or None
        The rows as a part of the examination of the present point; None before it begins.
    examined : Examined or None
        The point of this examination.
    record : Record or None
        Scores of the last examination, until the next one uses them.
    """

    def __init__(self, dual: Dual, ledger: Ledger, norm: Real | None, threads: int = 1) -> None:
        self.ledger = ledger
        self.part: Part | None = None
        self.examined: Examined | None = None
        self.record: Record | None = None
        self.beta = _core.zeros(dual.target.size, threads).reshape(dual.target.shape)
        self.native = _core.Shard(dual.native(), self.beta, self.score, self.version, norm)
        self._serial = self._version = -1
        self._support = np.empty(0, dtype=np.int64)

    @property
    def score(self) -> Floats:
        return self.ledger.score

    @property
    def version(self) -> NDArray[np.int32]:
        return self.ledger.version

    def hear(self, news: News) -> bool:
        """Update the memory from news; return whether they are new. Sets: everything."""
        if news.serial != self._serial:
            self._serial = news.serial
            if news.expansion.version != self._version:
                self._keep_scores()
                self._version = news.expansion.version
            point = news.point.between(self.ledger.begin, self.ledger.end)
            for line, values in zip(self.beta, point.beta, strict=True):
                line[self._support] = 0.0
                line[point.ids] = values
            self._support = point.ids
        return self.ledger.hear(news)

    def _keep_scores(self) -> None:
        """Keep the scores of an examination that is over. Sets: part, record."""
        if self.part is not None and self.examined is not None and self.part.scores.begun:
            self.record = self.part.scores.record(self.examined)
        self.part = self.examined = None

    @property
    def past(self) -> list[Ints]:
        """Support vectors of past points that are needed to update scores."""
        points = [self.examined]
        if self.record is not None:
            points += [self.record.point, self.record.before]
        return [*self.ledger.past, *(point.ids for point in points if point is not None)]
