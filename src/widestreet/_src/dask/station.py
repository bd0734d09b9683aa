"""Rows on a worker, and what is asked about them.

A station is the result of an ordinary task. It holds the rows of some partitions; the shard of the
problem that is being solved, with its memory, is a cache. A copy by pickle has no cache, so a
station that is made again, moved or written to disk answers as before, only more slowly once.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

import cloudpickle
import numpy as np
from distributed import Reschedule, get_worker

from widestreet._src.kernels.poll import Poll
from widestreet._src.shards.news import News
from widestreet._src.shards.shard import Shard
from widestreet._src.training.sharded import Block, Recipe

_STATE_BYTES = 96  # per row: targets, weights, numbers, and the memory of a shard


@dataclass(frozen=True, eq=False)
class Told:
    """Message to all stations.

    Attributes
    ----------
    problem : str
        Name of the problem.
    recipe : Recipe
    news : News
    size : int
        Bytes that the message had when it travelled.
    """

    problem: str
    recipe: Recipe
    news: News
    size: int = 0

    def __sizeof__(self) -> int:
        return self.size


@dataclass(frozen=True, eq=False)
class Answer:
    """The answer of a station.

    Attributes
    ----------
    found : object
    kernel_values : int
    seconds : float
    fresh : bool
        Whether the station had never been asked before.
    worker : str
        Address of the worker.
    """

    found: Any
    kernel_values: int
    seconds: float
    fresh: bool
    worker: str


class Station:
    """Rows of some partitions.

    Parameters
    ----------
    block : Block
    """

    def __init__(self, block: Block) -> None:
        self.block = block
        self._lock = Lock()  # a question that was cancelled may still be running
        self._problem = ""
        self._shard: Shard | None = None
        self._fresh = True

    def __reduce__(self) -> tuple[type[Station], tuple[Block]]:
        return Station, (self.block,)

    def __sizeof__(self) -> int:
        data = self.block.rows.data
        arrays = [data.data, data.indices, data.indptr] if self.block.rows.sparse else [data]
        return sum(int(array.nbytes) for array in arrays) + _STATE_BYTES * len(self.block)

    def answer(
        self, told: Told | None, question: Callable[..., Any], arguments: tuple[Any, ...]
    ) -> Answer:
        """Return the answer of the shard of a problem; without a problem, of the block.

        Sets: the shard and its memory.
        """
        with self._lock:
            begun, poll, fresh = time.perf_counter(), Poll(_unless_cancelled()), self._fresh
            self._fresh = False
            if told is None:
                found = question(self.block, *arguments)
            else:
                if told.problem != self._problem:
                    self._problem, self._shard = told.problem, told.recipe.shard(self.block)
                found = question(self._shard, told.news, *arguments, poll=poll)
            seconds = time.perf_counter() - begun
        return Answer(found, poll.kernel_values, seconds, fresh, get_worker().address)


def packed(told: Told) -> bytes:
    """Return what all stations are told as bytes, every number once.

    The support vectors are those of the point, and only the coordinator needs their origin.
    """
    news, nothing = told.news, np.empty(0, dtype=np.int64)
    point, expansion, rows = news.point, news.expansion, news.rows
    same = np.array_equal(expansion.ids, point.ids) and np.array_equal(expansion.coef, point.coef)
    if same:
        news = replace(news, expansion=replace(expansion, ids=nothing, coef=np.empty(0)))
    if rows is not None:
        assert np.array_equal(rows.ids, point.ids)
        news = replace(news, rows=replace(rows, ids=nothing, origin=nothing))
    written: bytes = cloudpickle.dumps((replace(told, news=news), same), 5)
    return written


def told_by(*pieces: bytes) -> Told:
    """Return what was packed and cut into pieces."""
    written = b"".join(pieces)
    told, same = pickle.loads(written)
    news: News = told.news
    point, expansion, rows = news.point, news.expansion, news.rows
    if same:
        news = replace(news, expansion=replace(expansion, ids=point.ids, coef=point.coef))
    if rows is not None:
        news = replace(news, rows=replace(rows, ids=point.ids, origin=point.ids))
    heard: Told = replace(told, news=news, size=len(written))
    return heard


def ask(station: Station, told: Told | None, payload: bytes) -> bytes:
    """Return the written answer of a station to a written question."""
    question, arguments = pickle.loads(payload)
    return pickle.dumps(station.answer(told, question, arguments), 5)


def _unless_cancelled() -> Callable[[], None]:
    """Return a function that raises as soon as the scheduler has cancelled the present task.

    A thread cannot be stopped from outside, and without this a cancelled question would keep its
    thread until it ends. The scheduler forgets a cancelled task that raises `Reschedule`, and runs
    it again if it is wanted after all.
    """
    worker = get_worker()
    key, tasks = worker.get_current_task(), worker.state.tasks

    def look() -> None:
        task = tasks.get(key)
        if task is None or task.state == "cancelled":
            raise Reschedule

    return look
