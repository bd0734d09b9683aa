"""Surveys: every violator is found, nothing safe is evaluated, changes are scanned alone."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import TOL
from reference import kernels
from reference import shard as reference
from reference.duals import MODELS, BetaDual
from support.fitting import in_reference_terms
from support.model_duals import build, labels
from support.problems import random_feasible
from widestreet import _core
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import RBF, Linear, Poly
from widestreet._src.kernels.poll import Poll
from widestreet._src.problems.dual import Dual
from widestreet._src.rows import as_rows
from widestreet._src.shards.columns import AllRows
from widestreet._src.shards.expansion import Expansion
from widestreet._src.shards.news import News, Released
from widestreet._src.shards.point import Point
from widestreet._src.shards.shard import Shard, _rows_to_visit
from widestreet._src.shards.survey_order import SurveyOrder

pytestmark = pytest.mark.numeric

KERNELS = {
    "rbf": (RBF(1.0), "rbf", {"gamma": 1.0}),
    "linear": (Linear(), "linear", {}),
    "poly": (Poly(0.5, 1.0, 2), "poly", {"gamma": 0.5, "coef0": 1.0, "degree": 2}),
}
TOLERANCE = 0.05  # of surveys

every_model = pytest.mark.parametrize("model", MODELS)
every_kernel = pytest.mark.parametrize("kernel", KERNELS)


@dataclass
class Lab:
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
        """What the shard is told; its coefficients need not be those of the expansion."""
        self.serial += 1
        told = self.model, Point.of(self.beta), self.members, self.released, self.double
        self.released = Released()
        return News(self.serial, *told)

    def bring(self, rows) -> None:
        """Bring rows up to date."""
        news = self.news
        self.shard.hear(news)
        self.shard.bring_up_to_date(news, rows, poll=self.poll)

    def take(self, rows) -> tuple[Dual, np.ndarray]:
        """Let rows enter the working set."""
        variables, score, _ = self.shard.take(self.news, rows, poll=self.poll)
        self.members = np.concatenate([self.members, rows])
        return variables, score

    def release(self, rows, score) -> None:
        """Let rows leave the working set."""
        self.members = np.setdiff1d(self.members, rows)
        self.released = Released(rows, score, self.model.version)

    def survey(self, quota: int | None = None, *, skip: bool = True):
        """A survey that stops at a quota, or one of all rows."""
        order = SurveyOrder(quota or self.rows, TOLERANCE, whole=quota is None, skip=skip)
        return self.shard.survey(self.news, order, self.rng, poll=self.poll)[0]

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


# -- complete surveys --------------------------------------------------------------------------


@every_model
@every_kernel
@pytest.mark.parametrize("placed", [False, True])
def test_a_complete_survey_finds_exactly_the_violators(model, kernel, placed):
    lab = Lab(model, kernel, seed=1, placed=placed)
    lab.change(0.5, 20)
    survey = lab.survey(skip=False)
    assert survey.complete
    assert np.array_equal(np.sort(survey.ids), lab.violators())
    assert 0 < len(survey.ids) < lab.rows
    np.testing.assert_allclose(survey.violation, lab.excess()[survey.ids], rtol=0, atol=TOL.twin)
    assert (survey.scanned, survey.skipped) == (lab.rows, 0)
    dual, beta = in_reference_terms(lab.dual), lab.beta
    high, low = reference.extremes(lab.score, beta, dual).T
    np.testing.assert_allclose(survey.highest, high, rtol=0, atol=TOL.twin)
    np.testing.assert_allclose(survey.lowest, low, rtol=0, atol=TOL.twin)
    loss = reference.loss_sum(lab.score, dual, lab.model.bias).sum()
    assert survey.loss == pytest.approx(loss, rel=TOL.twin)


@every_model
def test_rows_of_the_working_set_are_left_alone(model):
    lab = Lab(model, "rbf", seed=2)
    lab.change(0.5, 20)
    inside = lab.rng.permutation(lab.rows)[:30]
    outside = np.setdiff1d(np.arange(lab.rows), inside)
    variables, before = lab.take(inside)
    assert np.array_equal(variables.upper, lab.dual.upper[:, inside])
    assert_scores(before, lab.score[inside], lab.coef)
    survey = lab.survey(skip=False)
    assert survey.complete
    assert np.array_equal(np.sort(survey.ids), np.setdiff1d(lab.violators(), inside))
    assert survey.scanned == len(outside)
    loss = reference.loss_sum(lab.score[outside], lab.part(outside), lab.model.bias).sum()
    assert survey.loss == pytest.approx(loss, rel=TOL.twin)


# -- safe skipping -----------------------------------------------------------------------------


@given(
    seed=st.integers(0, 2**32 - 1), model=st.sampled_from(MODELS),
    kernel=st.sampled_from([*KERNELS]), placed=st.booleans(),
    steps=st.lists(st.tuples(st.floats(-3, 0), st.integers(1, 10), st.booleans()), max_size=12),
)  # fmt: skip
def test_skipping_never_hides_a_violator(seed, model, kernel, placed, steps):
    """Any sequence of models, surveyed wholly, partly or not at all; rows taken and released."""
    lab = Lab(model, kernel, seed, rows=60, placed=placed)
    lab.change(0.3, 15)
    lab.survey()
    for size, count, partly in steps:
        lab.change(10.0**size, count)
        if partly:
            lab.survey(quota=5)
            moved = lab.rng.permutation(lab.rows)[:5]
            _, score = lab.take(moved)
            if count % 2:
                lab.survey(quota=5)
                lab.release(moved, lab.score[moved])
            else:
                lab.release(moved, score)
        if count == 7:
            lab.shard.forget()
    lab.members = lab.members[:0]
    survey = lab.survey()
    assert survey.complete
    assert survey.scanned + survey.skipped == lab.rows
    assert np.array_equal(np.sort(survey.ids), lab.violators())


@every_model
@every_kernel
def test_rows_far_from_violating_are_not_evaluated(model, kernel):
    lab = Lab(model, kernel, seed=3)
    lab.change(0.5, 20)
    first = lab.survey()
    lab.change(1e-4, 3)
    second = lab.survey()
    assert second.skipped >= (lab.excess() < -TOLERANCE).sum() > 0
    assert second.scanned < first.scanned
    assert np.array_equal(np.sort(second.ids), lab.violators())
    stored, version = lab.shard.memory.score, lab.shard.memory.version
    drift = lab.model.drift[version] * np.sqrt(np.diag(lab.K))
    assert (np.abs(stored - lab.score) <= drift + TOL.twin * np.abs(lab.coef).sum()).all()
    loss = reference.loss_sum(stored, in_reference_terms(lab.dual), lab.model.bias).sum()
    assert second.loss == pytest.approx(loss, rel=TOL.twin)  # skipped rows: their last scores


def test_skipping_is_off_when_asked(rng):
    lab = Lab("c_svc", "rbf", seed=3)
    lab.change(0.5, 20)
    lab.survey()
    assert lab.survey(skip=False).skipped == 0


def test_after_an_unknown_change_nothing_is_skipped():
    lab = Lab("c_svc", "rbf", seed=3)
    lab.change(0.5, 20)
    lab.survey()
    lab.model = lab.model.published(lab.model.ids, lab.model.coef, lab.model.bias, np.inf)
    assert lab.survey().skipped == 0


# -- scores ------------------------------------------------------------------------------------


@given(
    seed=st.integers(0, 2**32 - 1), kernel=st.sampled_from([*KERNELS]),
    counts=st.lists(st.integers(1, 40), min_size=1, max_size=10),
)  # fmt: skip
def test_scores_from_changes_are_scores_from_scratch(seed, kernel, counts):
    """Rows of many versions are brought up to date, each from what changed since its own."""
    lab = Lab("c_svc", kernel, seed, rows=50)
    for count in counts:
        lab.change(1.0, count)
        some = lab.rng.permutation(lab.rows)[: lab.rng.integers(0, lab.rows)]
        lab.bring(some)
        assert (lab.shard.memory.version[some] == lab.model.version).all()
        assert_scores(lab.shard.memory.score[some], lab.score[some], lab.coef)
    lab.bring(np.arange(lab.rows))
    assert_scores(lab.shard.memory.score, lab.score, lab.coef)
    every = lab.shard.scores(lab.news, np.arange(lab.rows), True)
    assert_scores(lab.shard.memory.score, every, lab.coef)


@pytest.mark.parametrize("scans", [0, 1, 2])
def test_scores_and_versions_agree_after_a_stop(scans, monkeypatch):
    """Work that is stopped between two scans leaves no score with the version of another."""
    lab = Lab("c_svc", "rbf", seed=4)
    for a in (0, 40, 80):
        lab.change(1.0, 30)
        lab.bring(np.arange(a, a + 40))
    lab.change(1.0, 3)
    scan, done = Gram.scan, []

    def stopped(self, *given, **options):
        if len(done) == scans:
            raise KeyboardInterrupt
        done.append(given)
        return scan(self, *given, **options)

    with monkeypatch.context() as patch:
        patch.setattr(Gram, "scan", stopped)
        with pytest.raises(KeyboardInterrupt):
            lab.bring(np.arange(lab.rows))
    lab.bring(np.arange(lab.rows))
    assert_scores(lab.shard.memory.score, lab.score, lab.coef)


def test_only_what_changed_is_scanned():
    lab = Lab("c_svc", "rbf", seed=4)
    poll, every = lab.poll, np.arange(lab.rows)
    lab.change(1.0, 50)
    lab.bring(every)
    assert poll.kernel_values == lab.rows * 50
    lab.change(1.0, 3)
    lab.bring(every)
    assert poll.kernel_values == lab.rows * 53
    lab.bring(every)
    assert poll.kernel_values == lab.rows * 53
    lab.shard.memory.version[0] = _core.UNKNOWN
    lab.bring(every)
    assert poll.kernel_values == lab.rows * 53 + len(lab.model.ids)


@pytest.mark.parametrize("saved", [-1, 0, 1])
def test_a_change_is_scanned_if_that_saves_more_than_a_call_costs(saved, monkeypatch):
    lab = Lab("c_svc", "rbf", seed=4)
    every = np.arange(lab.rows)
    lab.change(1.0, 50)
    lab.bring(every)
    lab.change(1.0, 3)
    whole, part = lab.rows * len(lab.model.ids), lab.rows * 3
    monkeypatch.setattr(lab.shard.gram, "values_per_call", whole - part + saved)
    lab.bring(every)
    assert lab.poll.kernel_values == lab.rows * 50 + (part if saved < 0 else whole)
    assert_scores(lab.shard.memory.score, lab.score, lab.coef)


def test_float32_surveys_are_within_float32():
    lab = Lab("c_svc", "rbf", seed=5)
    lab.double = False
    lab.change(1.0, 50)
    lab.survey()
    scale = np.abs(lab.coef).sum()
    error = np.abs(lab.shard.memory.score - lab.score)
    assert 0 < error.max() <= TOL.scan_float32 * scale
    exact = lab.shard.scores(lab.news, np.arange(lab.rows), True)
    assert np.abs(exact - lab.score).max() <= TOL.scan_float64 * scale


def test_starting_elsewhere_leaves_no_score_known():
    lab = Lab("one_class", "rbf", seed=6)
    lab.beta = lab.dual.feasible_point()
    lab.coef = lab.beta[0].copy()
    ids = np.flatnonzero(lab.coef)
    lab.model = lab.model.published(ids, lab.coef[ids], np.zeros(1), np.inf)
    survey = lab.survey()
    assert np.array_equal(lab.shard.memory.beta, lab.beta)
    assert survey.scanned == lab.rows
    assert_scores(lab.shard.memory.score, lab.score, lab.coef)


# -- quotas ------------------------------------------------------------------------------------


@every_model
def test_a_quota_is_drawn_from_the_violators(model):
    lab = Lab(model, "rbf", seed=8)
    lab.change(0.5, 20)
    violators = lab.violators()
    for quota in (1, 7, len(violators), 10 * lab.rows):
        survey = lab.survey(quota)
        assert len(survey.ids) == min(quota, len(violators))
        assert len(np.unique(survey.ids)) == len(survey.ids)
        assert np.isin(survey.ids, violators).all()
        np.testing.assert_allclose(
            survey.violation, lab.excess()[survey.ids], rtol=0, atol=TOL.twin
        )


def test_a_survey_stops_when_it_has_enough(rng):
    n = 20_000
    X, y = rng.normal(size=(n, 2)), rng.choice([-1.0, 1.0], n)
    shard = Shard(AllRows(Gram(RBF(1.0), as_rows(X))), build("c_svc", y, np.ones(n)), 1)
    news = News(0, Expansion.zero(1), Point.zero(1))  # at zero every row violates
    survey, _ = shard.survey(news, SurveyOrder(100, 0.01), rng)
    assert not survey.complete
    assert len(survey.ids) == 100
    assert survey.scanned + survey.skipped < n / 2
    assert survey.loss == pytest.approx(3.0 * n, rel=TOL.twin)  # C max(0, 1 - 0) each, and C = 3
    every, _ = shard.survey(news, SurveyOrder(n, 0.01, whole=True), rng)
    assert every.complete
    assert np.array_equal(np.sort(every.ids), np.arange(n))
    some, _ = shard.survey(news, SurveyOrder(100, 0.01, whole=True), rng)
    assert some.complete
    assert len(np.unique(some.ids)) == 100


@given(st.integers(1, 10**6), st.integers(0, 10**6), st.integers(1, 10**7))
def test_a_survey_visits_as_many_rows_as_its_quota_needs(quota, found, visited):
    found = min(found, quota - 1, visited)
    first, step = _rows_to_visit(quota), _rows_to_visit(quota, found, visited)
    most = max(first, visited)
    assert 0 < step <= most
    expected = found / visited * step  # further violators, if they are as frequent
    assert step == most or expected >= quota - found - 1


@pytest.mark.parametrize("whole", [False, True])
def test_rows_are_drawn_from_everywhere(whole, rng):
    n = 20_000
    shard = Shard(
        AllRows(Gram(RBF(1.0), as_rows(rng.normal(size=(n, 2))))),
        build("c_svc", rng.choice([-1.0, 1.0], n), np.ones(n)), 1,
    )  # fmt: skip
    news = News(0, Expansion.zero(1), Point.zero(1))
    ids = shard.survey(news, SurveyOrder(1000, 0.01, whole), rng)[0].ids
    quarter = np.bincount(ids * 4 // n, minlength=4)
    assert (quarter > 1000 / 4 / 2).all()


def test_the_same_seed_gives_the_same_survey():
    found = []
    for _ in range(2):
        lab = Lab("eps_svr", "rbf", seed=9)
        lab.change(0.5, 20)
        found.append(lab.survey(quota=5))
    assert np.array_equal(found[0].ids, found[1].ids)
    assert found[0].loss == found[1].loss
