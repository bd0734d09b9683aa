"""Surveys: every violator is found, and nothing safe is evaluated."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import TOL
from reference import shard as reference
from reference.duals import MODELS
from support.fitting import in_reference_terms
from support.model_duals import build
from support.shard_lab import KERNELS, TOLERANCE, ShardLab, assert_scores
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import RBF
from widestreet._src.rows import as_rows
from widestreet._src.shards.columns import AllRows
from widestreet._src.shards.expansion import Expansion
from widestreet._src.shards.news import News
from widestreet._src.shards.point import Point
from widestreet._src.shards.score_updates import scores
from widestreet._src.shards.shard import Shard
from widestreet._src.shards.survey_order import SurveyOrder
from widestreet._src.shards.survey_with_skipping import _rows_to_visit, survey

pytestmark = pytest.mark.numeric

every_model = pytest.mark.parametrize("model", MODELS)
every_kernel = pytest.mark.parametrize("kernel", KERNELS)


# -- complete surveys --------------------------------------------------------------------------


@every_model
@every_kernel
@pytest.mark.parametrize("placed", [False, True])
def test_a_complete_survey_finds_exactly_the_violators(model, kernel, placed):
    lab = ShardLab(model, kernel, seed=1, placed=placed)
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
    lab = ShardLab(model, "rbf", seed=2)
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
    lab = ShardLab(model, kernel, seed, rows=60, placed=placed)
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
    lab = ShardLab(model, kernel, seed=3)
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
    lab = ShardLab("c_svc", "rbf", seed=3)
    lab.change(0.5, 20)
    lab.survey()
    assert lab.survey(skip=False).skipped == 0


def test_after_an_unknown_change_nothing_is_skipped():
    lab = ShardLab("c_svc", "rbf", seed=3)
    lab.change(0.5, 20)
    lab.survey()
    lab.model = lab.model.published(lab.model.ids, lab.model.coef, lab.model.bias, np.inf)
    assert lab.survey().skipped == 0


def test_float32_surveys_are_within_float32():
    lab = ShardLab("c_svc", "rbf", seed=5)
    lab.double = False
    lab.change(1.0, 50)
    lab.survey()
    scale = np.abs(lab.coef).sum()
    error = np.abs(lab.shard.memory.score - lab.score)
    assert 0 < error.max() <= TOL.scan_float32 * scale
    exact = scores(lab.shard, lab.news, np.arange(lab.rows), True)
    assert np.abs(exact - lab.score).max() <= TOL.scan_float64 * scale


# -- quotas ------------------------------------------------------------------------------------


@every_model
def test_a_quota_is_drawn_from_the_violators(model):
    lab = ShardLab(model, "rbf", seed=8)
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
    few, _ = survey(shard, news, SurveyOrder(100, 0.01), rng)
    assert not few.complete
    assert len(few.ids) == 100
    assert few.scanned + few.skipped < n / 2
    assert few.loss == pytest.approx(3.0 * n, rel=TOL.twin)  # C max(0, 1 - 0) each, and C = 3
    every, _ = survey(shard, news, SurveyOrder(n, 0.01, whole=True), rng)
    assert every.complete
    assert np.array_equal(np.sort(every.ids), np.arange(n))
    some, _ = survey(shard, news, SurveyOrder(100, 0.01, whole=True), rng)
    assert some.complete
    assert len(np.unique(some.ids)) == 100


@given(st.integers(1, 10**6), st.integers(0, 10**6), st.integers(1, 10**7))
def test_a_survey_visits_as_many_rows_as_its_quota_needs(quota, found, visited):
    found = min(found, quota - 1, visited)
    assert _rows_to_visit(quota) >= 2 * quota
    step = _rows_to_visit(quota, found, visited)
    expected = found / visited * step  # further violators, if they are as frequent
    assert step >= 2048
    if found >= 400:
        assert expected >= quota - found - 1
    elif step > 2048:
        assert expected + 2 * found**0.5 * step / visited <= quota - found


@pytest.mark.parametrize("whole", [False, True])
def test_rows_are_drawn_from_everywhere(whole, rng):
    n = 20_000
    shard = Shard(
        AllRows(Gram(RBF(1.0), as_rows(rng.normal(size=(n, 2))))),
        build("c_svc", rng.choice([-1.0, 1.0], n), np.ones(n)), 1,
    )  # fmt: skip
    news = News(0, Expansion.zero(1), Point.zero(1))
    ids = survey(shard, news, SurveyOrder(1000, 0.01, whole), rng)[0].ids
    quarter = np.bincount(ids * 4 // n, minlength=4)
    assert (quarter > 1000 / 4 / 2).all()


def test_the_same_seed_gives_the_same_survey():
    found = []
    for _ in range(2):
        lab = ShardLab("eps_svr", "rbf", seed=9)
        lab.change(0.5, 20)
        found.append(lab.survey(quota=5))
    assert np.array_equal(found[0].ids, found[1].ids)
    assert found[0].loss == found[1].loss
