"""A shard with a known model, and what it must find, computed from the whole kernel matrix."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from conftest import TOL
from reference import kernels
from reference import shard as reference
from reference.duals import BetaDual
from support.fitting import in_reference_terms
from support.model_duals import build, labels
from support.problems import random_feasible
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import RBF, Linear, Poly
from widestreet._src.kernels.poll import Poll
from widestreet._src.problems.dual import Dual
from widestreet._src.rows import as_rows
from widestreet._src.shards.columns import AllRows
from widestreet._src.shards.expansion import Expansion
from widestreet._src.shards.news import News, Released
from widestreet._src.shards.point import Point
from widestreet._src.shards.score_updates import bring_up_to_date, take
from widestreet._src.shards.shard import Shard
from widestreet._src.shards.survey_order import SurveyOrder
from widestreet._src.shards.survey_with_skipping import survey

KERNELS = {
    "rbf": (RBF(1.0), "rbf", {"gamma": 1.0}),
    "linear": (Linear(), "linear", {}),
    "poly": (Poly(0.5, 1.0, 2), "poly", {"gamma": 0.5, "coef0": 1.0, "degree": 2}),
}
TOLERANCE = 0.05  # of surveys


@dataclass
class ShardLab:
    """A shard in float64, the model it is asked about, and the matrix it must not need."""

    model_name: str
    kernel: str
    seed: int
    rows: int = 120
    placed: bool = False
    shard: Shard = field(init=False)
    model: Expansion = field(init=False)
    released: Released = field(default_factory=Released)
    members: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    K: np.ndarray = field(init=False)
    poll: Poll = field(default_factory=Poll)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)
        kernel, name, params = KERNELS[self.kernel]
        X = 0.7 * self.rng.normal(size=(2 * self.rows, 3))
        kept = np.sort(self.rng.permutation(2 * self.rows)[: self.rows])
        X = X if self.placed else X[kept]
        dual = build(self.model_name, labels(self.rng, self.model_name, self.rows), np.ones(1))
        gram = Gram(kernel, as_rows(X)).select(kept if self.placed else None)
        self.shard = Shard(AllRows(gram), dual, 1)
        self.beta = np.where(
            self.rng.random(dual.target.shape) < 0.1,
            random_feasible(in_reference_terms(dual), self.rng),
            (dual.lower + dual.upper) * (self.rng.random(dual.target.shape) < 0.3),
        )
        used = X[kept] if self.placed else X
        self.K = kernels.matrix(name, used, **params)
        self.coef = np.zeros(self.rows)
        self.model = Expansion.zero(dual.groups)
        self.double, self.serial = True, 0

    @property
    def dual(self) -> Dual:
        return self.shard.dual

    def change(self, size: float, count: int) -> None:
        """Publish a model that differs from the last in some coefficients, and in its biases."""
        moved = self.rng.permutation(self.rows)[:count]
        change = np.zeros(self.rows)
        change[moved] = size * self.rng.normal(size=count)
        self.coef = self.coef + change
        length = np.sqrt(max(0.0, change @ self.K @ change)) * (1 + TOL.skip_safety)
        ids = self.rng.permutation(np.flatnonzero(self.coef))
        bias = self.model.bias + size * self.rng.normal(size=self.dual.groups)
        self.model = self.model.published(ids, self.coef[ids], bias, length)

    @property
    def news(self) -> News:
        """News for the shard; the coefficients of its point need not be those of the expansion."""
        self.serial += 1
        told = self.model, Point.of(self.beta), self.members, self.released, self.double
        self.released = Released()
        return News(self.serial, *told)

    def bring(self, rows) -> None:
        """Bring rows up to date."""
        news = self.news
        self.shard.hear(news)
        bring_up_to_date(self.shard, news, rows, poll=self.poll)

    def take(self, rows) -> tuple[Dual, np.ndarray]:
        """Let rows enter the working set."""
        variables, score, _ = take(self.shard, self.news, rows, poll=self.poll)
        self.members = np.concatenate([self.members, rows])
        return variables, score

    def release(self, rows, score) -> None:
        """Let rows leave the working set."""
        self.members = np.setdiff1d(self.members, rows)
        self.released = Released(rows, score, self.model.version)

    def survey(self, quota: int | None = None, *, skip: bool = True):
        """A survey that stops at a quota, or one of all rows."""
        order = SurveyOrder(quota or self.rows, TOLERANCE, whole=quota is None, skip=skip)
        return survey(self.shard, self.news, order, self.rng, poll=self.poll)[0]

    @property
    def score(self) -> np.ndarray:
        return self.K @ self.coef

    def excess(self) -> np.ndarray:
        """By how much each row violates, from scratch."""
        return reference.excess(
            self.score, self.beta, in_reference_terms(self.dual), self.model.bias
        )

    def violators(self) -> np.ndarray:
        """Rows that violate clearly, and those of which rounding may decide."""
        excess = self.excess()
        assert not (np.abs(excess - TOLERANCE) < TOL.twin).any()
        return np.flatnonzero(excess > TOLERANCE)

    def part(self, rows) -> BetaDual:
        dual = self.dual
        arrays = (a[:, rows] for a in (dual.target, dual.lower, dual.upper, dual.group))
        return BetaDual(*arrays, dual.total)


def assert_scores(found, expected, coef) -> None:
    scale = max(1.0, np.abs(coef).sum()) * max(1.0, np.abs(expected).max(initial=0))
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOL.twin * scale)
