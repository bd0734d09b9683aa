"""Examinations of the published point, in which every shard is a part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from widestreet import _core
from widestreet._src.certificate import Examination, Limits, Part, examine_parts
from widestreet._src.kernels.poll import Poll
from widestreet._src.shards.news import News
from widestreet._src.shards.point import Point
from widestreet._src.shards.shard import Shard
from widestreet._src.shards.shard_set import ShardSet

Answer = TypeVar("Answer")


# -- questions to a shard ------------------------------------------------------------------------


def part_of(shard: Shard, news: News) -> Part:
    """Return the rows of a shard as a part of an examination of the published point."""
    shard.hear(news)
    memory = shard.memory
    if memory.part is None:
        coef = news.point.coef
        used = coef != 0
        columns = shard.columns.places(news.point.ids[used])
        memory.part = Part(shard.gram, shard.dual, memory.beta, columns, coef[used])
    return memory.part


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


def adopt_scores(shard: Shard, news: News, *, poll: Poll | None = None) -> None:
    """Use the scores of the last examination, if they are stored, in the next surveys.

    Surveys in float32 also use the scores that the examination computed in float32.
    """
    shard.hear(news)
    memory = shard.memory
    if memory.part is not None:
        scores = memory.part.scores
        known = scores.exact if news.double else scores.exact | scores.estimated
        outside = known & (memory.version != _core.IN_WORKING_SET)
        memory.score[outside] = scores.score[outside]
        memory.version[outside] = news.expansion.version


# -- questions to all shards ---------------------------------------------------------------------


class _Parts:
    """The rows of all shards as parts of an examination of the published point."""

    def __init__(self, shards: ShardSet) -> None:
        self.shards = shards
        self._screens: tuple[Limits, ...] = ()

    def ask(self, question: Callable[[Part], Answer]) -> list[Answer]:
        """Return the answers of all parts, in order."""
        return self.shards.ask_all(answer, self._screens, question)

    def screen(self, limits: Limits) -> list[int]:
        """Screen the rows of all parts; return how many each scored in float64. Sets: screens."""
        self._screens = (*self._screens, limits)
        return self.shards.ask_all(screen, self._screens)


def examine_shards(shards: ShardSet, point: Point, tol: float) -> Examination:
    """Examine a point over all rows, after publishing it if it is not the last. Sets: shards."""
    if not point.same_as(shards.news.point):
        expansion = shards.news.expansion
        expansion = expansion.published(point.ids, point.coef, expansion.bias, np.inf)
        shards.publish(expansion, point)
    convex = shards.kernel.positive
    return examine_parts(_Parts(shards), shards.form.total, convex=convex, tol=tol, compare=True)


def adopt(shards: ShardSet) -> None:
    """Use the scores of the last examination in the next surveys of all shards."""
    shards.ask_all(adopt_scores)
