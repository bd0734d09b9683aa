"""Survey of the rows of a shard for violators; rows that cannot violate are skipped.

Skipping. Between two versions of an expansion the score of a row x changes by at most
|w_new - w_old| sqrt(K(x, x)), its drift. A row whose variables are all at a bound, with a slack
larger than the drift since its score was computed, cannot violate and is not evaluated. This is
exact for positive semidefinite kernels; for others no row is skipped. The bound is attained by rows
in the direction of the change; the scores of most rows change by a small fraction of it. A survey
may therefore use a fraction of the bound, provided that a later one visits every row.

Quota. Unless it must visit all rows, a survey visits rows in an order that is spread evenly over
them and ends when it has found enough violators.
"""

from __future__ import annotations

from dataclasses import replace
from math import gcd, sqrt

import numpy as np

from widestreet import _core
from widestreet._src.arrays import Ints
from widestreet._src.kernels.poll import Poll
from widestreet._src.shards.news import News
from widestreet._src.shards.score_updates import bring_up_to_date
from widestreet._src.shards.shard import Shard
from widestreet._src.shards.survey_order import Survey, SurveyOrder

_ROWS_AT_ONCE = 2048  # rows at least that a survey visits before it counts the violators
_AHEAD = 1.1  # rows that a survey visits, relative to those in which the quota is expected
_MANY_FOUND = 400  # violators: the number among other rows is then known to some 10 %


def survey(
    shard: Shard,
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
    shard.hear(news)
    if order.rows is not None:
        return _survey_these(shard, news, order, order.rows, rng, poll), rng
    n, expansion, native = shard.rows, news.expansion, shard.memory.native
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
            offset, stride, begin, end, expansion.bias, drift, shard.threads
        )
        bring_up_to_date(shard, news, stale, poll=poll)
        part = _judged(shard, news, stale, order, end - begin, skipped, loss)
        parts.append(part)
        found, begin = found + part.found, end
        step = _rows_to_visit(order.quota, found, begin)
    survey = Survey.united(parts, [0] * len(parts))
    survey = replace(survey, loss=survey.loss * n / max(1, begin), complete=begin >= n)
    if found > order.quota:
        chosen = rng.choice(found, order.quota, replace=False)
        survey = replace(survey, ids=survey.ids[chosen], violation=survey.violation[chosen])
    return survey, rng


def _judged(
    shard: Shard,
    news: News,
    rows: Ints,
    order: SurveyOrder,
    visited: int,
    skipped: int = 0,
    skipped_loss: float = 0.0,
) -> Survey:
    """Return all violators among rows with present scores, which are those not skipped."""
    at, violation, highest, lowest, loss = shard.memory.native.judge(
        rows, news.expansion.bias, order.tol, shard.threads
    )
    return Survey(
        ids=rows[at],
        violation=violation,
        highest=highest,
        lowest=lowest,
        loss=loss + skipped_loss,
        scanned=len(rows),
        skipped=skipped,
        complete=False,
        found=len(at),
        visited=visited,
    )


def _survey_these(
    shard: Shard,
    news: News,
    order: SurveyOrder,
    rows: Ints,
    rng: np.random.Generator,
    poll: Poll | None,
) -> Survey:
    """Search for violators among some rows, in their order.

    Sets: score and version of the rows evaluated.
    """
    stale = rows[shard.memory.version[rows] != _core.IN_WORKING_SET]
    bring_up_to_date(shard, news, stale, poll=poll)
    survey = _judged(shard, news, stale, order, len(stale))
    ids, violation, found, visited = survey.ids, survey.violation, survey.found, len(rows)
    if found > order.quota and order.whole:
        chosen = np.sort(rng.choice(found, order.quota, replace=False))
        ids, violation = ids[chosen], violation[chosen]
    elif found >= order.quota and not order.whole:
        found = order.quota
        ids, violation = ids[:found], violation[:found]
        visited = int(np.flatnonzero(rows == ids[-1])[0]) + 1 if found else 0
    loss = survey.loss * shard.rows / max(1, len(rows))
    return replace(survey, ids=ids, violation=violation, loss=loss, found=found, visited=visited)


def _rows_to_visit(quota: int, found: int = 0, visited: int = 0) -> int:
    """Return the number of rows in which the rest of a quota of violators is likely to be found.

    At first it is twice the quota. As long as few violators were found, it is the number of rows in
    which the rest is hardly ever exceeded: a random number with this mean is seldom larger by more
    than two standard deviations.
    """
    if visited == 0:
        return max(_ROWS_AT_ONCE, 2 * quota)
    left = (quota - found) * visited
    if found < _MANY_FOUND:
        return max(_ROWS_AT_ONCE, int(left / (found + 2.0 * sqrt(found + 1.0))))
    return max(_ROWS_AT_ONCE, int(_AHEAD * left / found))


def _coprime(start: int, n: int) -> int:
    """Return the first number from `start` on that has no factor in common with n."""
    while gcd(start, n) != 1:
        start += 1
    return start
