"""Pictures of the scores of a search."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.model_selection
import sklearn.svm
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

figure = pytest.importorskip("matplotlib.figure")

import widestreet as ws  # noqa: E402
from support.machines import data  # noqa: E402
from widestreet.model_selection import GridSearchCV  # noqa: E402
from widestreet.plots import SearchDisplay  # noqa: E402


def axes():
    return figure.Figure().subplots()


def drawn(ax):
    """Points that were drawn in two dimensions, without the ring."""
    return np.asarray(ax.collections[0].get_offsets())


@pytest.mark.parametrize("search", [GridSearchCV, sklearn.model_selection.GridSearchCV])
def test_points_of_a_grid(search):
    X, y = data("svc")
    grid = {"C": [0.1, 1.0, 10.0], "gamma": [0.1, 0.5]}
    found = search(ws.SVC(), grid, cv=3).fit(X, y)
    display = SearchDisplay.from_estimator(found, ax=axes())
    ax = display.ax_
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("gamma", "C")
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    expected = {(point["gamma"], point["C"]) for point in found.cv_results_["params"]}
    assert {tuple(point) for point in drawn(ax).tolist()} == expected
    assert display.plot(ax=axes()) is display


def made(scores, C=(1.0, 2.0, 3.0)):
    points = np.array([(0.5, c) for c in C] + [(1.5, c) for c in C] + [(2.5, c) for c in C])
    return SearchDisplay(names=("gamma", "C"), points=points, scores=np.array(scores))


def test_edges_are_marked():
    inside = made([0, 0, 0, 0, 1, 0, 0, 0, 0]).plot(ax=axes())
    assert inside.edges_ == []
    assert all(line.get_color() != "tab:red" for line in inside.ax_.lines)
    corner = made([0, 0, 0, 0, 0, 0, 0, 0, 1]).plot(ax=axes())
    assert corner.edges_ == ["gamma", "C"]
    red = [line for line in corner.ax_.lines if line.get_color() == "tab:red"]
    assert list(red[0].get_xdata()) == [2.5, 2.5]
    assert list(red[1].get_ydata()) == [3.0, 3.0]
    side = made([0, 0, 0, 1, 1, 0, 0, 0, 0]).plot(ax=axes())  # of ties the smaller C
    assert side.edges_ == ["C"]


def test_one_parameter_is_a_line():
    X, y = data("svr")
    found = GridSearchCV(ws.SVR(), {"C": [0.1, 1.0, 10.0], "kernel": ["rbf", "linear"]}, cv=3)
    display = SearchDisplay.from_estimator(found.fit(X, y), ax=axes())
    assert display.names == ("C",)
    top = found.cv_results_["mean_test_score"].reshape(3, 2).max(axis=1)
    np.testing.assert_array_equal(display.ax_.lines[0].get_ydata(), top)
    assert display.ax_.get_ylabel() == "mean test score"


@pytest.mark.filterwarnings("ignore:the best")
def test_self_tuned_svms_and_pipelines():
    X, y = data("svc")
    model = ws.SVCCV(cv=3, random_state=0).fit(X, y)
    display = SearchDisplay.from_estimator(model, ax=axes())
    assert len(display.scores) == len(model.scores_)
    model = ws.SVRCV(Cs=[1.0], gammas=[0.1, 0.5], epsilons=[0.1, 0.2], cv=3).fit(X, y)
    display = SearchDisplay.from_estimator(model, names=("gamma", "epsilon"), ax=axes())
    assert display.points.shape == (4, 2)
    pipeline = make_pipeline(StandardScaler(), sklearn.svm.SVC())
    grid = {"svc__gamma": ["scale", 0.1, 0.5], "svc__C": [1.0, 2.0]}
    found = sklearn.model_selection.GridSearchCV(pipeline, grid, cv=3).fit(X, y)
    display = SearchDisplay.from_estimator(found, ax=axes())
    assert display.names == ("svc__gamma", "svc__C")
    assert len(display.scores) == 4  # "scale" has no place on the axis


def test_several_metrics():
    X, y = data("svc")
    scoring = {"scoring": ["accuracy", "roc_auc"], "refit": "roc_auc"}
    found = GridSearchCV(ws.SVC(), {"C": [0.1, 1.0]}, cv=3, **scoring).fit(X, y)
    display = SearchDisplay.from_estimator(found, metric="roc_auc", ax=axes())
    np.testing.assert_array_equal(display.scores, found.cv_results_["mean_test_roc_auc"])
    with pytest.raises(ValueError, match="metric must be one of accuracy, roc_auc"):
        SearchDisplay.from_estimator(found)


def test_what_cannot_be_drawn_is_named():
    X, y = data("svc")
    with pytest.raises(ValueError, match="no fitted search"):
        SearchDisplay.from_estimator(ws.SVC())
    found = GridSearchCV(ws.SVC(), {"C": [1.0, 2.0]}, cv=3).fit(X, y)
    for names in (("gamma",), (), ("C", "C", "C")):
        with pytest.raises(ValueError, match="names must be one or two of C"):
            SearchDisplay.from_estimator(found, names=names)
