"""Examinations of the published point, in which every shard is a part."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from widestreet import _core
from widestreet._src.arrays import Floats, Ints
from widestreet._src.certificate import (
    Change,
    Examination,
    Examined,
    GapEstimate,
    Limits,
    Part,
    Stratum,
    distance,
    estimate,
    examine_parts,
    excess_of,
    gap_terms,
    screens,
)
from widestreet._src.kernels.poll import Poll
from widestreet._src.problems.dual import select
from widestreet._src.problems.goal import Goal
from widestreet._src.shards.news import News
from widestreet._src.shards.point import Point
from widestreet._src.shards.score_updates import learn, scores
from widestreet._src.shards.shard import Shard
from widestreet._src.shards.shard_set import ShardSet

Answer = TypeVar("Answer")

_LARGEST_PART = 0.25  # of the kernel values of an examination, for the distance between two points


# -- questions to a shard ------------------------------------------------------------------------


def part_of(shard: Shard, news: News) -> Part:
    """Return the rows of a shard as a part of an examination of the published point."""
    shard.hear(news)
    memory = shard.memory
    if memory.part is None:
        point = _examined(news)
        columns = shard.columns.places(point.ids)
        part = Part(shard.gram, shard.dual, memory.beta, columns, point.coef)
        record, memory.record = memory.record, None
        if record is not None and record.point.version == point.version:
            before = record.before
            change = None if before is None else _change(shard, before, point)
            part.scores.resume(record, change)
        elif record is not None:
            part.scores.recall(record, _change(shard, record.point, point))
        memory.part, memory.examined = part, point
    return memory.part


def _examined(news: News) -> Examined:
    """Return the published point, to be examined."""
    coef = news.point.coef
    used = coef != 0
    return Examined(news.expansion.version, news.point.ids[used], coef[used])


def _change(shard: Shard, before: Examined, point: Examined) -> Change:
    """Return the changes of coefficients between two points."""
    ids, values = before.change_to(point.ids, point.coef)
    return Change(before, shard.columns.places(ids), values)


def forget_scores(shard: Shard, news: News, *, poll: Poll | None = None) -> None:
    """Drop the scores of all examinations. Sets: memory."""
    shard.hear(news)
    shard.memory.part = shard.memory.examined = shard.memory.record = None


def _part(shard: Shard, news: News, screens: Sequence[Limits], poll: Poll | None) -> Part:
    """Return the rows of a shard as a part that was screened with these limits."""
    part = part_of(shard, news)
    part.scores.poll = poll
    part.repeat(screens)
    return part


def answer(
    shard: Shard,
    news: News,
    screens: Sequence[Limits],
    question: Callable[[Part], Answer],
    *,
    poll: Poll | None = None,
) -> Answer:
    """Return the answer of a part.

    Parameters
    ----------
    shard : Shard
    news : News
    screens : sequence of Limits
        Limits of all screenings of this examination so far. A shard without memory repeats
        these screenings.
    question : callable
        Takes a Part.
    poll : Poll
    """
    return question(_part(shard, news, screens, poll))


def screen(shard: Shard, news: News, screens: Sequence[Limits], *, poll: Poll | None = None) -> int:
    """Screen a part; return how many rows the last screening scored in float64."""
    return _part(shard, news, screens[:-1], poll).repeat(screens)


def adopt_scores(shard: Shard, news: News, *, poll: Poll | None = None) -> float:
    """Use the scores of the last examination, if they are stored, in the next surveys.

    For surveys in float64, scores that the examination computed in float32 count as scores of the
    version before. A drift of that version of at least the result, the largest error divided by
    sqrt(K(x, x)), makes surveys skip only rows that do not violate whatever the error is. Rows of
    that version that are not skipped are scored from all support vectors. So are all rows if no
    examination is stored, because scores may be from float32.

    Returns
    -------
    error : float
        Zero if no score has an error that matters to surveys; inf if none is known.
    """
    shard.hear(news)
    memory, version = shard.memory, news.expansion.version
    if memory.part is None:
        return np.inf if news.double else 0.0
    scores = memory.part.scores
    outside = scores.current & (memory.version != _core.IN_WORKING_SET)
    memory.score[outside], memory.version[outside] = scores.score[outside], version
    rough = np.flatnonzero(outside & ~scores.exact)
    if not news.double or len(rough) == 0:
        return 0.0
    memory.version[rough] = version - 1
    memory.ledger.drop(version - 1)
    error = scores.error[rough] + scores.rounding
    with np.errstate(divide="ignore"):
        return float(np.max(error if shard.norm is None else error / shard.norm[rough]))


def sampled_terms(
    shard: Shard, news: News, ids: Ints, bias: Floats, *, poll: Poll | None = None
) -> tuple[Floats, float, float]:
    """Return the contributions of some rows to the gap, and sums of their boxes and of c u.

    The scores are computed in float64.
    """
    score = scores(shard, news, ids, True, poll=poll)
    dual = select(shard.dual, ids)
    beta = shard.memory.beta[:, ids]
    width = float((dual.upper - dual.lower).sum())
    terms = gap_terms(dual, beta, excess_of(dual, beta, score, bias[dual.group]).high)
    return terms, width, float(beta.sum(axis=0) @ score)


# -- questions to all shards ---------------------------------------------------------------------


class _Parts:
    """The rows of all shards as parts of an examination of the published point.

    Parameters
    ----------
    shards : ShardSet
    drift : mapping
        Bounds on the distance from points that were examined before, by their numbers.
    """

    def __init__(self, shards: ShardSet, drift: Mapping[int, float]) -> None:
        self.shards, self._drift = shards, drift
        self._screens: tuple[Limits, ...] = ()

    def ask(self, question: Callable[[Part], Answer]) -> list[Answer]:
        """Return the answers of all parts, in order."""
        return self.shards.ask_all(answer, self._screens, question)

    def screen(self, limits: Limits) -> list[int]:
        """Screen the rows of all parts; return how many each scored in float64. Sets: screens."""
        self._screens = (*self._screens, replace(limits, drift=self._drift))
        return self.shards.ask_all(screen, self._screens)


def publish(shards: ShardSet, point: Point) -> None:
    """Publish a point, unless it is the last that was published. Sets: shards."""
    if not point.same_as(shards.news.point):
        expansion = shards.news.expansion
        expansion = expansion.published(point.ids, point.coef, expansion.bias, np.inf)
        shards.publish(expansion, point)


def examine_shards(shards: ShardSet, point: Point, goal: Goal) -> Examination:
    """Examine a point over all rows, after publishing it if it is not the last.

    Scores of the last examination are used where they prove enough. If their rounding decides
    whether the point meets the goal, all scores are computed from scratch. Sets: shards.
    """
    publish(shards, point)
    before = shards.examined
    found = _examination(shards, _drift(shards), goal)
    if before is not None and found.limited_by_rounding(goal):
        shards.ask_all(forget_scores)
        found = _examination(shards, {}, goal)
    shards.examined = _examined(shards.news)
    return found


def _examination(shards: ShardSet, drift: Mapping[int, float], goal: Goal) -> Examination:
    """Examine the published point."""
    parts, convex = _Parts(shards, drift), shards.kernel.positive
    return examine_parts(parts, shards.form.total, convex=convex, goal=goal, compare=True)


def _drift(shards: ShardSet) -> dict[int, float]:
    """Bound the distance of the published point from the last one that was examined.

    The result is empty if the bound costs more than it saves. Sets: known rows of the shards.
    """
    before, now = shards.examined, _examined(shards.news)
    if before is None or not shards.kernel.positive or not screens(shards.rows, len(now.ids)):
        return {}
    ids, change = before.change_to(now.ids, now.coef)
    if len(ids) ** 2 > _LARGEST_PART * shards.rows * len(now.ids):
        return {}
    missing = shards.known.unknown(ids)
    if len(missing):
        shards.fetch(missing)
    return {before.version: distance(shards.known.between(ids), change, shards.poll)}


def learn_scores(shards: ShardSet, score: Floats) -> None:
    """Tell the shards the scores of all rows at the published point. No row may be in the set."""
    parts = np.split(score, shards.begins[1:])
    shards.ask(learn, {k: (part,) for k, part in enumerate(parts)})


def norm_of_start(shards: ShardSet, start: Point, rows: int, rng: np.random.Generator) -> float:
    """Return c'Kc of the published starting point; tell the shards its scores, if they are known.

    Otherwise it is estimated from so many support vectors. Scores that are given may be rounded
    like those of float32 values: in float64 they are not used.
    """
    if start.score is None or shards.news.double:
        return estimate_norm(shards, rows, rng)
    learn_scores(shards, start.score)
    return float(start.coef @ start.score[start.ids])


def estimate_norm(shards: ShardSet, rows: int, rng: np.random.Generator) -> float:
    """Return c'Kc of the published point, estimated from the scores of so many support vectors."""
    point = shards.news.point
    support, size = len(point), min(rows, len(point))
    if size == 0:
        return 0.0
    at = np.arange(support)
    if size < support:
        at = np.sort(rng.choice(support, size, replace=False))
    return float(point.coef[at] @ shards.scores(point.ids[at])) * (support / size)


def sampled_bias(shards: ShardSet, rows: int) -> Floats:
    """Return the biases of the published point that are best for a sample of the rows.

    So many support vectors are drawn, and as many other rows; each stands for others of its kind.
    """
    strata = _draw(shards, rows)
    index = np.concatenate([ids for _, ids in strata])
    stands_for = np.concatenate([np.full(len(ids), n / max(1, len(ids))) for n, ids in strata])
    order = np.argsort(index)
    ids, weight = index[order], stands_for[order]
    _, dual = shards.fetch(ids)
    dual = replace(dual, lower=weight * dual.lower, upper=weight * dual.upper)
    beta, score = weight * shards.news.point.at(ids), shards.scores(ids)
    end, total = np.array([len(ids)]), shards.form.total[None]
    _, [bias] = _core.examine(dual.native(), beta, score, end=end, total=total)
    found: Floats = bias
    return found


def _draw(shards: ShardSet, most: int) -> list[tuple[int, Ints]]:
    """Return the numbers of support vectors and of other rows, and at most so many of each."""
    rng, support = np.random.default_rng(0), shards.news.point.ids
    others = shards.rows - len(support)
    place = rng.choice(others, min(most, others), replace=False)
    # the k-th row that is no support vector has as many of them below it as satisfy s - index <= k
    idle = place + np.searchsorted(support - np.arange(len(support)), place, side="right")
    used = rng.choice(support, min(most, len(support)), replace=False)
    return [(len(support), used), (others, idle)]


def gap_estimates(
    shards: ShardSet,
    bias: Floats,
    dual: float,
    least: int,
    most: int,
    pass_seconds: float,
    violation: float = 0.0,
) -> Iterator[GapEstimate | None]:
    """Estimate the gap of the published point from a sample of the rows, and from larger ones.

    Each sample contains the one before and has twice its size, so that it takes about as long as
    all before it together. Where an estimate is None, nothing bounds the gap.

    Parameters
    ----------
    shards : ShardSet
    bias : ndarray of shape (groups,)
    dual : float
        Dual objective; it is estimated if it is not finite.
    least, most : int
        Number of rows to draw of the support vectors, and of the others, in the first and in the
        last sample.
    pass_seconds : float
        Seconds of an examination of all rows.
    violation : float
        Largest violation that the fit has seen at this point.
    """
    strata = [_Drawn(*one) for one in _draw(shards, most)]
    support, others = (stratum.rows for stratum in strata)
    linear = None if np.isfinite(dual) else shards.totals(shards.news.point)[0]
    drawn, size = 0, least
    while True:
        for stratum in strata:
            stratum.ask(shards, slice(drawn, drawn + size), bias)
        drawn += size
        if linear is not None:
            dual = linear - 0.5 * strata[0].norm
        yield estimate([one.stratum(violation) for one in strata], dual, pass_seconds)
        if drawn >= min(most, max(support, others)):
            return
        size = min(drawn, most - drawn)


class _Drawn:
    """Rows that were drawn from a stratum of so many rows, and the answers about some of them."""

    def __init__(self, rows: int, ids: Ints) -> None:
        self.rows, self._ids = rows, ids
        self._terms = np.empty(0)
        self._width = self._norm = 0.0  # sums over the rows that were asked

    def ask(self, shards: ShardSet, part: slice, bias: Floats) -> None:
        """Ask the shards about some of the rows. Sets: everything."""
        ids = np.sort(self._ids[part])
        if len(ids) == 0:
            return
        answers, _ = shards.each(sampled_terms, ids, bias)
        self._terms = np.concatenate([self._terms, *(terms for terms, _, _ in answers)])
        self._width += sum(width for _, width, _ in answers)
        self._norm += sum(norm for _, _, norm in answers)

    def stratum(self, violation: float) -> Stratum:
        """Return the stratum with the terms known so far."""
        width = self._width / max(1, len(self._terms))
        return Stratum(self.rows, self._terms, violation * width)

    @property
    def norm(self) -> float:
        """c'Kc, estimated from the rows that were asked."""
        return self._norm * (self.rows / max(1, len(self._terms)))


def adopt(shards: ShardSet) -> float:
    """Use the scores of the last examination in the next surveys of all shards.

    Returns
    -------
    error : float
        Smallest drift of the version before, as in `adopt_scores`.
    """
    return max(shards.ask_all(adopt_scores))
