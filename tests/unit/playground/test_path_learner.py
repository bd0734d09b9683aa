"""Online estimators that follow points, and the models on their paths."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

from conftest import TOL
from widestreet._src.playground.examples import EXAMPLES, example
from widestreet._src.playground.learner import BOUND_SUPPORT, FREE_SUPPORT, MOST_FRAMES
from widestreet._src.playground.machines import MACHINES, TABS, Point, starting_parameters
from widestreet._src.playground.path_learner import PathLearner

ONLINE = {name: tab for tab, names in TABS.items() for name in names if name != "ensemble"}


def points_for(name):
    tab = ONLINE[name]
    places = example(tab, next(iter(EXAMPLES[tab])))
    return [Point(k, *place) for k, place in enumerate(places)]


def decision(learner, machine, points, motion, frame):
    """Decision values of all points by a model of a motion, whose kernel is rbf or linear."""
    X = np.array(machine.rows(points)[0])
    if learner.estimator.kernel == "linear":
        K = X @ X.T
    else:
        square = ((X[:, None] - X[None]) ** 2).sum(axis=-1)
        K = np.exp(-learner.estimator.gamma * square)
    return K @ motion.coef[frame] + motion.intercept[frame]


def read(machine, model, points):
    X = machine.rows(points)[0]
    return model.predict(X) if machine.targets == "values" else model.decision_function(X)


def refit(name, parameters, points):
    machine = MACHINES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return machine.batch(**parameters, tol=TOL.violation, gap_tol=None).fit(
            *machine.rows(points)
        )


@pytest.mark.parametrize(
    ("name", "kernel"),
    [(name, "rbf") for name in ONLINE] + [("svc", "linear"), ("svr", "linear")],
)
def test_models_after_points_came_went_and_moved(name, kernel):
    machine, parameters = MACHINES[name], starting_parameters(name) | {"kernel": kernel}
    points = points_for(name)
    learner = PathLearner(machine, parameters, points)
    new = Point(1000, 0.3, -0.2, 1)
    moved = replace(points[4], x=-0.35, y=0.4)
    for arriving, leaving in [([new], []), ([], [points[2]]), ([moved], [points[4]])]:
        learner.change(arriving, leaving, {})
        points = [p for p in points if p not in leaving] + arriving
        motion = learner.motion(points, leaving)
        shown = [*points, *leaving]
        assert motion.on_path
        assert 2 <= len(motion.coef) <= MOST_FRAMES + 1
        assert motion.coef.shape == motion.support.shape == (len(motion.coef), len(shown))
        assert not motion.coef[-1, len(points) :].any()
        found = decision(learner, machine, shown, motion, -1)[: len(points)]
        np.testing.assert_allclose(found, read(machine, learner.estimator, points), atol=TOL.twin)
        other = refit(name, parameters, points)
        np.testing.assert_allclose(found, read(machine, other, points), atol=TOL.decision)
        assert learner.certificate().status == "optimal"


@pytest.mark.parametrize("name", ["svc", "svr"])
def test_kinds_of_support_vectors(name):
    machine, points = MACHINES[name], points_for(name)
    learner = PathLearner(machine, starting_parameters(name), points)
    motion, C = learner.motion(points, []), learner.estimator.C
    size, kind = np.abs(motion.coef[-1]), motion.support[-1]
    assert set(np.flatnonzero(kind == BOUND_SUPPORT)) == set(np.flatnonzero(size == C))
    assert set(np.flatnonzero((size > 0) & (size < C))) <= set(np.flatnonzero(kind == FREE_SUPPORT))
    assert (kind[size == 0] != BOUND_SUPPORT).all()


@pytest.mark.parametrize(
    ("name", "parameter", "value"),
    [("svc", "C", 100.0), ("nu_svc", "nu", 0.4), ("svr", "epsilon", 0.2), ("one_class", "nu", 0.5)],
)
def test_a_parameter_moves_along_the_path(name, parameter, value):
    points, parameters = points_for(name), starting_parameters(name)
    learner = PathLearner(MACHINES[name], parameters, points)
    before = learner.motion(points, [])
    learner.change((), (), {parameter: value})
    motion = learner.motion(points, [])
    assert motion.on_path
    np.testing.assert_allclose(motion.coef[0], before.coef[-1], atol=TOL.twin)
    other = refit(name, parameters | {parameter: value}, points)
    found = decision(learner, MACHINES[name], points, motion, -1)
    np.testing.assert_allclose(found, read(MACHINES[name], other, points), atol=TOL.decision)
    if parameter == "epsilon":
        assert motion.tube[0] == parameters["epsilon"]
        assert motion.tube[-1] == pytest.approx(value, rel=TOL.exact)
        assert (np.diff(motion.tube) > 0).all()


def test_the_tube_of_nu_svr_is_that_of_the_model():
    points = points_for("nu_svr")
    learner = PathLearner(MACHINES["nu_svr"], starting_parameters("nu_svr"), points)
    assert learner.motion(points, []).tube[-1] == learner.estimator.epsilon_


@pytest.mark.parametrize("name", ONLINE)
def test_from_no_points_to_some_and_back(name):
    machine, parameters = MACHINES[name], starting_parameters(name)
    learner = PathLearner(machine, parameters, [])
    assert learner.certificate() is None
    assert learner.counts() == {}
    learner.change((), (), {machine.sliders[0]: 0.5})
    points = [Point(k, 0.2 * k, 0.1 * k * k, k % 2) for k in range(4)]
    for k, point in enumerate(points):
        learner.change([point], [], {})
        assert learner.motion(points[: k + 1], []).coef.shape[1] == k + 1
        assert learner.certificate().status == "optimal"
    for k, point in enumerate(points):
        learner.change([], [point], {})
        assert learner.motion(points[k + 1 :], [point]).coef.shape[1] == 4 - k
    assert learner.certificate() is None
