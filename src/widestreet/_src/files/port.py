"""Shards whose rows are blocks on disk.

A shard exists while it is asked. Between questions only the last scores of all rows and their
versions stay in memory, 12 bytes per row. Rows are read when the first kernel value of a question
is computed, one block ahead of the computation, and dropped after the answer. The scores of an
examination, which are needed again by its next question, are kept on the disk.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any, Protocol, TypeVar

import numpy as np

from widestreet._src.arrays import Ints, Real
from widestreet._src.certificate import Arrays, Record
from widestreet._src.files.lazy import LazyRows
from widestreet._src.kernels.poll import Poll
from widestreet._src.shards.columns import Features, HeardRows, heard_with
from widestreet._src.shards.last_scores import Ledger
from widestreet._src.shards.news import News
from widestreet._src.shards.shard import Shard
from widestreet._src.shards.shard_examination import part_of

Answer = TypeVar("Answer")

EXAMINED: dict[str, tuple[np.dtype[Any], int]] = {  # arrays of an examination
    "examined score": (np.dtype(np.float64), 1),
    "examined error": (np.dtype(np.float64), 1),
    "examined state": (np.dtype(np.int8), 1),
}


class ShardStore(Protocol):
    """The shards of one problem on disk."""

    @property
    def sizes(self) -> Sequence[int]:
        """Number of rows of each shard."""
        ...

    def shard(self, k: int, load: Callable[[], Real]) -> tuple[Shard, LazyRows]:
        """Return a shard and the rows that it reads by `load`; its columns are `HeardRows`."""
        ...

    def load(self, k: int) -> Real:
        """Read the features that a shard needs."""
        ...

    def read(self, name: str, k: int) -> Any:
        """Return one of the arrays `EXAMINED` of a shard."""
        ...

    def write(self, name: str, k: int, values: Any) -> None:
        """Set one of the arrays `EXAMINED` of a shard."""
        ...


class StoredPort:
    """Reaches shards on disk, one after the other.

    Parameters
    ----------
    store : ShardStore
    """

    def __init__(self, store: ShardStore) -> None:
        self._store = store
        self.sizes = list(store.sizes)
        self._ends = np.cumsum(self.sizes).tolist()
        self._ledger = Ledger(0, self._ends[-1])
        self._news: News | None = None
        self._heard: Features | None = None
        self._records: dict[int, Record] = {}  # scores of the last examination, by shard
        self._reads_rows: set[str] = set()  # questions that did so the last time

    def publish(self, news: News) -> None:
        """Store the news for the next questions. Sets: everything that is kept."""
        if news.epoch != self._ledger.epoch:
            self._ledger, self._heard = Ledger(0, self._ends[-1]), None
            self._ledger.epoch, self._records = news.epoch, {}
        if self._ledger.hear(news):
            self._heard = heard_with(self._heard, news.rows, self._past)
        self._news = news

    def ask(
        self, question: Callable[..., Answer], each: Mapping[int, tuple[Any, ...]], poll: Poll
    ) -> dict[int, Answer]:
        """Return the answers of some shards. Sets: what is kept of them."""
        answers, behind = {}, [*each, None][1:]
        with _Reader(self._store) as reader:
            for k, after in zip(each, behind, strict=True):
                shard, rows = self._store.shard(k, reader.take(k))
                if question.__qualname__ in self._reads_rows:
                    reader.begin(k, after)
                self._restore(k, shard)
                answers[k] = question(shard, self._news, *each[k], poll=poll)
                self._keep(k, shard)
                if rows.loaded:
                    self._reads_rows.add(question.__qualname__)
                else:
                    self._reads_rows.discard(question.__qualname__)
        return answers

    def _restore(self, k: int, shard: Shard) -> None:
        """Restore the memory of a shard. Sets: its memory."""
        assert self._news is not None
        assert isinstance(shard.columns, HeardRows)
        end = self._ends[k]
        shard.columns.resume(self._heard)
        shard.resume(self._ledger.between(end - self.sizes[k], end))
        shard.memory.record = record = self._records.get(k)
        if record is not None and record.point.version == self._news.expansion.version:
            part_of(shard, self._news)

    def _keep(self, k: int, shard: Shard) -> None:
        """Keep the scores of an examination, if it went on. Sets: records."""
        memory, known = shard.memory, self._records.get(k)
        if memory.part is None or memory.examined is None or not memory.part.scores.begun:
            if memory.record is None:
                self._records.pop(k, None)
            return
        record = memory.part.scores.record(memory.examined)
        if known is not None and (record.point.version, record.counts) == (
            known.point.version,
            known.counts,
        ):
            return
        self._records.pop(k, None)  # an interrupt must not leave old figures of new scores
        for name, values in zip(EXAMINED, record.load(), strict=True):
            self._store.write(name, k, values)
        self._records[k] = replace(record, load=partial(self._load, k))

    def _load(self, k: int) -> Arrays:
        """Read the scores of an examination."""
        score, error, state = (self._store.read(name, k) for name in EXAMINED)
        return score, error, state

    @property
    def _past(self) -> list[Ints]:
        """Support vectors of past points that are needed to update scores."""
        points = [point for one in self._records.values() for point in (one.point, one.before)]
        every = {point.version: point.ids for point in points if point is not None}
        return [*self._ledger.past, *every.values()]


class _Reader:
    """Reads blocks ahead, in another thread."""

    def __init__(self, store: ShardStore) -> None:
        self._store = store
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="widestreet-reader")
        self._begun: dict[int, Future[Real]] = {}

    def __enter__(self) -> _Reader:
        return self

    def __exit__(self, *error: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def begin(self, *wanted: int | None) -> None:
        """Begin to read blocks, unless that was done before. Sets: begun."""
        for k in wanted:
            if k is not None and k not in self._begun:
                self._begun[k] = self._pool.submit(self._store.load, k)

    def take(self, k: int) -> Callable[[], Real]:
        """Return a function that returns the features of a block once."""

        def load() -> Real:
            self.begin(k)
            return self._begun.pop(k).result()

        return load
