"""Blocks of a spool, from which the shards of problems are made."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from widestreet._src.arrays import Ints, Real
from widestreet._src.files.lazy import LazyRows
from widestreet._src.files.port import StoredPort
from widestreet._src.files.spool import Spool
from widestreet._src.rows import Vectors
from widestreet._src.shards.shard import Shard
from widestreet._src.training.sharded import Block, Recipe

Answer = TypeVar("Answer")


class SpoolBlocks:
    """The blocks of a spool.

    Parameters
    ----------
    spool : Spool
    none : Vectors
        No rows, in the form that all rows have.
    """

    def __init__(self, spool: Spool, none: Vectors) -> None:
        self.spool, self.none = spool, none

    def load(self, k: int) -> Real:
        """Return the features of the rows of a block."""
        found: Real = self.spool.read("X", k)
        return found.reshape(-1, self.none.shape[1])

    def block(self, k: int, load: Callable[[], Real] | None = None) -> Block:
        """Return a block, whose features are read by `load` when they are needed."""
        size = int(self.spool.sizes[k])
        rows = LazyRows(load or (lambda: self.load(k)), size, self.none)
        origin: Any = _Origin(self.spool, k)
        return Block(rows, self.spool.target(k), self.spool.weight(k), origin, k)

    def ask(self, question: Callable[[Block], Answer], look: Callable[[], None]) -> list[Answer]:
        """Return the answers of all blocks, in order."""
        answers = []
        for k in range(len(self.spool.sizes)):
            look()
            answers.append(question(self.block(k)))
        return answers

    def connect(self, recipe: Recipe) -> StoredPort:
        """Return a port to the shards of a problem."""
        return StoredPort(ProblemBlocks(self, recipe))


class ProblemBlocks:
    """The rows of one problem in each block that has any."""

    def __init__(self, blocks: SpoolBlocks, recipe: Recipe) -> None:
        self._blocks, self._recipe = blocks, recipe
        self._numbers = recipe.present
        self.sizes = [recipe.sizes[k] for k in self._numbers]

    def shard(self, k: int, load: Callable[[], Real]) -> tuple[Shard, LazyRows]:
        """Return a shard and the rows of its block, which are not read yet."""
        block = self._blocks.block(self._numbers[k], load)
        assert isinstance(block.rows, LazyRows)
        return self._recipe.shard(block), block.rows

    def load(self, k: int) -> Real:
        """Return the features of all rows of the block of a shard."""
        return self._blocks.load(self._numbers[k])

    def read(self, name: str, k: int) -> Any:
        """Return an array of a shard."""
        return self._blocks.spool.read(name, self._numbers[k])[: self.sizes[k]]

    def write(self, name: str, k: int, values: Any) -> None:
        """Set an array of a shard."""
        self._blocks.spool.write(name, self._numbers[k], values)


class _Origin:
    """Numbers of the rows of a block among those that the user passed, read when asked for."""

    def __init__(self, spool: Spool, k: int) -> None:
        self._spool, self._k = spool, k

    @cached_property
    def _every(self) -> Ints:
        return np.asarray(self._spool.read("origin", self._k))

    def __getitem__(self, at: Ints) -> Ints:
        return self._every[at]
