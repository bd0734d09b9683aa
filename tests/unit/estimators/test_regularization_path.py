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
from support.fitting import decision
from support.machines import CONVEX, GAMMA, data
from widestreet._src.estimators import regularization_result as regularization

C, EPSILON = 10.0, 0.1
PATHS = {
    "C of SVC": (ws.SVC, "C", (0.01, 1000.0), {}),
    "C of SVR": (ws.SVR, "C", (0.01, 1000.0), {"epsilon": EPSILON}),
    "epsilon": (ws.SVR, "epsilon", (0.0, 1.0), {"C": C}),
    "nu of NuSVC": (ws.NuSVC, "nu", (0.05, 0.95), {}),
    "nu of NuSVR": (ws.NuSVR, "nu", (0.05, 1.0), {"C": C}),
}
N = 36


@pytest.fixture(params=PATHS)
def name(request) -> str:
    """The paths there are."""
    return request.param


def rows(name: str) -> tuple[np.ndarray, np.ndarray]:
    return data("svr" if PATHS[name][0] in (ws.SVR, ws.NuSVR) else "svc", N)


def path(name: str, X, y, **options):
    make, parameter, (low, high), fixed = PATHS[name]
    task = "regression" if make in (ws.SVR, ws.NuSVR) else "classification"
    ends = {f"{parameter}_min": low, f"{parameter}_max": high}
    return ws.regularization_path(
        X, y, **{"gamma": GAMMA, "n_jobs": 1, "task": task} | ends | fixed | options
    )


def refit(name: str, value: float, X, y, weight=None, **options):
    make, parameter, _, fixed = PATHS[name]
    given = {"gamma": GAMMA, "n_jobs": 1, "tol": TOL.twins} | fixed | options | {parameter: value}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the margin is zero", UserWarning)
        return make(**given).fit(X, y, weight)


def values_along(found) -> np.ndarray:
    """The ends, and some breakpoints with points between them."""
    points = found.breakpoints
    some = points[:: max(1, len(points) // 8)]
    return np.unique(np.r_[points[[0, -1]], some, (some[1:] + some[:-1]) / 2])


@pytest.mark.filterwarnings("ignore:the margin is zero")
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


def test_what_it_says_of_itself():
    X, y = rows("C of SVC")
    found = path("C of SVC", X, y)
    count = len(found.breakpoints)
    assert repr(found) == f"RegularizationPath(C from 0.01 to 1000, {count} breakpoints)"


# -- pictures ----------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [False, True])
def test_a_picture_of_all_coefficients(name, given):
    pytest.importorskip("matplotlib").use("agg")
    from matplotlib import pyplot
    from matplotlib.figure import Figure

    X, y = rows(name)
    found = path(name, X, y)
    ax = Figure().subplots() if given else None
    drawn = found.plot(ax) if given else found.plot()
    assert drawn is ax if given else drawn.figure is pyplot.gcf()  # which pyplot.show() shows
    assert drawn.get_xlabel() == found.parameter
    assert drawn.get_xscale() == ("log" if found.parameter == "C" else "linear")
    moving = sum(any(line) for line in np.transpose([found.coef_at(v) for v in found.breakpoints]))
    assert len(drawn.lines) == moving
    for line in drawn.lines:
        assert line.get_xdata()[[0, -1]].tolist() == found.breakpoints[[0, -1]].tolist()
    drawn.figure.canvas.draw()
    pyplot.close(drawn.figure)


# -- which value to choose -----------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_decision_values_of_many_models_at_once(name, form, rng):
    X, y = rows(name)
    found = path(name, form(X), y)
    values = values_along(found)[::-2]  # in any order
    Z = rng.normal(size=(50, 3))
    together = found.decision_function(Z, values)
    assert together.shape == (len(values), 50)
    for line, value in zip(together, values, strict=True):
        wanted = decision(found.model_at(value), Z)
        size = max(1.0, np.abs(wanted).max())
        np.testing.assert_allclose(line, wanted, rtol=0, atol=TOL.twin * size)
    alone = found.decision_function(Z, values[0])
    np.testing.assert_allclose(alone, together[:1], rtol=0, atol=TOL.twin * np.abs(alone).max())


def test_decision_values_in_pieces(name, monkeypatch):
    X, y = rows(name)
    found = path(name, X, y)
    values = values_along(found)[::3]
    whole = found.decision_function(X, values)
    monkeypatch.setattr(regularization, "_VALUES", 5 * N)
    np.testing.assert_allclose(found.decision_function(X, values), whole, rtol=TOL.twin)


def test_a_model_without_support_vectors_is_constant():
    X, y = rows("epsilon")
    found = path("epsilon", X, y, epsilon_max=5.0)
    middle = (y.max() + y.min()) / 2
    np.testing.assert_allclose(found.decision_function(X, [5.0]), [[middle] * N], rtol=TOL.twin)


def test_scores_are_those_of_the_models(name):
    X, y = rows(name)
    found, values = path(name, X, y), [0.1, 0.3, 0.5]
    scores = found.scores(X[::2], y[::2], values)
    wanted = [found.model_at(value).score(X[::2], y[::2]) for value in values]
    np.testing.assert_allclose(scores, wanted, rtol=TOL.twin)


def test_the_best_value_is_the_smallest_of_the_best(name):
    X, y = rows(name)
    found = path(name, X[::2], y[::2])
    scores = found.scores(X[1::2], y[1::2])
    best = found.best(X[1::2], y[1::2])
    assert best in found.breakpoints
    alone = found.scores(X[1::2], y[1::2], best)[0]
    assert alone == pytest.approx(scores.max(), rel=TOL.twin)
    before = found.breakpoints[found.breakpoints < best]
    if len(before):
        assert found.scores(X[1::2], y[1::2], before).max() <= alone * (1 + TOL.twin)
    if PATHS[name][0] in (ws.SVC, ws.NuSVC) and len(before):
        assert found.scores(X[1::2], y[1::2], before).max() < alone


def test_labels_of_any_kind_are_scored():
    X, y = rows("C of SVC")
    labels = np.where(y > 0, "yes", "no")
    values = [0.1, 1.0, 10.0]
    one, other = path("C of SVC", X, y), path("C of SVC", X, labels)
    np.testing.assert_array_equal(one.scores(X, y, values), other.scores(X, labels, values))
    np.testing.assert_array_equal(
        one.leave_one_out_bounds(values), other.leave_one_out_bounds(values)
    )


@pytest.mark.parametrize("name", ["C of SVC", "nu of NuSVC"])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_the_leave_one_out_bound_is_its_formula(name, kernel):
    X, y = rows(name)
    weight = np.where(np.arange(N) % 3 == 0, 2.0, 1.0)
    weight[5] = 0.0
    ends = {"nu_min": 0.3, "nu_max": 0.8} if name.startswith("nu") else {}  # less: no street
    found = path(name, X, y, sample_weight=weight, **CONVEX[kernel], **ends)
    values = values_along(found)[1::3]
    diagonal = np.diag(kernels.matrix(**CONVEX[kernel], X=X))
    for value, bound in zip(values, found.leave_one_out_bounds(values), strict=True):
        model = found.model_at(value)
        doubtful = y * decision(model, X) <= np.abs(found.coef_at(value)) * diagonal
        assert bound == pytest.approx(np.average(doubtful, weights=weight), rel=TOL.twin)


def test_the_leave_one_out_bound_is_one():
    """Not by proof, since there is a bias, but here, where C is not so small that it decides."""
    X, y = data("svc", 80)
    found = path("C of SVC", X, y)
    for value in (1.0, 10.0, 100.0):
        left_out = ws.leave_one_out(ws.SVC(C=value, gamma=GAMMA), X, y)
        wrong = np.mean(left_out * y <= 0)
        assert wrong <= found.leave_one_out_bounds(value)[0] < 0.5


def test_the_best_value_by_the_bound():
    X, y = data("svc", 80)
    found = path("C of SVC", X, y)
    bounds = found.leave_one_out_bounds()
    best = found.best_by_bound()
    assert found.leave_one_out_bounds(best)[0] == bounds.min()
    assert best in found.breakpoints


def test_names_of_features_are_minded_and_not_missed():
    pd = pytest.importorskip("pandas")
    X, y = rows("C of SVC")
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    found = path("C of SVC", frame, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found.leave_one_out_bounds([1.0])
        found.scores(frame, y, [1.0])
    with pytest.raises(ValueError, match="feature names"):
        found.scores(frame[["c", "b", "a"]], y, [1.0])


@pytest.mark.parametrize(
    ("values", "match"),
    [([], "values"), ([[1.0]], "values"), (["one"], "values"), ([None], "values"),
     ([np.nan], "values"), ([1e9], "outside of the path"), ([1.0, -1.0], "outside of the path")],
)  # fmt: skip
def test_only_lists_of_values_on_the_path(values, match):
    X, y = rows("C of SVC")
    found = path("C of SVC", X, y)
    for ask in (found.leave_one_out_bounds, lambda v: found.scores(X, y, v)):
        with pytest.raises(ValueError, match=match):
            ask(values)


def test_rows_and_labels_to_choose_by_must_fit():
    X, y = rows("C of SVC")
    found = path("C of SVC", X, y)
    for ask in (found.scores, found.best):
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            ask(X, y[:-1])
        with pytest.raises(ValueError, match="1d array"):
            ask(X, np.c_[y, y])
        with pytest.raises(ValueError, match="features"):
            ask(X[:, :2], y)
    regression = path("epsilon", *rows("epsilon"))
    for ask in (regression.leave_one_out_bounds, regression.best_by_bound):
        with pytest.raises(ValueError, match="classification"):
            ask()


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
        ({"C_min": 2.0, "C_max": 1.0}, "C_max .* greater than 2"),
        ({"C_min": 1.0, "C_max": 1.0}, "C_max .* greater than 1"),
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


@pytest.mark.parametrize("value", [0.009, 1001.0, -1.0, np.nan, np.inf, "one", None])
def test_only_values_on_the_path(value):
    X, y = rows("C of SVC")
    found = path("C of SVC", X, y)
    for ask in (found.model_at, found.coef_at):
        with pytest.raises((ValueError, TypeError), match="C"):
            ask(value)


def test_ends_and_targets_that_are_none_or_arrays_are_named():
    X, y = data("svc", N)
    with pytest.raises(ValueError, match="C_max must be"):
        ws.regularization_path(X, y, C_min=0.1, C_max=np.array([1.0, 2.0]))
    with pytest.raises(ValueError, match="y must be"):
        ws.regularization_path(X, None, C_min=0.1, C_max=1.0)
