"""A shard: a block of rows with all arrays that have one entry per row.

The engine is the coordinator and has no array of the length of the data. A shard holds the
variables of its rows. Its memory holds their coefficients, the last score of each row and the
version of the expansion that the score was computed from. A shard answers questions: functions of
a shard, the news, some arguments and a poll, such as its public methods. The most important
question is `survey`, which returns rows that violate the optimality conditions. The news contain
the expansion; the answer contains a bounded number of violators.

Skipping. Between two versions of an expansion the score of a row x changes by at most
|w_new - w_old| sqrt(K(x, x)), its drift. A row whose variables are all at a bound, with a slack
larger than the drift since its score was computed, cannot violate and is not evaluated. This is
exact for positive semidefinite kernels; for others no row is skipped. The bound is attained by rows
in the direction of the change; the scores of most rows change by a small fraction of it. A survey
may therefore use a fraction of the bound, provided that a later one visits every row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widestreet import _core
from widestreet._src.arrays import Floats, Ints, Real
from widestreet._src.kernels.gram import Gram, interpolates
from widestreet._src.kernels.poll import Poll
from widestreet._src.problems.dual import Dual, select
from widestreet._src.shards.columns import Features, ShardColumns
from widestreet._src.shards.expansion import Expansion
from widestreet._src.shards.last_scores import Ledger, Memory
from widestreet._src.shards.news import News
from widestreet._src.shards.survey_order import Survey, SurveyOrder

_ROWS_AT_ONCE = 2048  # rows at least that a survey visits before it counts the violators
_AHEAD = 1.1  # rows that a survey visits, relative to those in which the quota is expected


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
        return Memory(self.dual, Ledger(self.begin, self.begin + self.rows), self.norm)

    def resume(self, ledger: Ledger) -> None:
        """Continue with stored scores. Sets: memory."""
        vars(self)["memory"] = Memory(self.dual, ledger, self.norm)

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

    def take(
        self, news: News, ids: Ints, *, poll: Poll | None = None
    ) -> tuple[Dual, Floats, Features | None]:
        """Return the variables of rows, their present scores and their features. Sets: memory."""
        self.hear(news)
        memory = self.memory
        stale = ids[memory.version[ids] != news.expansion.version]
        self.bring_up_to_date(news, stale, poll=poll)
        return select(self.dual, ids), memory.score[ids], self.columns.features(ids)

    def fetch(
        self, news: News, ids: Ints, *, poll: Poll | None = None
    ) -> tuple[Dual, Features | None]:
        """Return the variables of rows and their features; None if the coordinator knows them."""
        return select(self.dual, ids), self.columns.features(ids)

    # -- scores ----------------------------------------------------------------------------------

    def scores(self, news: News, ids: Ints, double: bool, *, poll: Poll | None = None) -> Floats:
        """Return scores of rows in float64 or, unless `double`, from float32 kernel values.

        Scores that an examination computed in float64 are not computed again.
        """
        self.hear(news)
        score, known = np.empty(len(ids)), np.zeros(len(ids), dtype=bool)
        if double and self.memory.part is not None:
            examined = self.memory.part.scores
            known = examined.exact[ids]
            score[known] = examined.score[ids[known]]
        score[~known] = self._scores(news.expansion, ids[~known], double, poll)
        return score

    def _scores(self, expansion: Expansion, ids: Ints, double: bool, poll: Poll | None) -> Floats:
        """Compute scores of rows from all support vectors."""
        dtype = np.float64 if double else np.float32
        columns = self.columns.places(expansion.ids)
        return self.gram.scan(ids, columns, expansion.coef, dtype=dtype, poll=poll)

    def bring_up_to_date(self, news: News, stale: Ints, *, poll: Poll | None = None) -> None:
        """Compute the scores of rows, from all support vectors or from changed coefficients.

        Sets: score and version of the rows.
        """
        memory, expansion = self.memory, news.expansion
        versions = memory.version[stale]
        dtype = np.float64 if news.double else np.float32
        anew = versions != expansion.version
        smooth = not news.double and interpolates(self.gram, len(stale), len(expansion.ids))
        changes = () if smooth else self._changes(versions[anew], expansion)
        for version, (ids, change) in changes:
            mine = versions == version
            rows, anew = stale[mine], anew & ~mine
            out = memory.score[rows]
            columns = self.columns.places(ids)
            self.gram.scan(rows, columns, change, dtype=dtype, out=out, poll=poll)
            memory.score[rows], memory.version[rows] = out, expansion.version
        rows = stale[anew]
        if len(rows):
            memory.score[rows] = self._scores(expansion, rows, news.double, poll)
            memory.version[rows] = expansion.version

    def _changes(
        self, versions: NDArray[np.int32], expansion: Expansion
    ) -> Iterator[tuple[int, tuple[Ints, Floats]]]:
        """Yield versions of scores that a scan of changed coefficients updates, and the changes.

        Such a scan must save more kernel values than a call is worth: on a device, which computes
        values fast, scores from all support vectors in one call are often cheaper.
        """
        vectors, least = len(expansion.ids), self.gram.values_per_call
        if len(versions) * vectors <= least:
            return
        for version, count in enumerate(np.bincount(versions[versions >= 0]).tolist()):
            if count * vectors > least:
                known = self.memory.ledger.change_since(version, expansion, count)
                if known is not None and count * (vectors - len(known[0])) > least:
                    yield version, known

    def totals(
        self, news: News, ids: Ints, beta: Floats, *, poll: Poll | None = None
    ) -> tuple[float, int]:
        """Return the sum of target times beta over rows, and the number of free variables."""
        dual = self.dual
        free = (beta > dual.lower[:, ids]) & (beta < dual.upper[:, ids])
        return float((dual.target[:, ids] * beta).sum()), int(free.sum())

    # -- surveys ---------------------------------------------------------------------------------

    def survey(
        self,
        news: News,
        order: SurveyOrder,
        rng: np.random.Generator,
        *,
        poll: Poll | None = None,
    ) -> tuple[Survey, np.random.Generator]:
        """Search for violators in all rows, or in rows spread evenly over them.

        The generator is returned in its state after the survey. Sets: score and version of the
        rows evaluated.
        """
        self.hear(news)
        if order.rows is not None:
            return self._survey_these(news, order, order.rows, rng, poll), rng
        n, expansion, native = self.rows, news.expansion, self.memory.native
        offset, stride, step = 0, 1, n  # every row, in the order of memory
        if not order.whole:
            offset, stride = int(rng.integers(n)), _coprime(int(rng.integers(1, max(2, n))), n)
            step = _rows_to_visit(order.quota)
        drift = order.drift(expansion.drift)
        parts: list[Survey] = []
        begin = found = 0
        while begin < n and (order.whole or found < order.quota):
            end = min(n, begin + step)
            stale, skipped, loss = native.triage(
                offset, stride, begin, end, expansion.bias, drift, self.threads
            )
            self.bring_up_to_date(news, stale, poll=poll)
            part = self._judged(news, stale, order)
            parts.append(replace(part, loss=loss + part.loss, skipped=skipped, visited=end - begin))
            found, begin = found + part.found, end
            step = _rows_to_visit(order.quota, found, begin)
        survey = Survey.united(parts, [0] * len(parts))
        survey = replace(survey, loss=survey.loss * n / max(1, begin), complete=begin >= n)
        if found > order.quota:
            chosen = rng.choice(found, order.quota, replace=False)
            survey = replace(survey, ids=survey.ids[chosen], violation=survey.violation[chosen])
        return survey, rng

    def _judged(self, news: News, rows: Ints, order: SurveyOrder) -> Survey:
        """Return all violators among rows with present scores."""
        at, violation, highest, lowest, loss = self.memory.native.judge(
            rows, news.expansion.bias, order.tol, self.threads
        )
        return Survey(
            ids=rows[at],
            violation=violation,
            highest=highest,
            lowest=lowest,
            loss=loss,
            scanned=len(rows),
            skipped=0,
            complete=False,
            found=len(at),
            visited=len(rows),
        )

    def _survey_these(
        self,
        news: News,
        order: SurveyOrder,
        rows: Ints,
        rng: np.random.Generator,
        poll: Poll | None,
    ) -> Survey:
        """Search for violators among some rows, in their order.

        Sets: score and version of the rows evaluated.
        """
        stale = rows[self.memory.version[rows] != _core.IN_WORKING_SET]
        self.bring_up_to_date(news, stale, poll=poll)
        survey = self._judged(news, stale, order)
        ids, violation, found, visited = survey.ids, survey.violation, survey.found, len(rows)
        if found > order.quota and order.whole:
            chosen = np.sort(rng.choice(found, order.quota, replace=False))
            ids, violation = ids[chosen], violation[chosen]
        elif found >= order.quota and not order.whole:
            found = order.quota
            ids, violation = ids[:found], violation[:found]
            visited = int(np.flatnonzero(rows == ids[-1])[0]) + 1 if found else 0
        loss = survey.loss * self.rows / max(1, len(rows))
        return replace(
            survey, ids=ids, violation=violation, loss=loss, found=found, visited=visited
        )


def _rows_to_visit(quota: int, found: int = 0, visited: int = 0) -> int:
    """Return the number of rows in which the rest of a quota of violators is likely to be found.

    At first it is twice the quota; later it is at most that, or the number of rows visited so far.
    """
    most = max(_ROWS_AT_ONCE, 2 * quota, visited)
    if found == 0:
        return most
    return min(most, max(_ROWS_AT_ONCE, int(_AHEAD * (quota - found) / found * visited)))


def _coprime(start: int, n: int) -> int:
    """Return the first number from `start` on that has no factor in common with n."""
    while gcd(start, n) != 1:
        start += 1
    return start
