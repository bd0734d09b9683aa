"""The interface of engines to all shards.

Rows are numbered consecutively: those of the first shard, then those of the second, and so on. A
method asks the shards that hold the rows concerned, or all shards. A survey returns at most as many
rows as its quota, for any number of rows and shards.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar

import numpy as np

from widestreet._src.arrays import Floats, Ints
from widestreet._src.certificate import Examined
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import Kernel
from widestreet._src.kernels.poll import Poll
from widestreet._src.problems.dual import Dual, join, select
from widestreet._src.shards import score_updates, survey_with_skipping
from widestreet._src.shards.columns import AllRows, KnownRows
from widestreet._src.shards.expansion import Expansion
from widestreet._src.shards.news import News, Released
from widestreet._src.shards.point import Point
from widestreet._src.shards.port import LocalPort, Port
from widestreet._src.shards.shard import Candidates, Shard
from widestreet._src.shards.survey_order import Survey, SurveyOrder

Answer = TypeVar("Answer")
_LEAST_QUESTION = 1_000_000  # kernel values of a question whose time says something
_LARGE_QUESTION = 0.5  # of the most kernel values of a question so far

Connect: TypeAlias = Callable[[Sequence[Shard]], Port]


class ShardSet:
    """Shards behind a port, and the last news published to them.

    Parameters
    ----------
    port : Port
    known : KnownRows
        Kernel values between the rows that the coordinator knows: all rows, or those that it
        fetched.
    form : Dual
        The dual without rows: its layers, groups and totals.
    poll : Poll

    Attributes
    ----------
    rows : int
        Number of rows of all shards.
    begins : ndarray
        Number of the first row of each shard.
    news : News
        Last news.
    examined : Examined or None
        Last point that was examined since the versions started at zero.
    """

    def __init__(self, port: Port, known: KnownRows, form: Dual, poll: Poll) -> None:
        self.port, self.known, self.form, self.poll = port, known, form, poll
        self._ends = np.cumsum(port.sizes)
        self.begins = self._ends - port.sizes
        self.rows = int(self._ends[-1])
        self._large: deque[tuple[float, int]] = deque(maxlen=2)  # seconds and values of the last
        self._most_values, self._shortest = 0, np.inf  # of a question
        self._zero = Point.zero(form.layers)
        self.examined: Examined | None = None
        self.news = News(0, Expansion.zero(form.groups), self._zero)
        self._tell(self.news)

    @classmethod
    def of(
        cls,
        gram: Gram,
        dual: Dual,
        *,
        poll: Poll | None = None,
        threads: int = 1,
        parts: int = 1,
        connect: Connect = LocalPort,
    ) -> ShardSet:
        """Return shards over rows in memory, which share one Gram matrix."""
        if parts == 1:
            shards = [Shard(AllRows(gram), dual, threads)]
        else:
            every = np.arange(dual.rows)
            shards = [
                Shard(AllRows(gram.select(ids, every)), select(dual, ids), threads, int(ids[0]))
                for ids in np.array_split(every, parts)
            ]
        form = select(dual, np.empty(0, dtype=np.int64))
        return cls(connect(shards), AllRows(gram), form, poll or Poll())

    # -- kernel values -----------------------------------------------------------------------------

    @property
    def kernel(self) -> Kernel:
        return self.known.gram.kernel

    @property
    def seconds_per_value(self) -> float:
        """Seconds per kernel value of a large question; an estimate before the first.

        It is the faster one of the last two: a single one may have been held up. The time of the
        shortest question is subtracted: it is that of the messages.
        """
        if not self._large:
            return self.known.gram.seconds_per_value
        wait = self._shortest
        return min(max(t - wait, 0.1 * t) / values for t, values in self._large)

    @contextmanager
    def polling(self, poll: Poll) -> Iterator[Poll]:
        """Use another poll within the context. Sets: poll."""
        before, self.poll = self.poll, poll
        try:
            yield poll
        finally:
            self.poll = before

    # -- asking ------------------------------------------------------------------------------------

    def ask_all(self, question: Callable[..., Answer], *arguments: Any) -> list[Answer]:
        """Return the answers of all shards to the same question, in order."""
        each = dict.fromkeys(range(len(self._ends)), arguments)
        return list(self.ask(question, each).values())

    def ask(
        self, question: Callable[..., Answer], each: Mapping[int, tuple[Any, ...]]
    ) -> dict[int, Answer]:
        """Return the answers of some shards. Sets: what `seconds_per_value` is computed from."""
        begun, before = time.perf_counter(), self.poll.kernel_values
        try:
            return self.port.ask(question, each, self.poll)
        finally:
            values, seconds = self.poll.kernel_values - before, time.perf_counter() - begun
            self._shortest = min(self._shortest, seconds)
            if values > max(_LEAST_QUESTION, _LARGE_QUESTION * self._most_values):
                self._large.append((seconds, values))
                self._most_values = max(self._most_values, values)

    def _owners(self, ids: Ints) -> Iterator[tuple[int, Ints, Ints]]:
        """Yield shards that hold some of the rows, with positions in `ids` and in the shard."""
        if len(self._ends) == 1:
            yield 0, np.arange(len(ids)), ids
            return
        owner = np.searchsorted(self._ends, ids, side="right")
        for k in np.unique(owner):
            at = np.flatnonzero(owner == k)
            yield int(k), at, ids[at] - self.begins[k]

    # -- news --------------------------------------------------------------------------------------

    def publish(
        self,
        expansion: Expansion,
        point: Point,
        members: Ints | None = None,
        released: Released | None = None,
    ) -> None:
        """Publish a point with its expansion to all shards; drop other rows. Sets: known, news."""
        before = self.news
        members = point.ids[:0] if members is None else members
        self._tell(
            News(
                before.serial + 1,
                expansion,
                point,
                members,
                released or Released(),
                before.double,
                epoch=before.epoch,
            )
        )
        self.known.keep(point.ids, members)

    def start(self) -> None:
        """Publish the zero point as version 0 of the expansion. Sets: news, examined."""
        self.examined = None
        news = News(self.news.serial + 1, Expansion.zero(self.form.groups), self._zero)
        self._tell(replace(news, epoch=self.news.epoch + 1))

    def use_double(self) -> None:
        """Compute kernel values of surveys in float64 from here on. Sets: news."""
        news = self.news
        again = Released(news.members[:0])
        self._tell(replace(news, serial=news.serial + 1, released=again, double=True))

    def _tell(self, news: News) -> None:
        """Publish news with the features of the support vectors. Sets: known, news."""
        missing = self.known.unknown(news.point.ids)
        if len(missing):
            self.fetch(missing)
        rows = self.known.heard(news.point.ids)
        self.news = news = news if rows is news.rows else replace(news, rows=rows)
        self.port.publish(news)

    # -- rows that come and go ---------------------------------------------------------------------

    def each(
        self, question: Callable[..., Answer], ids: Ints, *more: Any
    ) -> tuple[list[Answer], Ints]:
        """Ask shards about rows; return the answers, and the positions of `ids` in them.

        Every shard is asked about its own rows, in the order of `ids`.
        """
        owners = {k: (at, own) for k, at, own in self._owners(ids)}
        answers = self.ask(question, {k: (own, *more) for k, (_, own) in owners.items()})
        order = np.concatenate([at for at, _ in owners.values()])
        return list(answers.values()), np.argsort(order, kind="stable")

    def fetch(self, ids: Ints) -> tuple[Gram, Dual]:
        """Return kernel values between rows, and their variables. Sets: known."""
        answers, back = self.each(Shard.fetch, ids)
        self.known.learn([features for _, features in answers])
        return self.known.between(ids), select(join([part for part, _ in answers]), back)

    def take(self, ids: Ints) -> Candidates:
        """Return rows for the working set, with their present scores. Sets: known."""
        answers, back = self.each(score_updates.take, ids)
        self.known.learn([features for _, _, features in answers])
        beta = self.news.point.at(ids)
        if len(answers) == 1:
            [(variables, score, _)] = answers
            return Candidates(ids, variables, beta, score)
        variables = select(join([part for part, _, _ in answers]), back)
        score = np.concatenate([part for _, part, _ in answers])[back]
        return Candidates(ids, variables, beta, score)

    def scores(self, ids: Ints, *, double: bool = True) -> Floats:
        """Return scores of rows at the published point, in float64 or in float32."""
        answers, back = self.each(score_updates.scores, ids, double)
        return np.concatenate(answers)[back]

    # -- surveys -----------------------------------------------------------------------------------

    def survey(self, order: SurveyOrder, rng: np.random.Generator) -> Survey:
        """Ask every shard for its share of the quota of violators. Sets: rng."""
        if len(self._ends) == 1:
            return self._survey_one(0, order, rng)
        if order.rows is not None:
            return self._survey_these(order.rows, order, rng)
        seeds = np.zeros(len(self._ends), dtype=np.int64)
        if not order.whole or order.quota < self.rows:  # otherwise nothing is drawn
            seeds = rng.integers(2**63, size=len(self._ends))
        each = {
            k: (
                replace(order, quota=-(-order.quota * size // self.rows)),
                np.random.default_rng(seeds[k]),
            )
            for k, size in enumerate(self.port.sizes)
        }
        answers = self.ask(survey_with_skipping.survey, each)
        return Survey.united([survey for survey, _ in answers.values()], self.begins.tolist())

    def _survey_one(self, k: int, order: SurveyOrder, rng: np.random.Generator) -> Survey:
        """Ask one shard. Sets: rng."""
        [(survey, after)] = self.ask(survey_with_skipping.survey, {k: (order, rng)}).values()
        rng.bit_generator.state = after.bit_generator.state
        return survey

    def _survey_these(self, rows: Ints, order: SurveyOrder, rng: np.random.Generator) -> Survey:
        """Ask for violators among some rows, in the order of the rows."""
        owner, visited = np.searchsorted(self._ends, rows, side="right"), rows
        if order.whole:  # then every shard is asked once
            by_owner = np.argsort(owner, kind="stable")
            visited, owner = rows[by_owner], owner[by_owner]
        begins = np.flatnonzero(np.diff(owner, prepend=-1))
        found: list[Survey] = []
        left = order.quota
        for part in np.split(visited, begins[1:]):
            k = int(np.searchsorted(self._ends, part[0], side="right")) if len(part) else 0
            own = replace(order, rows=part - self.begins[k], quota=left)
            survey = self._survey_one(k, own, rng)
            found.append(replace(survey, ids=survey.ids + self.begins[k]))
            left -= 0 if order.whole else survey.found
            if left == 0:
                break
        survey = Survey.united(found, [0] * len(found))
        sorter = np.argsort(rows)
        back = np.argsort(sorter[np.searchsorted(rows, survey.ids, sorter=sorter)])
        return replace(survey, ids=survey.ids[back], violation=survey.violation[back])

    def totals(self, point: Point) -> tuple[float, int]:
        """Return the linear part of the objective, and the number of free variables."""
        each = {k: (own, point.beta[:, at]) for k, at, own in self._owners(point.ids)}
        answers = self.ask(Shard.totals, each).values()
        return sum(linear for linear, _ in answers), sum(free for _, free in answers)
