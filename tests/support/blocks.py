"""Rows in blocks of this process, behind every port."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np

from support.ports import PORTS
from widestreet._src.kernels.kernels import Kernel
from widestreet._src.problems.formulations import DualFormulation
from widestreet._src.rows import as_rows
from widestreet._src.training.sharded import Block, Recipe, Task


@dataclass
class LocalBlocks:
    """Blocks that are asked by messages."""

    blocks: list[Block]
    port: str = "forgetful"

    def ask(self, question, look):
        look()
        question = pickle.loads(pickle.dumps(question))
        return [pickle.loads(pickle.dumps(question(block))) for block in self.blocks]

    def connect(self, recipe):
        recipe = pickle.loads(pickle.dumps(recipe))
        return PORTS[self.port]([recipe.shard(self.blocks[k]) for k in recipe.present])


def task(
    kernel: Kernel,
    formulation: DualFormulation,
    X: Any,
    target: np.ndarray,
    *,
    weight: np.ndarray | None = None,
    class_weight: np.ndarray | None = None,
    cuts: list[int],
    port: str = "forgetful",
) -> Task:
    """Rows that are cut into blocks."""
    whole = as_rows(X, centred=kernel.translation_invariant)
    weight = np.ones(X.shape[0]) if weight is None else weight
    parts = np.split(np.arange(X.shape[0]), cuts)
    blocks = [
        Block(whole.holding(whole.data[ids]), target[ids], weight[ids], ids, k)
        for k, ids in enumerate(parts)
    ]
    recipe = Recipe(kernel, formulation, whole.largest_square(1), class_weight)
    classes = 0 if class_weight is None else len(class_weight)
    none = whole.holding(whole.data[:0])
    return Task(LocalBlocks(blocks, port), recipe, none, classes, threads=1, room=1 << 14)
