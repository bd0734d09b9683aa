"""Engines with some rows in their working set, for the tests of what a round is made of."""

from __future__ import annotations

import numpy as np

from support.fitting import build_dual
from widestreet._src.engines.budget import Budget
from widestreet._src.engines.working_set.rounds import WorkingSetEngine
from widestreet._src.engines.working_set.state_of_rounds import Inputs
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import RBF, Kernel
from widestreet._src.problems.goal import Goal
from widestreet._src.rows import as_rows
from widestreet._src.shards.shard_set import ShardSet
from widestreet.datasets import checkerboard
from widestreet.strategies import Auto


def engine_with(
    inside: int, rows: int = 2100, *, kernel: Kernel | None = None, budget: Budget | None = None
) -> WorkingSetEngine:
    """An engine for a checkerboard, whose first rows are in the working set."""
    X, y = checkerboard(rows, random_state=0)
    gram = Gram(kernel or RBF(2.0), as_rows(X, centred=True))
    inputs = Inputs(
        shards=ShardSet.of(gram, build_dual("c_svc", np.float64(y), C=10.0)),
        strategy=Auto(),
        goal=Goal(1e-3),
        check=None,
        budget=budget or Budget(),
        room=rows,
        observer=lambda record: None,
        rng=np.random.default_rng(0),
    )
    engine = WorkingSetEngine(inputs)
    taken = inputs.shards.take(np.arange(inside))
    engine.state.work.exchange(np.zeros(0, dtype=bool), taken)
    engine.state.newcomers = inside
    engine._tell()
    return engine
