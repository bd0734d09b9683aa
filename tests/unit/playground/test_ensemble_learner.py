"""Ensembles that are fitted again after every change."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

from conftest import TOL
from widestreet import EnsembleSVC, load
from widestreet._src.playground.ensemble_learner import EnsembleLearner
from widestreet._src.playground.examples import example
from widestreet._src.playground.machines import MACHINES, Point, starting_parameters

MACHINE = MACHINES["ensemble"]


@pytest.fixture
def points():
    return [Point(k, *place) for k, place in enumerate(example("ensemble", "two moons"))]


def test_models_from_the_first_member_to_all(points):
    learner = EnsembleLearner(MACHINE, starting_parameters("ensemble"), points)
    new, moved = Point(500, 0.1, 0.2, 1), replace(points[3], x=0.0)
    learner.change([new], [], {})
    learner.change([moved], [points[3]], {"gamma": 6.0})
    left = [points[3]]
    points = [moved if p.id == moved.id else p for p in points] + [new]
    motion = learner.motion(points, left)
    X, y = map(np.array, MACHINE.rows(points))
    K = np.exp(-6.0 * ((X[:, None] - X[None]) ** 2).sum(axis=-1))
    found = K @ motion.coef[-1, : len(points)] + motion.intercept[-1]
    fresh = EnsembleLearner(MACHINE, {"kernel": "rbf", "gamma": 6.0}, points).estimator
    np.testing.assert_allclose(found, fresh.decision_function(X), atol=TOL.twin)
    parzen = K @ motion.coef[0, : len(points)]
    stages = learner.estimator.staged_decision_function(X)
    np.testing.assert_allclose(parzen, next(iter(stages)), atol=TOL.twin)
    assert not motion.coef[:, len(points) :].any()
    assert not motion.on_path
    assert learner.counts()["members"] >= 1
    assert learner.certificate() == fresh.certificate_
    assert len(y) == len(points)


def test_the_estimator_is_an_ordinary_one(points, tmp_path):
    learner = EnsembleLearner(MACHINE, starting_parameters("ensemble"), points)
    model, X = learner.estimator, np.array(MACHINE.rows(points)[0])
    assert type(model) is EnsembleSVC
    model.save(tmp_path / "model.ws")
    before = model.decision_function(X)
    np.testing.assert_array_equal(load(tmp_path / "model.ws").decision_function(X), before)
    again = clone(model).fit(X, MACHINE.rows(points)[1])
    np.testing.assert_allclose(again.decision_function(X), before, atol=TOL.twin)
    learner.change([Point(500, 0.1, 0.2, 1)], [], {"gamma": 9.0})
    np.testing.assert_array_equal(model.decision_function(X), before)
    assert learner.estimator.gamma == 9.0


def test_without_both_classes_there_is_no_model(points):
    learner = EnsembleLearner(MACHINE, starting_parameters("ensemble"), [])
    assert learner.certificate() is None
    assert learner.counts() == {}
    learner.change(points[:1], [], {})
    assert learner.certificate() is None
    assert np.abs(learner.motion(points[:1], []).intercept) == [1.0]
    learner.change(points[1:2], [], {})
    assert learner.certificate() is not None
