"""Regularization paths: the solution for every value of a parameter, without another fit."""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

import widestreet as ws
from conftest import OF_THREE, TOL
from reference import kernels
from support.fitting import decision, limited_by_float64
from support.machines import CONVEX, GAMMA, data
from support.paths import PATHS, N, path, rows, values_along


@pytest.fixture(params=PATHS)
def name(request) -> str:
    """The paths there are."""
    return request.param


def refit(name: str, value: float, X, y, weight=None, **options):
    make, parameter, _, fixed = PATHS[name]
    given = {"gamma": GAMMA, "n_jobs": 1, "tol": TOL.twins} | fixed | options | {parameter: value}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the margin is zero", UserWarning)
        return make(**given).fit(X, y, weight)


@pytest.mark.filterwarnings("ignore:the margin is zero")
@limited_by_float64
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_everywhere_on_the_path_is_the_model_of_a_fit(name, kernel):
    X, y = rows(name)
    found = path(name, X, y, **CONVEX[kernel])
    make, parameter, (low, high), _ = PATHS[name]
    assert found.parameter == parameter
    assert (found.breakpoints[0], found.breakpoints[-1]) == (low, high)
    assert (np.diff(found.breakpoints) > 0).all()
    for value in values_along(found):
        model = found.model_at(value)
        other = refit(name, value, X, y, **CONVEX[kernel])
        assert type(model) is make
        assert getattr(model, parameter) == value
        assert model.certificate_.status == "optimal"
        assert model.certificate_.kkt_violation <= TOL.online * max(1.0, np.abs(y).max())
        size = max(10.0, np.abs(other.dual_coef_).sum())
        np.testing.assert_allclose(
            decision(model, X), decision(other, X), rtol=0, atol=TOL.decision * size
        )


def test_coefficients_are_those_of_the_model(name):
    X, y = rows(name)
    found = path(name, X, y)
    for value in values_along(found)[::3]:
        model, coef = found.model_at(value), found.coef_at(value)
        np.testing.assert_array_equal(coef[model.support_], model.dual_coef_[0])
        np.testing.assert_array_equal(np.flatnonzero(coef), np.sort(model.support_))
        assert coef.shape == (N,)


def variables(found, value: float) -> np.ndarray:
    """Coefficients, for NuSVC before they are divided by the width of the street."""
    return found._at(value).sum(axis=0)


def test_coefficients_are_straight_lines_between_breakpoints(name):
    X, y = rows(name)
    found = path(name, X, y)
    for low, high in pairwise(found.breakpoints):
        ends = [variables(found, value) for value in (low, high)]
        third = variables(found, low + (high - low) / 3)
        size = max(1.0, np.abs(ends).max())
        wanted = (2 * ends[0] + ends[1]) / 3
        np.testing.assert_allclose(third, wanted, rtol=0, atol=TOL.twin * size)


def test_breakpoints_do_not_tear_the_path(name):
    """But for the bias, which is not unique where nobody is at the edge."""
    X, y = rows(name)
    found, K = path(name, X, y), kernels.matrix("rbf", X, gamma=GAMMA)
    for value in found.breakpoints[1:-1]:
        near = [variables(found, value * factor) for factor in (1 - 1e-11, 1.0, 1 + 1e-11)]
        size = max(10.0, np.abs(near).sum(axis=1).max())
        assert np.ptp(near @ K, axis=0).max() <= TOL.decision * size


def test_at_breakpoints_somebody_enters_or_leaves_the_edge():
    X, y = rows("C of SVC")
    found = path("C of SVC", X, y)

    def inside(value):
        size = np.abs(found.coef_at(value))
        return frozenset(np.flatnonzero((size > 1e-9 * value) & (size < (1 - 1e-9) * value)))

    middles = (found.breakpoints[:-1] + found.breakpoints[1:]) / 2
    sets = [inside(value) for value in middles]
    assert len(set(sets)) > len(sets) / 2
    assert max(len(one ^ other) for one, other in pairwise(sets)) <= 2


def test_weights_count(name):
    X, y = rows(name)
    weight = np.where(np.arange(N) % 3 == 0, 2.0, 1.0)
    weight[5] = 0.0
    ends = {"nu_min": 0.3, "nu_max": 0.8} if name.startswith("nu") else {}  # less: no street
    found = path(name, X, y, sample_weight=weight, **ends)
    twice = np.repeat(np.arange(N), weight.astype(int))
    for value in values_along(found)[::4]:
        model = found.model_at(value)
        assert model.certificate_.status == "optimal"
        for other in (refit(name, value, X, y, weight), refit(name, value, X[twice], y[twice])):
            size = max(10.0, np.abs(other.dual_coef_).sum())
            np.testing.assert_allclose(
                decision(model, X), decision(other, X), rtol=0, atol=TOL.decision * size
            )


def test_sparse_rows_and_any_labels():
    X, y = rows("C of SVC")
    labels = np.where(y > 0, "yes", "no")
    found = path("C of SVC", sparse.csr_matrix(X), labels)
    model = found.model_at(3.0)
    assert model.classes_.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(model.predict(X), refit("C of SVC", 3.0, X, labels).predict(X))


def test_repeated_and_contradictory_rows(name):
    """No way along a flat direction is too long."""
    X, y = rows(name)
    X[::3], y[::3] = X[1::3], y[2::3]
    ends = {"nu_max": 0.5} if name == "nu of NuSVC" else {}
    found = path(name, X, y, **ends)
    for value in values_along(found)[::2]:
        assert found.model_at(value).certificate_.status == "optimal"


def test_a_model_is_an_estimator_of_its_own(name):
    X, y = rows(name)
    value = PATHS[name][2][1] * 0.9
    model = path(name, X, y).model_at(value)
    assert model.score(X[::2], y[::2]) <= 1
    assert len(model.support_vectors_) == len(model.support_)
    again = model.fit(X, y)  # with the tol of the path
    assert again.certificate_.status == "optimal"


# -- refusals ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({}, "two ends of one parameter"),
        ({"C_min": 1.0}, "C_min and C_max must both be given"),
        ({"nu_max": 0.5}, "nu_min and nu_max must both be given"),
        ({"C_min": 1.0, "C_max": 2.0, "nu_min": 0.1, "nu_max": 0.2}, "one parameter"),
        ({"C_min": 0.0, "C_max": 1.0}, "C_min .* greater than 0"),
        ({"C_min": -1.0, "C_max": 1.0}, "C_min"),
        ({"C_min": 2.0, "C_max": 1.0}, r"C_max=1\.0 must be greater than C_min=2\.0"),
        ({"C_min": 1.0, "C_max": 1.0}, r"C_max=1\.0 must be greater than C_min=1\.0"),
        ({"C_min": 1.0, "C_max": np.inf}, "C_max"),
        ({"C_min": 1.0, "C_max": np.nan}, "C_max"),
        ({"C_min": "small", "C_max": 1.0}, "C_min"),
        ({"epsilon_min": -0.1, "epsilon_max": 1.0}, "epsilon"),
        ({"epsilon_min": 0.0, "epsilon_max": 1.0, "task": "classification"}, "regression"),
        ({"nu_min": 0.0, "nu_max": 0.5}, "nu_min"),
        ({"nu_min": 0.5, "nu_max": 1.5}, "nu_max .* at most 1"),
        ({"nu_min": 0.5, "nu_max": 1.5, "task": "regression"}, "nu_max .* at most 1"),
        ({"C_min": 1.0, "C_max": 2.0, "task": "ranking"}, "task must be one of"),
        ({"C_min": 1.0, "C_max": 2.0, "kernel": "sigmoid"}, "positive semidefinite"),
        ({"C_min": 1.0, "C_max": 2.0, "kernel": "precomputed"}, "pass the rows"),
    ],
)
def test_what_is_no_path_is_refused(options, match):
    X, y = rows("C of SVC")
    with pytest.raises(ValueError, match=match):
        ws.regularization_path(X, y, n_jobs=1, **options)


def test_a_path_belongs_to_two_classes():
    X, y = data("svc" + OF_THREE, N)
    with pytest.raises(ValueError, match="two classes, got 3"):
        ws.regularization_path(X, y, C_min=1.0, C_max=2.0)
    with pytest.raises(ValueError, match="class"):
        ws.regularization_path(X, np.ones(N), C_min=1.0, C_max=2.0)


@pytest.mark.parametrize("parameter", ["C", "nu"])
def test_targets_that_are_no_labels_ask_for_the_task(parameter):
    X, y = rows("C of SVR")
    ends = {f"{parameter}_min": 0.1, f"{parameter}_max": 0.2}
    with pytest.raises(ValueError, match=r"y has continuous targets.*task='regression'"):
        ws.regularization_path(X, y, **ends)
    assert ws.regularization_path(X, y, task="regression", n_jobs=1, **ends).breakpoints[0] == 0.1


def test_nu_is_what_the_classes_allow():
    X, y = rows("nu of NuSVC")
    few = np.r_[np.flatnonzero(y < 0)[:4], np.flatnonzero(y > 0)[:12]]
    with pytest.raises(ValueError, match=r"largest possible nu .* is 0\.5"):
        path("nu of NuSVC", X[few], y[few], nu_max=0.6)
    found = path("nu of NuSVC", X[few], y[few], nu_max=0.5)
    for value in values_along(found):
        model = found.model_at(value)
        assert model.certificate_.status == "optimal"
        other = refit("nu of NuSVC", value, X[few], y[few])
        size = max(10.0, np.abs(other.dual_coef_).sum())
        np.testing.assert_allclose(
            decision(model, X), decision(other, X), rtol=0, atol=TOL.decision * size
        )


def test_ends_and_targets_that_are_none_or_arrays_are_named():
    X, y = data("svc", N)
    with pytest.raises(ValueError, match="C_max must be"):
        ws.regularization_path(X, y, C_min=0.1, C_max=np.array([1.0, 2.0]))
    with pytest.raises(ValueError, match="y must be"):
        ws.regularization_path(X, None, C_min=0.1, C_max=1.0)
