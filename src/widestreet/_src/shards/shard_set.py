"""Several shards seen as one: what the engine talks to.

Rows are numbered through: those of the first shard, then those of the second, and so on. Every
method puts questions to the shards that hold the rows concerned, or to all of them. What comes back
from a survey is bounded by its quota, however many rows and shards there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar

import numpy as np

from widestreet._src.arrays import Bools, Floats, Ints
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.poll import Poll
from widestreet._src.problems.dual import Dual, join, select
from widestreet._src.shards.expansion import Expansion
from widestreet._src.shards.news import News, Released
from widestreet._src.shards.point import Point
from widestreet._src.shards.port import LocalPort, Port
from widestreet._src.shards.shard import Candidates, Shard
from widestreet._src.shards.survey import Survey, SurveyOrder

Answer = TypeVar("Answer")
Connect: TypeAlias = Callable[[Sequence[Shard]], Port]


class ShardSet:
    """Shards behind a port, and what was published to them.

    Parameters
    ----------
    port : Port
    gram : Gram
        Kernel values between the rows of all shards, for the working set.
    form : Dual
        The dual without rows: its layers, groups and totals.
    poll : Poll

    Attributes
    ----------
    rows : int
        Of all shards.
    begins : ndarray
        The number of the first row of each shard.
    news : News
        The last ones.
    """

    def __init__(self, port: Port, gram: Gram, form: Dual, poll: Poll) -> None:
        self.port, self.gram, self.form, self.poll = port, gram, form, poll
        self._ends = np.cumsum(port.sizes)
        self.begins = self._ends - port.sizes
        self.rows = int(self._ends[-1])
        self.news = News(0, Expansion.zero(form.groups), Point.zero(form.layers))
        port.publish(self.news)

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
        """Return shards over rows in memory, which all have the same Gram."""
        every = np.arange(dual.rows)
        if parts == 1:
            shards = [Shard(gram, dual, threads)]
        else:
            shards = [
                Shard(gram.select(ids, every), select(dual, ids), threads, int(ids[0]))
                for ids in np.array_split(every, parts)
            ]
        return cls(connect(shards), gram, select(dual, every[:0]), poll or Poll())

    # -- asking ------------------------------------------------------------------------------------

    def ask_all(self, question: Callable[..., Answer], *arguments: Any) -> list[Answer]:
        """Return the answers of all shards to the same question, in order."""
        each = dict.fromkeys(range(len(self._ends)), arguments)
        return list(self.port.ask(question, each, self.poll).values())

    def _owners(self, ids: Ints) -> Iterator[tuple[int, Ints, Ints]]:
        """Yield shards with some of the rows: the places in `ids`, and the rows' own numbers."""
        if len(self._ends) == 1:
            yield 0, np.arange(len(ids)), ids
            return
        owner = np.searchsorted(self._ends, ids, side="right")
        for k in np.unique(owner):
            at = np.flatnonzero(owner == k)
            yield int(k), at, ids[at] - self.begins[k]

    # -- news --------------------------------------------------------------------------------------

    @property
    def double(self) -> bool:
        """Whether kernel values of surveys are float64."""
        return self.news.double

    def publish(
        self,
        expansion: Expansion,
        point: Point,
        members: Ints | None = None,
        released: Released | None = None,
    ) -> None:
        """Tell all shards where the coordinator stands. Sets: news."""
        serial, nothing = self.news.serial + 1, np.empty(0, dtype=np.int64)
        members, released = nothing if members is None else members, released or Released()
        self._tell(News(serial, expansion, point, members, released, self.double))

    def use_double(self) -> None:
        """Compute kernel values of surveys in float64 from here on. Sets: news."""
        news = self.news
        again = Released(news.members[:0])
        self._tell(replace(news, serial=news.serial + 1, released=again, double=True))

    def _tell(self, news: News) -> None:
        self.news = news
        self.port.publish(news)

    # -- rows that come and go ---------------------------------------------------------------------

    def take(self, ids: Ints) -> Candidates:
        """Return rows for the working set, with their present scores."""
        owners = {k: (at, own) for k, at, own in self._owners(ids)}
        answers = self.port.ask(
            Shard.take, {k: (own,) for k, (_, own) in owners.items()}, self.poll
        )
        beta = self.news.point.at(ids)
        if len(answers) == 1:
            [(variables, score)] = answers.values()
            return Candidates(ids, variables, beta, score)
        order = np.concatenate([at for at, _ in owners.values()])
        back = np.argsort(order, kind="stable")
        variables = select(join([part for part, _ in answers.values()]), back)
        score = np.concatenate([part for _, part in answers.values()])[back]
        return Candidates(ids, variables, beta, score)

    def refresh(self, score: Floats, exact: Bools) -> None:
        """Hand out exact scores computed elsewhere, for rows outside the working set."""
        scores, known = np.split(score, self._ends[:-1]), np.split(exact, self._ends[:-1])
        self.port.ask(Shard.refresh, dict(enumerate(zip(scores, known, strict=True))), self.poll)

    def evaluate(self, ids: Ints, expansion: Expansion, *, double: bool = True) -> Floats:
        """Return scores of rows, exact ones unless told otherwise."""
        score = np.empty(len(ids))
        owners = {k: (at, own) for k, at, own in self._owners(ids)}
        each = {k: (own, expansion, double) for k, (_, own) in owners.items()}
        for k, part in self.port.ask(Shard.evaluate, each, self.poll).items():
            score[owners[k][0]] = part
        return score

    # -- surveys -----------------------------------------------------------------------------------

    def survey(self, order: SurveyOrder, rng: np.random.Generator) -> Survey:
        """Ask every shard for violators; each is asked for its share of the quota. Sets: rng."""
        if len(self._ends) == 1:
            return self._survey_one(0, order, rng)
        if order.rows is not None:
            return self._survey_these(order.rows, order, rng)
        seeds = np.zeros(len(self._ends), dtype=np.int64)
        if not order.whole or order.quota < self.rows:  # else nothing is drawn
            seeds = rng.integers(2**63, size=len(self._ends))
        each = {
            k: (
                replace(order, quota=-(-order.quota * size // self.rows)),
                np.random.default_rng(seeds[k]),
            )
            for k, size in enumerate(self.port.sizes)
        }
        answers = self.port.ask(Shard.survey, each, self.poll)
        return Survey.united([survey for survey, _ in answers.values()], self.begins.tolist())

    def _survey_one(self, k: int, order: SurveyOrder, rng: np.random.Generator) -> Survey:
        """Ask one shard. Sets: rng."""
        [(survey, after)] = self.port.ask(Shard.survey, {k: (order, rng)}, self.poll).values()
        rng.bit_generator.state = after.bit_generator.state
        return survey

    def _survey_these(self, rows: Ints, order: SurveyOrder, rng: np.random.Generator) -> Survey:
        """Ask for violators among some rows, from shard to shard in the order of the rows."""
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

    def judge(self, expansion: Expansion, point: Point, tol: float) -> Survey:
        """Return all violators of another point than the present one."""
        other = News(0, expansion, point, double=self.double)
        found = self.ask_all(Shard.judge, other, tol)
        return Survey.united(found, self.begins.tolist())

    def totals(self, point: Point) -> tuple[float, int]:
        """Return the linear part of the objective, and how many variables are inside their box."""
        each = {k: (own, point.beta[:, at]) for k, at, own in self._owners(point.ids)}
        answers = self.port.ask(Shard.totals, each, self.poll).values()
        return sum(linear for linear, _ in answers), sum(free for _, free in answers)
