"""Examinations through every port: the figures are those of all rows in one place."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import widestreet as ws
from conftest import TOL
from support.fitting import build_dual
from support.ports import shard_set
from support.shard_sets import CONNECT, every_model, every_port, shards_at_a_point
from widestreet import _core
from widestreet._src.certificate import examine, float64_where_needed
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import RBF
from widestreet._src.problems.goal import Goal
from widestreet._src.rows import as_rows
from widestreet._src.shards.expansion import Expansion
from widestreet._src.shards.point import Point
from widestreet._src.shards.shard_examination import (
    adopt,
    estimate_norm,
    examine_shards,
    gap_estimates,
    sampled_bias,
)
from widestreet._src.shards.shard_set import ShardSet
from widestreet._src.shards.survey_order import SurveyOrder
from widestreet.datasets import twonorm

GOAL = Goal(1e-3)

pytestmark = pytest.mark.numeric


@every_model
@every_port
@pytest.mark.parametrize("parts", [1, 4])
def test_an_examination_has_the_same_figures_bit_by_bit(model, port, parts, monkeypatch):
    """However the rows are divided, and whatever the shards forget on the way."""
    monkeypatch.setattr(float64_where_needed, "_SCREENING_VALUES", 0)
    whole, dual, beta = shards_at_a_point(1, "local", np.random.default_rng(3), model)
    shards, _, _ = shards_at_a_point(parts, port, np.random.default_rng(3), model)
    point = Point.of(beta * (np.arange(90) % 3 > 0))  # not the one that was published
    one, many = examine_shards(whole, point, GOAL), examine_shards(shards, point, GOAL)
    for name in ("rows", "primal", "dual", "violation", "infeasibility", "mass"):
        assert getattr(one, name) == getattr(many, name), name
    assert np.array_equal(one.bias, many.bias)
    gram = whole.known.gram
    assert many.dual == examine(gram, dual, point.dense(90)).dual


@every_port
def test_scores_of_an_examination_are_used_again(port, rng):
    shards, _, _ = shards_at_a_point(3, port, rng)
    examine_shards(shards, shards.news.point, GOAL)
    adopt(shards)
    before = shards.poll.kernel_values
    survey = shards.survey(SurveyOrder(90, 0.01, whole=True, skip=False), rng)
    assert survey.scanned == 90
    if "forgetful" not in port:
        assert shards.poll.kernel_values == before


def test_the_working_set_keeps_its_own_scores(rng):
    shards, _, _ = shards_at_a_point(1, "local", rng)
    news, members = shards.news, np.array([3, 50])
    shards.publish(news.expansion, news.point, members)
    examine_shards(shards, news.point, GOAL)
    adopt(shards)
    version = shards.port.shards[0].memory.version
    assert (version[members] == _core.IN_WORKING_SET).all()
    assert (np.delete(version, members) == news.expansion.version).all()


def at_the_optimum(port: str, parts: int):
    """Shards whose rows are mostly far from the margin, with the optimum, and the dual."""
    X, y = twonorm(300, random_state=1)
    dual = build_dual("c_svc", np.float64(y), C=1.0)
    gram = Gram(RBF(0.05), as_rows(X))
    model = ws.SVC(gamma=0.05, random_state=0).fit(X, y)
    beta = np.zeros((1, 300))
    beta[0, model.support_] = model.dual_coef_[0]
    return shard_set(gram, dual, parts=parts, connect=CONNECT[port]), dual, Point.of(beta), gram


@pytest.mark.parametrize("double", [False, True])
def test_float32_scores_are_used_again(double, monkeypatch):
    """In surveys in float64, they belong to a version that is not updated."""
    monkeypatch.setattr(float64_where_needed, "_SCREENING_VALUES", 0)
    shards, _, point, _ = at_the_optimum("local", 1)
    if double:
        shards.use_double()
    examine_shards(shards, point, GOAL)
    error = adopt(shards)
    [shard] = shards.port.shards
    scores, current = shard.memory.part.scores, shards.news.expansion.version
    rough = scores.current & ~scores.exact
    assert scores.current.all()
    assert rough.any()
    assert (shard.memory.version[scores.exact] == current).all()
    assert (shard.memory.version[rough] == current - double).all()
    assert np.array_equal(shard.memory.score, scores.score)
    assert error == (np.max(scores.error[rough] + scores.rounding) if double else 0.0)
    past = shard.memory.ledger.change_since(current - 1, shards.news.expansion, shards.rows)
    assert (past is None) == double


def two_points(dual, rng):
    """A point with many support vectors, and one that differs in three coefficients."""
    beta = np.where(rng.random(dual.target.shape) < 0.3, dual.upper + dual.lower, 0.0)
    moved, [layer] = beta.copy(), [0]
    some = np.flatnonzero(beta[layer])[:3]
    moved[layer, some] *= 0.999
    return Point.of(beta), Point.of(moved)


@every_model
@every_port
@pytest.mark.parametrize("parts", [1, 4])
def test_a_later_examination_has_the_figures_of_one_from_scratch(model, port, parts, monkeypatch):
    """The figures are equal for shards that remember the first examination and for others."""
    monkeypatch.setattr(float64_where_needed, "_SCREENING_VALUES", 0)
    monkeypatch.setattr(float64_where_needed, "FLOAT64_FRACTION", 2.0)
    whole, dual, _ = shards_at_a_point(1, "local", np.random.default_rng(3), model)
    shards, _, _ = shards_at_a_point(parts, port, np.random.default_rng(3), model)
    first, second = two_points(dual, np.random.default_rng(4))
    scratch = examine_shards(whole, second, GOAL)
    examine_shards(shards, first, GOAL)
    found = examine_shards(shards, second, GOAL)
    size = max(1.0, abs(scratch.primal), abs(scratch.dual))
    assert found.violation == pytest.approx(scratch.violation, abs=found.rounding)
    assert found.primal == pytest.approx(scratch.primal, abs=TOL.exact * size)
    assert found.dual == pytest.approx(scratch.dual, abs=TOL.exact * size)
    np.testing.assert_allclose(found.bias, scratch.bias, rtol=0, atol=found.rounding)
    assert found.infeasibility == pytest.approx(scratch.infeasibility, abs=TOL.exact)


@every_port
def test_a_later_examination_takes_fewer_kernel_values(port, monkeypatch):
    monkeypatch.setattr(float64_where_needed, "_SCREENING_VALUES", 0)
    shards, dual, _ = shards_at_a_point(3, port, np.random.default_rng(3))
    values = []
    for point in two_points(dual, np.random.default_rng(4)):
        before = shards.poll.kernel_values
        examine_shards(shards, point, GOAL)
        values.append(shards.poll.kernel_values - before)
    if "forgetful" not in port:
        assert values[1] < 0.5 * values[0]


@every_port
def test_nothing_is_kept_when_versions_start_again(port, monkeypatch):
    monkeypatch.setattr(float64_where_needed, "_SCREENING_VALUES", 0)
    shards, dual, _ = shards_at_a_point(2, port, np.random.default_rng(3))
    first, second = two_points(dual, np.random.default_rng(4))
    examine_shards(shards, first, GOAL)
    shards.start()
    assert shards.examined is None
    shards.use_double()
    whole, _, _ = shards_at_a_point(1, "local", np.random.default_rng(3))
    assert examine_shards(shards, second, GOAL).dual == examine_shards(whole, second, GOAL).dual


def test_rounding_that_decides_is_that_of_scores_from_scratch(monkeypatch):
    """Updated scores have larger bounds; where these matter, they are not used."""
    monkeypatch.setattr(float64_where_needed, "_SCREENING_VALUES", 0)
    shards, dual, _ = shards_at_a_point(2, "local", np.random.default_rng(3))
    whole, _, _ = shards_at_a_point(2, "local", np.random.default_rng(3))
    first, second = two_points(dual, np.random.default_rng(4))
    scratch = examine_shards(whole, second, Goal(0.0))
    examine_shards(shards, first, Goal(0.0))
    found = examine_shards(shards, second, Goal(scratch.violation))
    assert found.rounding <= scratch.rounding
    assert found.violation == scratch.violation


def test_without_an_examination_no_score_proves_anything():
    shards, _, _ = shards_at_a_point(2, "local", np.random.default_rng(3))
    shards.use_double()
    assert adopt(shards) == np.inf


@every_port
def test_surveys_in_float64_skip_rows_whose_float32_scores_prove_enough(port, rng, monkeypatch):
    monkeypatch.setattr(float64_where_needed, "_SCREENING_VALUES", 0)
    shards, dual, point, gram = at_the_optimum(port, 3)
    shards.use_double()
    found = examine_shards(shards, point, GOAL)
    error, expansion = adopt(shards), shards.news.expansion
    drift = expansion.drift.copy()
    drift[-2] = max(error, 0.0)
    bias = found.bias + 0.1  # so that there are violators
    shards.publish(replace(expansion, bias=bias, drift=drift), point)
    before = shards.poll.kernel_values
    survey = shards.survey(SurveyOrder(300, 0.01, whole=True), rng)
    if "forgetful" not in port:
        assert 0 < error < 1e-3
        assert survey.skipped > 0
        assert shards.poll.kernel_values - before < 0.1 * 300 * len(point)
        F, beta = dual.target - gram.scan(None, expansion.ids, expansion.coef), point.dense(300)
        high, low = F - bias > 0.01, bias - F > 0.01
        violates = ((beta < dual.upper) & high) | ((beta > dual.lower) & low)
        assert np.array_equal(np.sort(survey.ids), np.flatnonzero(violates.any(axis=0)))
        assert violates.any()


@every_model
@every_port
def test_a_sample_of_all_rows_estimates_the_gap_exactly(port, model):
    shards, _, _ = shards_at_a_point(3, port, np.random.default_rng(3), model)
    found = examine_shards(shards, shards.news.point, GOAL)
    [estimate] = gap_estimates(shards, found.bias, found.dual, 90, 90, 7.0)
    assert estimate.n_rows == 90
    assert estimate.pass_seconds == 7.0
    # the sums of this point are not those of the groups
    missing = float(found.bias @ (shards.form.total - sums(shards.news.point, model)))
    gap = found.primal - found.dual - missing
    scale = max(abs(found.dual), abs(found.dual + gap))
    assert estimate.relative_gap == pytest.approx(gap / scale, rel=TOL.twin, abs=TOL.twin)


@every_model
@every_port
def test_a_sample_of_all_rows_estimates_the_objective_exactly(port, model, rng):
    shards, _, _ = shards_at_a_point(3, port, np.random.default_rng(3), model)
    found = examine_shards(shards, shards.news.point, GOAL)
    linear, _ = shards.totals(shards.news.point)
    norm = estimate_norm(shards, 90, rng)
    assert linear - 0.5 * norm == pytest.approx(found.dual, rel=TOL.twin, abs=TOL.twin)
    [one, other] = (
        [*gap_estimates(shards, found.bias, D, 90, 90, 7.0)][-1] for D in (found.dual, -np.inf)
    )
    assert one.relative_gap == pytest.approx(other.relative_gap, rel=TOL.twin, abs=TOL.twin)


@every_model
@every_port
def test_a_sample_of_all_rows_has_the_best_bias(port, model):
    shards, dual, _ = shards_at_a_point(3, port, np.random.default_rng(3), model)
    found = examine_shards(shards, shards.news.point, GOAL)
    F = dual.indicator(shards.scores(np.arange(90)))

    def loss(bias):
        beyond = F - np.take(bias, dual.group)
        every = np.maximum(dual.upper * beyond, dual.lower * beyond).sum()
        return float(every + bias @ shards.form.total)

    assert loss(sampled_bias(shards, 90)) == pytest.approx(loss(found.bias), rel=TOL.twin)


def test_a_sample_has_nearly_the_best_bias():
    shards, dual, _ = shards_at_a_point(1, "local", np.random.default_rng(3), "one_class")
    F = np.sort(dual.indicator(shards.scores(np.arange(90)))[0])
    at = np.searchsorted(F, sampled_bias(shards, 20)[0])
    assert abs(at - 0.6 * 90) < 4 * np.sqrt(90 * 0.4 * 0.6)  # nu = 0.4 of the rows lie above it


def test_some_support_vectors_estimate_the_norm(rng):
    """Not worse than the mean of so many of all terms."""
    shards, _, _ = shards_at_a_point(1, "local", np.random.default_rng(3))
    point = shards.news.point
    terms = point.coef * shards.scores(point.ids)
    found = [estimate_norm(shards, 10, rng) for _ in range(200)]
    error = terms.std() * len(terms) / np.sqrt(10)
    assert np.std(found) <= error
    assert np.mean(found) == pytest.approx(terms.sum(), abs=4.0 * error / np.sqrt(200))
    shards.publish(Expansion.zero(1), Point.zero(1))
    assert estimate_norm(shards, 10, rng) == 0.0


def sums(point, model):
    """Sums of the coefficients of each group."""
    _, dual, beta = shards_at_a_point(1, "local", np.random.default_rng(3), model)
    return np.array([beta[dual.group == g].sum() for g in range(dual.groups)])


@pytest.mark.parametrize("rows", [1, 7, 60])
def test_a_sample_has_both_kinds_of_rows(rows, monkeypatch):
    shards, _, _ = shards_at_a_point(3, "local", np.random.default_rng(3))
    support, asked = shards.news.point.ids, []
    each = ShardSet.each
    monkeypatch.setattr(
        ShardSet, "each", lambda self, q, ids, *more: asked.append(ids) or each(self, q, ids, *more)
    )
    [found] = gap_estimates(shards, np.zeros(1), 1.0, rows, rows, 0.0)
    used, idle = asked
    assert len(np.unique(used)) == len(used) == min(rows, len(support))
    assert len(np.unique(idle)) == len(idle) == min(rows, 90 - len(support))
    assert np.isin(used, support).all()
    assert not np.isin(idle, support).any()
    assert (idle >= 0).all()
    assert (idle < 90).all()
    assert found.n_rows == len(used) + len(idle)
