"""Scores of the rows of a shard: from all support vectors, or from changed coefficients.

A row whose score was computed from an earlier expansion needs only the kernel values with support
vectors whose coefficients changed since. The cheaper of both ways is chosen for the rows of each
version, by the number of kernel values.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from widestreet import _core
from widestreet._src.arrays import Floats, Ints
from widestreet._src.kernels.gram import interpolated
from widestreet._src.kernels.poll import Poll
from widestreet._src.kernels.several_scans import Scan, scan_each
from widestreet._src.problems.dual import Dual, select
from widestreet._src.shards.columns import Features
from widestreet._src.shards.expansion import Expansion
from widestreet._src.shards.news import News
from widestreet._src.shards.shard import Shard


def take(
    shard: Shard, news: News, ids: Ints, *, poll: Poll | None = None
) -> tuple[Dual, Floats, Features | None]:
    """Return the variables of rows, their present scores and their features. Sets: memory."""
    shard.hear(news)
    memory = shard.memory
    stale = ids[memory.version[ids] != news.expansion.version]
    bring_up_to_date(shard, news, stale, poll=poll)
    return select(shard.dual, ids), memory.score[ids], shard.columns.features(ids)


def everything(shard: Shard, news: News, *, poll: Poll | None = None) -> tuple[Dual, Floats]:
    """Return the variables of all rows, and their scores except in the working set. Sets: memory.

    The arrays are those of the shard itself, where it is in this process.
    """
    shard.hear(news)
    version = shard.memory.version
    old = (version != news.expansion.version) & (version != _core.IN_WORKING_SET)
    bring_up_to_date(shard, news, np.flatnonzero(old), poll=poll)
    return shard.dual, shard.memory.score


def scores(
    shard: Shard, news: News, ids: Ints, double: bool, *, poll: Poll | None = None
) -> Floats:
    """Return scores of rows in float64 or, unless `double`, from float32 kernel values.

    Scores that an examination computed in float64 are not computed again.
    """
    shard.hear(news)
    score, known = np.empty(len(ids)), np.zeros(len(ids), dtype=bool)
    if double and shard.memory.part is not None:
        examined = shard.memory.part.scores
        known = examined.exact[ids]
        score[known] = examined.score[ids[known]]
    score[~known] = _scores(shard, news.expansion, ids[~known], double, poll)
    return score


def _scores(
    shard: Shard, expansion: Expansion, ids: Ints, double: bool, poll: Poll | None
) -> Floats:
    """Compute scores of rows from all support vectors."""
    dtype = np.float64 if double else np.float32
    columns = shard.columns.places(expansion.ids)
    return shard.gram.scan(ids, columns, expansion.coef, dtype=dtype, poll=poll)


def learn(shard: Shard, news: News, score: Floats, *, poll: Poll | None = None) -> None:
    """Take over the scores of all rows at the published point. Sets: memory."""
    shard.hear(news)
    shard.memory.score[:], shard.memory.version[:] = score, news.expansion.version


def bring_up_to_date(shard: Shard, news: News, stale: Ints, *, poll: Poll | None = None) -> None:
    """Compute the scores of rows, from all support vectors or from changed coefficients.

    Sets: score and version of the rows.
    """
    memory, expansion = shard.memory, news.expansion
    native, threads = memory.native, shard.threads
    rows, count = native.by_version(stale, expansion.version, threads)
    dtype = np.float64 if news.double else np.float32
    ends, done = np.cumsum(count), 0
    anew: list[Ints] = []
    vectors = len(expansion.ids)
    smooth = not news.double and interpolated(shard.gram, len(stale), vectors) is not None
    scans: list[Scan] = []
    for version, (ids, change) in () if smooth else _changes(shard, count, expansion):
        begin, end = ends[version : version + 2]
        anew.append(rows[done:begin])
        scans.append((rows[begin:end], shard.columns.places(ids), change))
        done = end
    rest = np.concatenate([*anew, rows[done : ends[-1]]]) if anew else rows[: ends[-1]]
    if len(rest):
        scans.append((rest, shard.columns.places(expansion.ids), expansion.coef))
    for p, score in scan_each(shard.gram, scans, dtype=dtype, poll=poll):
        some = scans[p][0]
        if p < len(anew):
            score += native.read(some, threads)
        native.store(some, score, expansion.version, threads)


def _changes(
    shard: Shard, count: Ints, expansion: Expansion
) -> Iterator[tuple[int, tuple[Ints, Floats]]]:
    """Yield versions of scores that a scan of changed coefficients updates, and the changes.

    Such a scan must save more kernel values than a call is worth: on a device, which computes
    values fast, scores from all support vectors in one call are often cheaper.

    Parameters
    ----------
    shard : Shard
    count : ndarray
        Number of rows whose scores are of an unknown version, and of each past version.
    expansion : Expansion
    """
    vectors, least = len(expansion.ids), shard.gram.values_per_call
    if count.sum() * vectors <= least:
        return
    for version, rows in enumerate(count[1:].tolist()):
        if rows * vectors > least:
            known = shard.memory.ledger.change_since(version, expansion, rows, shard.threads)
            if known is not None and rows * (vectors - len(known[0])) > least:
                yield version, known
