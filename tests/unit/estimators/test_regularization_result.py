"""A regularization path: models, pictures, scores, and the best value."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse

import widestreet as ws
from conftest import TOL
from reference import kernels
from support.fitting import decision
from support.machines import CONVEX, GAMMA, data
from support.paths import PATHS, N, path, rows, values_along
from widestreet._src.estimators import regularization_result as regularization


@pytest.fixture(params=PATHS)
def name(request) -> str:
    """The paths there are."""
    return request.param


def test_what_it_says_of_itself():
    X, y = rows("C of SVC")
    found = path("C of SVC", X, y)
    count = len(found.breakpoints)
    assert repr(found) == f"RegularizationPath(C from 0.01 to 1000, {count} breakpoints)"


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


@pytest.mark.parametrize("value", [0.009, 1001.0, -1.0, np.nan, np.inf, "one", None])
def test_only_values_on_the_path(value):
    X, y = rows("C of SVC")
    found = path("C of SVC", X, y)
    for ask in (found.model_at, found.coef_at):
        with pytest.raises((ValueError, TypeError), match="C"):
            ask(value)
