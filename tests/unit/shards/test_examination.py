"""Examinations through every port: the figures are those of all rows in one place."""

from __future__ import annotations

import numpy as np
import pytest

from support.fitting import build_dual
from support.shard_sets import every_model, every_port, shards_at_a_point
from widestreet import _core
from widestreet._src.certificate import examine, screening
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import RBF
from widestreet._src.rows import as_rows
from widestreet._src.shards.examination import adopt, examine_shards
from widestreet._src.shards.point import Point
from widestreet._src.shards.port import LocalPort
from widestreet._src.shards.shard_set import ShardSet
from widestreet._src.shards.survey import SurveyOrder
from widestreet.datasets import twonorm

pytestmark = pytest.mark.numeric


@every_model
@every_port
@pytest.mark.parametrize("parts", [1, 4])
def test_an_examination_has_the_same_figures_bit_by_bit(model, port, parts, monkeypatch):
    """However the rows are divided, and whatever the shards forget on the way."""
    monkeypatch.setattr(screening, "_SCREENING_VALUES", 0)
    whole, dual, beta = shards_at_a_point(1, "local", np.random.default_rng(3), model)
    shards, _, _ = shards_at_a_point(parts, port, np.random.default_rng(3), model)
    point = Point.of(beta * (np.arange(90) % 3 > 0))  # not the one that was published
    one, many = examine_shards(whole, point, 1e-3), examine_shards(shards, point, 1e-3)
    for name in ("rows", "primal", "dual", "violation", "infeasibility", "mass"):
        assert getattr(one, name) == getattr(many, name), name
    assert np.array_equal(one.bias, many.bias)
    gram = whole.known.gram
    assert many.dual == examine(gram, dual, point.dense(90)).dual


@every_port
def test_scores_of_an_examination_are_used_again(port, rng):
    shards, _, _ = shards_at_a_point(3, port, rng)
    examine_shards(shards, shards.news.point, 1e-3)
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
    examine_shards(shards, news.point, 1e-3)
    adopt(shards)
    version = shards.port.shards[0].memory.version
    assert (version[members] == _core.IN_WORKING_SET).all()
    assert (np.delete(version, members) == news.expansion.version).all()


@pytest.mark.parametrize("double", [False, True])
def test_float32_scores_are_used_again_where_surveys_compute_in_float32(double, rng, monkeypatch):
    monkeypatch.setattr(screening, "_SCREENING_VALUES", 0)
    monkeypatch.setattr(screening, "_FLOAT64_FRACTION", 2.0)  # of a sample: none is too large
    X, y = twonorm(90, random_state=1)
    dual = build_dual("c_svc", np.float64(y), C=1.0)
    shards = ShardSet.of(Gram(RBF(0.1), as_rows(X)), dual, connect=LocalPort)
    if double:
        shards.use_double()
    beta = np.where(np.arange(90) % 4 == 0, dual.upper + dual.lower, 0.0)
    examine_shards(shards, Point.of(beta), 1e-3)
    adopt(shards)
    [shard] = shards.port.shards
    scores, current = shard.memory.part.scores, shards.news.expansion.version
    known = scores.exact if double else scores.exact | scores.estimated
    assert np.array_equal(shard.memory.version == current, known)
    assert np.array_equal(shard.memory.score[known], scores.score[known])
