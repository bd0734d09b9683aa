"""Several shards seen as one: what the engine talks to.

Rows are numbered through: those of the first shard, then those of the second, and so on. Every
method routes to the shards that hold the rows concerned, or asks all of them through the runner.
What comes back from a survey is bounded by its quota, however many rows and shards there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from widestreet._src.arrays import Bools, Floats, Ints
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.poll import Poll
from widestreet._src.problems.dual import Dual, join, select
from widestreet._src.shards.expansion import Expansion
from widestreet._src.shards.runner import LocalRunner, Runner
from widestreet._src.shards.shard import Candidates, Shard, Survey, SurveyOrder


class ShardSet:
    """Shards and the runner that reaches them.

    Parameters
    ----------
    shards : sequence of Shard
    gram : Gram
        Kernel values between the rows of all shards, for the working set.
    poll : Poll
    runner : Runner
    """

    def __init__(
        self,
        shards: Sequence[Shard],
        gram: Gram,
        poll: Poll,
        runner: Runner | None = None,
    ) -> None:
        self.shards = list(shards)
        self.gram, self.poll = gram, poll
        self.runner = runner or LocalRunner()
        self._ends = np.cumsum([shard.rows for shard in self.shards])
        self._begins = self._ends - [shard.rows for shard in self.shards]
        self.rows = int(self._ends[-1])
        self.double = False

    @classmethod
    def of(
        cls,
        gram: Gram,
        dual: Dual,
        *,
        poll: Poll | None = None,
        threads: int = 1,
        parts: int = 1,
        runner: Runner | None = None,
    ) -> ShardSet:
        """Shards over rows in memory, which all have the same Gram."""
        poll = poll or Poll()
        if parts == 1:
            return cls([Shard(gram, dual, threads)], gram, poll, runner)
        every = np.arange(dual.rows)
        shards = [
            Shard(gram.select(ids, every), select(dual, ids), threads)
            for ids in np.array_split(every, parts)
        ]
        return cls(shards, gram, poll, runner)

    # -- what is known without asking --------------------------------------------------------------

    @property
    def dual(self) -> Dual:
        """The dual of the first shard: groups, totals and layers are everybody's."""
        return self.shards[0].dual

    def first_violation(self) -> float:
        """Violation of the zero model, or one where zero is not feasible."""
        duals = [shard.dual for shard in self.shards]
        highest = max(np.max(d.target, where=d.upper > 0, initial=-np.inf) for d in duals)
        lowest = min(np.min(d.target, where=d.lower < 0, initial=np.inf) for d in duals)
        violation = float(highest - lowest)
        return violation if 0 < violation < np.inf else 1.0

    def draw(self, size: int, rng: np.random.Generator) -> Ints:
        """Random rows; of classes, at least a quarter of each sign where there are enough."""
        if size == self.rows:
            return np.arange(size)
        if self.dual.layers > 1:
            return np.sort(rng.choice(self.rows, size, replace=False))
        negative = np.concatenate([shard.dual.lower[0] < 0 for shard in self.shards])
        fewer, more = sorted([np.flatnonzero(negative), np.flatnonzero(~negative)], key=len)
        share = min(len(fewer), max(size // 4, round(size * len(fewer) / self.rows)))
        chosen = [rng.choice(fewer, share, replace=False)]
        chosen += [rng.choice(more, size - share, replace=False)]
        ids: Ints = np.sort(np.concatenate(chosen))
        return ids

    def pair(self) -> Ints:
        """The first row that can move and the first it violates against, of each group.

        Where scores are not known, as at the start of nu problems, the second is the first that
        can move the other way.
        """
        zero = not any(shard.beta.any() for shard in self.shards)
        chosen: list[int] = []
        for g in range(self.dual.groups):
            up, down = (
                np.concatenate(part)
                for part in zip(*(_reach(s, g) for s in self.shards), strict=True)
            )
            if not zero:
                up, down = (
                    np.where(up > -np.inf, 1.0, -np.inf),
                    np.where(down < np.inf, -1.0, np.inf),
                )
            movers = np.flatnonzero((up > -np.inf) | (down < np.inf))
            if len(movers) == 0:
                continue
            first = int(movers[0])
            against = np.maximum(up[first] - down, up - down[first]) > 0
            against[first] = False
            others = np.flatnonzero(against) if against.any() else movers[1:]
            chosen += [first, *others[:1]]
        return np.unique(np.array(chosen, dtype=np.int64))

    # -- rows that come and go ---------------------------------------------------------------------

    def _owners(self, ids: Ints) -> Iterator[tuple[Shard, Ints, Ints]]:
        """Shards that hold some of the rows, with the places in `ids` and the rows' own numbers."""
        if len(self.shards) == 1:
            yield self.shards[0], np.arange(len(ids)), ids
            return
        owner = np.searchsorted(self._ends, ids, side="right")
        for k in np.unique(owner):
            at = np.flatnonzero(owner == k)
            yield self.shards[k], at, ids[at] - self._begins[k]

    def take(self, ids: Ints, model: Expansion) -> Candidates:
        """Hand rows over to the working set, with scores of the present model."""
        order, parts = [], []
        for shard, at, own in self._owners(ids):
            shard.bring_up_to_date(own[shard.version[own] != model.version], model, self.poll)
            order.append(at)
            parts.append(shard.take(own))
        if len(parts) == 1:
            return Candidates(ids, parts[0].variables, parts[0].beta, parts[0].score)
        back = np.argsort(np.concatenate(order), kind="stable")
        return Candidates(
            ids,
            select(join([p.variables for p in parts]), back),
            np.concatenate([p.beta for p in parts], axis=1)[:, back],
            np.concatenate([p.score for p in parts])[back],
        )

    def release(self, ids: Ints, beta: Floats, score: Floats, version: int) -> None:
        """Take rows back from the working set."""
        for shard, at, own in self._owners(ids):
            shard.release(own, beta[:, at], score[at], version)

    def store(self, ids: Ints, beta: Floats) -> None:
        """Note coefficients of rows, wherever they are."""
        for shard, at, own in self._owners(ids):
            shard.beta[:, own] = beta[:, at]

    def start_from(self, beta: Floats) -> None:
        """Begin at another point than zero."""
        for shard, part in zip(self.shards, np.split(beta, self._ends[:-1], axis=1), strict=True):
            shard.start_from(part)

    def feasible_point(self) -> Floats:
        """A point that meets every constraint."""
        if len(self.shards) == 1:
            return self.dual.feasible_point()
        return join([shard.dual for shard in self.shards]).feasible_point()

    def count_free(self, beta: Floats) -> int:
        """Variables of a point that are strictly inside their box."""
        parts = np.split(beta, self._ends[:-1], axis=1)
        shards = zip(self.shards, parts, strict=True)
        return int(sum(((b > s.dual.lower) & (b < s.dual.upper)).sum() for s, b in shards))

    def linear(self, beta: Floats) -> float:
        """The part of the objective that is linear: sum of target times beta."""
        parts = np.split(beta, self._ends[:-1], axis=1)
        shards = zip(self.shards, parts, strict=True)
        return float(sum((shard.dual.target * part).sum() for shard, part in shards))

    def collect(self) -> Floats:
        """Coefficients of all rows."""
        if len(self.shards) == 1:
            return self.shards[0].beta
        return np.concatenate([shard.beta for shard in self.shards], axis=1)

    # -- questions to all --------------------------------------------------------------------------

    def use_double(self) -> None:
        """Compute kernel values of surveys in float64 from here on."""
        self.double = True
        for shard in self.shards:
            shard.double = True

    def refresh(self, score: Floats, exact: Bools, version: int) -> None:
        """Accept exact scores computed elsewhere for rows outside the working set."""
        scores, known = np.split(score, self._ends[:-1]), np.split(exact, self._ends[:-1])
        for shard, part, which in zip(self.shards, scores, known, strict=True):
            shard.refresh(part, which, version)

    def evaluate(self, ids: Ints, model: Expansion, *, double: bool = True) -> Floats:
        """Scores of rows, exact ones unless told otherwise."""
        score = np.empty(len(ids))
        for shard, at, own in self._owners(ids):
            score[at] = shard.evaluate(own, model, double=double, poll=self.poll)
        return score

    def judge(self, beta: Floats, model: Expansion, tol: float) -> Survey:
        """All violators of another point than the present one."""
        parts = np.split(beta, self._ends[:-1], axis=1)

        def ask(k: int) -> Survey:
            return self.shards[k].judge(parts[k], model, tol, self.poll)

        return _united(self.runner.map(ask, range(len(parts))), self._begins)

    def survey(self, model: Expansion, order: SurveyOrder, rng: np.random.Generator) -> Survey:
        """Ask every shard for violators; each is asked for its share of the quota."""
        if len(self.shards) == 1:
            return self.shards[0].survey(model, order, rng, self.poll)
        if order.rows is not None:
            return self._survey_these(order.rows, model, order, rng)
        seeds = rng.integers(2**63, size=len(self.shards))

        def ask(k: int) -> Survey:
            shard = self.shards[k]
            share = replace(order, quota=-(-order.quota * shard.rows // self.rows))
            return shard.survey(model, share, np.random.default_rng(seeds[k]), self.poll)

        found = self.runner.map(ask, range(len(self.shards)))
        return _united(found, self._begins)

    def _survey_these(
        self, rows: Ints, model: Expansion, order: SurveyOrder, rng: np.random.Generator
    ) -> Survey:
        """Ask for violators among some rows, from shard to shard in the order of the rows."""
        owner = np.searchsorted(self._ends, rows, side="right")
        if order.whole:  # then their order does not matter
            by_owner = np.argsort(owner, kind="stable")
            rows, owner = rows[by_owner], owner[by_owner]
        begins = np.flatnonzero(np.diff(owner, prepend=-1))
        found: list[Survey] = []
        left = order.quota
        for part in np.split(rows, begins[1:]):
            k = int(np.searchsorted(self._ends, part[0], side="right")) if len(part) else 0
            own = replace(order, rows=part - self._begins[k], quota=left)
            survey = self.shards[k].survey(model, own, rng, self.poll)
            found.append(replace(survey, ids=survey.ids + self._begins[k]))
            left -= 0 if order.whole else survey.found
            if left == 0:
                break
        return _united(found, np.zeros(len(found), dtype=np.int64))


def _reach(shard: Shard, g: int) -> tuple[Floats, Floats]:
    """Of each row, the largest target that may grow and the smallest that may shrink."""
    dual, mine = shard.dual, shard.dual.group == g
    up = np.where(mine & (shard.beta < dual.upper), dual.target, -np.inf).max(axis=0)
    down = np.where(mine & (shard.beta > dual.lower), dual.target, np.inf).min(axis=0)
    return up, down


def _united(found: Sequence[Survey], begins: Ints) -> Survey:
    """One survey out of several; `begins` is what to add to the rows of each."""
    return Survey(
        ids=np.concatenate([s.ids + b for s, b in zip(found, begins, strict=True)]),
        violation=np.concatenate([s.violation for s in found]),
        highest=np.asarray(np.stack([s.highest for s in found]).max(axis=0)),
        lowest=np.asarray(np.stack([s.lowest for s in found]).min(axis=0)),
        loss=sum(s.loss for s in found),
        scanned=sum(s.scanned for s in found),
        skipped=sum(s.skipped for s in found),
        complete=all(s.complete for s in found),
        found=sum(s.found for s in found),
        visited=sum(s.visited for s in found),
    )
