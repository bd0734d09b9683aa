"""Shards on disk, made of a problem in memory."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from widestreet._src.files.lazy import LazyRows
from widestreet._src.files.port import EXAMINED, StoredPort
from widestreet._src.files.scratch import Scratch
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.poll import Poll
from widestreet._src.problems.dual import Dual, select
from widestreet._src.shards.columns import HeardRows, TakenRows
from widestreet._src.shards.shard import Shard
from widestreet._src.shards.shard_set import ShardSet


class DualOnDisk:
    """Consecutive blocks of the rows of a Gram, with the variables in memory."""

    def __init__(self, gram: Gram, dual: Dual, parts: int, threads: int) -> None:
        self.gram, self.dual, self.threads = gram, dual, threads
        every = np.arange(dual.rows)
        self.ids = np.array_split(every, parts)
        self.sizes = [len(ids) for ids in self.ids]
        data = np.asarray(gram.left.data[gram.left_index(every)])
        self.none = gram.left.holding(data[:0])
        self.longest = gram.left.largest_square(threads)
        arrays = {"X": (data.dtype, data.shape[1]), **EXAMINED}
        self.scratch = Scratch(Path(tempfile.gettempdir()), dual.rows, arrays)
        self.scratch.write("X", 0, data)

    def __del__(self) -> None:
        self.scratch.close()

    def load(self, k: int) -> Any:
        return self.read("X", k).reshape(self.sizes[k], -1)

    def read(self, name: str, k: int) -> Any:
        begin = int(self.ids[k][0])
        return self.scratch.read(name, begin, begin + self.sizes[k])

    def write(self, name: str, k: int, values: Any) -> None:
        self.scratch.write(name, int(self.ids[k][0]), values)

    def shard(self, k: int, load: Callable[[], Any]) -> tuple[Shard, LazyRows]:
        ids = self.ids[k]
        rows = LazyRows(load, len(ids), self.none)
        own, begin = select(self.dual, ids), int(ids[0])
        columns = HeardRows(
            self.gram.kernel, rows, begin, self.longest, ids, own.diagonal, self.threads
        )
        return Shard(columns, own, self.threads, begin), rows


def stored_shards(
    gram: Gram, dual: Dual, *, parts: int, poll: Poll | None = None, threads: int = 1
) -> ShardSet:
    """Shards behind a port to rows on disk."""
    blocks = DualOnDisk(gram, dual, parts, threads)
    known = TakenRows(gram.kernel, blocks.none, blocks.longest, threads)
    form = select(dual, np.arange(0))
    return ShardSet(StoredPort(blocks), known, form, poll or Poll())
