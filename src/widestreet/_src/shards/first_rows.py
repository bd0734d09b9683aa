"""The first rows and the starting point of a fit, found by questions about the variables."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from widestreet import _core
from widestreet._src.arrays import Floats, Ints
from widestreet._src.kernels.poll import Poll
from widestreet._src.shards.news import News
from widestreet._src.shards.point import Point
from widestreet._src.shards.shard import Shard
from widestreet._src.shards.shard_set import ShardSet

_ROUNDING_OF_SUMS = 1e-12  # of a total: the sum of the boxes may be smaller by this much


@dataclass(frozen=True, eq=False)
class Mover:
    """The first rows of a shard whose variables can change.

    Attributes
    ----------
    ids : ndarray
        Numbers of the rows, at most two.
    up, down : float
        Largest target among the variables of the first row that may grow, and smallest target
        among those that may shrink.
    """

    ids: Ints
    up: float
    down: float


# -- questions to a shard ------------------------------------------------------------------------


def targets(shard: Shard, news: News, *, poll: Poll) -> tuple[float, float]:
    """Return the largest target that may grow from zero, and the smallest that may shrink."""
    return _core.extreme_targets(shard.dual.native(), shard.threads)


def count_negative(shard: Shard, news: News, *, poll: Poll) -> int:
    """Return the number of rows that may have a negative coefficient."""
    return int(np.count_nonzero(shard.dual.lower[0] < 0))


def ranked(shard: Shard, news: News, negative: bool, ranks: Ints, *, poll: Poll) -> Ints:
    """Return rows by their ranks among those that may have a negative coefficient, or may not."""
    lower = shard.dual.lower[0]
    return _core.places(lower < 0 if negative else lower >= 0, shard.threads)[ranks]


def room(shard: Shard, news: News, *, poll: Poll) -> Floats:
    """Return the largest sum of the variables of each group, in the direction of its total."""
    dual = shard.dual
    sums = [
        np.where(dual.group == g, dual.upper if total > 0 else -dual.lower, 0.0).sum()
        for g, total in enumerate(dual.total)
    ]
    return np.array(sums)


def fill(shard: Shard, news: News, total: Floats, *, poll: Poll) -> Point:
    """Return a point whose groups have these sums."""
    return Point.of(replace(shard.dual, total=total).feasible_point())


def movers(shard: Shard, news: News, group: int, *, poll: Poll) -> Mover:
    """Return the first rows of a group whose variables can change."""
    up, down = _reach(shard, news, group)
    able = np.flatnonzero((up > -np.inf) | (down < np.inf))[:2]
    if len(able) == 0:
        return Mover(able, -np.inf, np.inf)
    return Mover(able, float(up[able[0]]), float(down[able[0]]))


def against(shard: Shard, news: News, group: int, mover: Mover, but: int, *, poll: Poll) -> Ints:
    """Return the first row, other than `but`, that forms a violating pair with `mover`."""
    up, down = _reach(shard, news, group)
    found = np.maximum(mover.up - down, up - mover.down) > 0
    if but >= 0:
        found[but] = False
    return np.flatnonzero(found)[:1]


def _reach(shard: Shard, news: News, group: int) -> tuple[Floats, Floats]:
    """Return the largest target that may grow and the smallest that may shrink, for each row.

    If the point is not zero, scores are not known. Then the results are 1 and -1.
    """
    shard.hear(news)
    dual, beta = shard.dual, shard.memory.beta
    target = dual.target, dual.target
    if len(news.point):
        target = np.ones_like(dual.target), -np.ones_like(dual.target)
    mine = dual.group == group
    up = np.where(mine & (beta < dual.upper), target[0], -np.inf).max(axis=0)
    down = np.where(mine & (beta > dual.lower), target[1], np.inf).min(axis=0)
    return up, down


# -- questions to all shards ---------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FirstRows:
    """First rows and starting point of a fit on a shard set."""

    shards: ShardSet

    @property
    def rows(self) -> int:
        return self.shards.rows

    def first_violation(self) -> float:
        """Return the violation of the zero expansion; one if zero is not feasible."""
        found = self.shards.ask_all(targets)
        violation = max(high for high, _ in found) - min(low for _, low in found)
        return violation if 0 < violation < np.inf else 1.0

    def draw(self, size: int, rng: np.random.Generator) -> Ints:
        """Draw random rows; for classes, at least a quarter of each sign if there are enough."""
        if size == self.rows:
            return np.arange(size)
        if self.shards.form.layers > 1:
            return np.sort(rng.choice(self.rows, size, replace=False))
        counts = np.array(self.shards.ask_all(count_negative))
        kinds = [(True, counts), (False, np.asarray(self.shards.port.sizes) - counts)]
        (few, fewer), (many, more) = sorted(kinds, key=lambda kind: int(kind[1].sum()))
        total = int(fewer.sum())
        share = min(total, max(size // 4, round(size * total / self.rows)))
        chosen = [
            self._ranked(few, fewer, rng.choice(total, share, replace=False)),
            self._ranked(many, more, rng.choice(self.rows - total, size - share, replace=False)),
        ]
        return np.sort(np.concatenate(chosen))

    def _ranked(self, negative: bool, counts: Ints, ranks: Ints) -> Ints:
        """Return rows of all shards by their ranks, as `ranked` does for one shard."""
        ends = np.cumsum(counts)
        owner = np.searchsorted(ends, ranks, side="right")
        each = {
            int(k): (negative, ranks[owner == k] - (ends - counts)[k]) for k in np.unique(owner)
        }
        answers = self.shards.ask(ranked, each)
        rows = [ids + self.shards.begins[k] for k, ids in answers.items()]
        return np.concatenate([*rows, np.empty(0, dtype=np.int64)])

    def pair(self) -> Ints:
        """Return the first row of each group that can change, with its first violating partner.

        If scores are not known, as at the start of nu problems, the partner is the first row that
        can change in the opposite direction.
        """
        chosen: list[int] = []
        for g in range(self.shards.form.groups):
            found = self.shards.ask_all(movers, g)
            able = [k for k, mover in enumerate(found) if len(mover.ids)]
            if not able:
                continue
            k = able[0]
            every = np.concatenate([found[j].ids + self.shards.begins[j] for j in able])
            others = self._against(g, k, found[k])
            chosen += [int(every[0]), *(others if len(others) else every[1:])[:1].tolist()]
        return np.unique(np.array(chosen, dtype=np.int64))

    def _against(self, group: int, k: int, mover: Mover) -> Ints:
        """Return the first partner in each shard of the first row of shard `k`."""
        first, shards = int(mover.ids[0]), self.shards
        each = {j: (group, mover, first if j == k else -1) for j in range(len(shards.begins))}
        answers = shards.ask(against, each)
        return np.concatenate([ids + shards.begins[j] for j, ids in answers.items()])

    def feasible_point(self) -> Point:
        """Return a feasible point: boxes are filled in the order of the rows."""
        shards, form = self.shards, self.shards.form
        if not form.total.any():
            return Point.zero(form.layers)
        left, each = np.abs(form.total), {}
        for k, most in enumerate(shards.ask_all(room)):
            share = np.minimum(left, most)
            left = left - share
            each[k] = (np.sign(form.total) * share,)
        if (left > _ROUNDING_OF_SUMS * np.abs(form.total)).any():
            raise ValueError(f"the constraints cannot be met: sums of {form.total} do not fit")
        parts = shards.ask(fill, each)
        return Point(
            np.concatenate([part.ids + shards.begins[k] for k, part in parts.items()]),
            np.concatenate([part.beta for part in parts.values()], axis=1),
        )
