"""A shard: a block of rows with all arrays that have one entry per row.

The engine is the coordinator and has no array of the length of the data. A shard holds the
variables of its rows. Its memory holds their coefficients, the last score of each row and the
version of the expansion that the score was computed from (last_scores.py). A shard answers
questions: functions of a shard, the news, some arguments and a poll. The most important question is
`survey` (survey_with_skipping.py), which returns rows that violate the optimality conditions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from widestreet._src.arrays import Floats, Ints, Real
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.poll import Poll
from widestreet._src.problems.dual import Dual, select
from widestreet._src.shards.columns import Features, ShardColumns
from widestreet._src.shards.last_scores import Ledger, Memory
from widestreet._src.shards.news import News


@dataclass(frozen=True, eq=False)
class Candidates:
    """Rows that enter the working set, with their variables, coefficients and scores."""

    ids: Ints
    variables: Dual
    beta: Floats
    score: Floats

    def __len__(self) -> int:
        return len(self.ids)


class Shard:
    """Rows with their variables, in this process. A pickled copy has no memory.

    Parameters
    ----------
    columns : ShardColumns
        Kernel values between the rows (left) and the rows that the shard knows (right).
    dual : Dual
        The variables of the rows.
    threads : int
    begin : int
        Number of the first row among those of all shards. Rows in questions and answers are
        numbered within the shard, rows in the news among those of all shards.
    """

    def __init__(self, columns: ShardColumns, dual: Dual, threads: int = 1, begin: int = 0) -> None:
        self.columns = columns
        self.dual = dual
        self.threads = threads
        self.begin = begin

    @property
    def rows(self) -> int:
        return self.dual.rows

    @property
    def gram(self) -> Gram:
        """Kernel values between the rows and the rows that the shard knows."""
        return self.columns.gram

    @cached_property
    def memory(self) -> Memory:
        """Coefficients and last scores of the rows."""
        ledger = Ledger(self.begin, self.begin + self.rows, self.threads)
        return Memory(self.dual, ledger, self.norm, self.threads)

    def resume(self, ledger: Ledger) -> None:
        """Continue with stored scores. Sets: memory."""
        vars(self)["memory"] = Memory(self.dual, ledger, self.norm, self.threads)

    @cached_property
    def norm(self) -> Real | None:
        """Square root of K(x, x) of each row; None if all are one, or no row may be skipped."""
        if self.gram.ones_on_diagonal or not self.gram.kernel.positive:
            return None
        with np.errstate(over="ignore"):  # a row with an infinite norm is never skipped
            return np.sqrt(self.gram.diag()).astype(np.float32)

    def __getstate__(self) -> dict[str, Any]:
        caches = ("memory", "norm")
        return {name: value for name, value in vars(self).items() if name not in caches}

    def forget(self) -> None:
        """Drop all data that can be computed again. Sets: memory, columns."""
        vars(self).pop("memory", None)
        self.columns.forget()

    def hear(self, news: News) -> None:
        """Update the memory and the columns from news. Sets: memory, columns."""
        if news.epoch != self.memory.ledger.epoch:
            self.forget()
            self.memory.ledger.epoch = news.epoch
        if self.memory.hear(news):
            self.columns.hear(news.rows, self.memory.past)

    # -- rows for the coordinator ----------------------------------------------------------------

    def fetch(
        self, news: News, ids: Ints, *, poll: Poll | None = None
    ) -> tuple[Dual, Features | None]:
        """Return the variables of rows and their features; None if the coordinator knows them."""
        return select(self.dual, ids), self.columns.features(ids)

    def totals(
        self, news: News, ids: Ints, beta: Floats, *, poll: Poll | None = None
    ) -> tuple[float, int]:
        """Return the sum of target times beta over rows, and the number of free variables."""
        dual = self.dual
        free = (beta > dual.lower[:, ids]) & (beta < dual.upper[:, ids])
        return float((dual.target[:, ids] * beta).sum()), int(free.sum())
