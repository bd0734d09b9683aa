"""SVMs that choose their parameters."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score

import widestreet as ws
from conftest import OF_THREE
from support.machines import data
from widestreet._src.engines.budget import OutOfBudget
from widestreet._src.tuning.plan import Plan
from widestreet.datasets import checkerboard

SEARCHES = {
    "svc": ws.SVCCV(cv=3, random_state=0),
    "svr": ws.SVRCV(cv=3, Cs=[1.0, 10.0], random_state=0),
    "svc" + OF_THREE: ws.SVCCV(cv=3, kernel="linear", Cs=[0.01, 0.1, 1.0]),
}


@pytest.fixture(params=SEARCHES)
def fitted(request):
    X, y = data(request.param)
    return X, y, clone(SEARCHES[request.param]).fit(X, y)


@pytest.mark.filterwarnings("ignore:the best")
def test_the_model_is_that_of_the_best_parameters(fitted):
    X, y, model = fitted
    best = model.best_estimator_
    assert best.C == model.C_
    assert model.certificate_.status == "optimal"
    assert model.best_score_ == model.scores_.mean(axis=1).max()
    assert model.cv_results_["rank_test_score"].min() == 1
    assert len(model.cv_results_["params"]) == len(model.scores_)
    np.testing.assert_array_equal(model.predict(X), best.predict(X))
    again = cross_val_score(best, X, y, cv=3)
    assert model.best_score_ == pytest.approx(again.mean(), abs=0.02)  # the search has another tol


@pytest.mark.filterwarnings("ignore:the best")
def test_fitted_estimators_can_be_pickled_and_saved(fitted, tmp_path):
    X, _, model = fitted
    expected = model.predict(X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), expected)
    model.save(tmp_path / "model.street")
    np.testing.assert_allclose(ws.load(tmp_path / "model.street").predict(X), expected)


def test_a_grid_that_is_too_small_is_extended(monkeypatch):
    X, y = checkerboard(300, random_state=0)
    wide = ws.SVCCV(random_state=0, cv=3).fit(X, y)
    monkeypatch.setattr("widestreet._src.tuning.self_tuned.COARSE_C", (2.0**-5, 2.0**-1))
    model = ws.SVCCV(random_state=0, cv=3).fit(X, y)
    assert model.C_ > 0.5
    assert model.best_score_ >= wide.best_score_ - 0.03


@pytest.mark.filterwarnings("ignore:the best")
def test_values_of_the_user_are_used_as_they_are():
    X, y = data("svr")
    given = {"Cs": [10.0, 0.1], "gammas": [0.5, 0.1], "epsilons": [0, 0.1]}
    model = ws.SVRCV(**given, cv=3).fit(X, y)
    names = {"C": "Cs", "gamma": "gammas", "epsilon": "epsilons"}
    for name, values in names.items():
        assert {point[name] for point in model.cv_results_["params"]} == set(given[values])
    assert len(model.scores_) == 8
    model = ws.SVRCV(Cs=[10.0, 0.1], gammas=[0.5], epsilons=[0], cv=3).fit(X, y)
    assert model.epsilon_ == 0.0


@pytest.mark.filterwarnings("ignore:the best")
def test_weights_under_metadata_routing():
    X, y = data("svc")
    weight = np.where(np.arange(len(y)) < 20, 0.0, 1.0)
    options = {"Cs": [1.0, 10.0], "gammas": [0.1, 0.5], "cv": 3}
    expected = ws.SVCCV(**options).fit(X, y, sample_weight=weight)
    with config_context(enable_metadata_routing=True):
        found = ws.SVCCV(**options).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(found.scores_, expected.scores_)


def two_scores(model, X, y):
    return {"one": 1.0, "two": 2.0}


@pytest.mark.filterwarnings("ignore:Scoring failed")
@pytest.mark.filterwarnings("ignore:One or more of the test scores")
@pytest.mark.parametrize("scoring", ["roc_auc", ["accuracy", "f1"], two_scores])
def test_scorers_that_cannot_choose(scoring):
    X, y = data("svc" + OF_THREE)  # roc_auc is not defined for three classes
    with pytest.raises(ValueError, match="scoring"):
        ws.SVCCV(scoring=scoring, cv=3, Cs=[1.0], gammas=[0.5]).fit(X, y)


def test_a_second_fit_leaves_nothing_of_the_first():
    X, y = data("svc")
    names = [f"x{k}" for k in range(X.shape[1])]
    frame = pytest.importorskip("pandas").DataFrame(X, columns=names)
    model = ws.SVCCV(Cs=[1.0], gammas=[0.5], cv=3).fit(frame, y)
    assert model.gamma_ == 0.5
    assert model.feature_names_in_.tolist() == names
    model.set_params(kernel="linear").fit(X, y)
    assert not hasattr(model, "gamma_")
    assert not hasattr(model, "feature_names_in_")


def test_no_time(monkeypatch):
    X, y = data("svc")
    monkeypatch.setattr("widestreet._src.tuning.self_tuned.Budget.remaining", lambda self: 1e-9)
    with pytest.raises(TimeoutError, match="max_time"):
        ws.SVCCV(max_time=5.0).fit(X, y)


@pytest.mark.parametrize("stop", [OutOfBudget("max_time"), KeyboardInterrupt()])
def test_a_stage_without_a_complete_point_keeps_the_stages_before(stop, monkeypatch):
    X, y = data("svc")
    run, calls = Plan.run, []

    def stopping(self):
        calls.append(self)
        if len(calls) > 1:
            raise stop
        run(self)

    monkeypatch.setattr(Plan, "run", stopping)
    options = {"cv": 3, "random_state": 0, "max_time": 1000.0}
    model = ws.SVCCV(on_interrupt="keep", **options).fit(X, y)
    assert len(calls) == 2
    assert model.certificate_.status == "optimal"
    assert np.isfinite(model.scores_).all()
    if isinstance(stop, KeyboardInterrupt):
        calls.clear()
        with pytest.raises(KeyboardInterrupt):
            ws.SVCCV(**options).fit(X, y)


def test_parameters_are_checked():
    X, y = data("svc")
    of_ranges = ({"Cs": [-1.0]}, {"Cs": []}, {"gammas": [0.0]})
    for wrong in (*of_ranges, {"kernel": "poly"}, {"max_time": 0}, {"on_interrupt": "no"}):
        [name] = wrong
        with pytest.raises(ValueError, match=name):
            ws.SVCCV(**wrong).fit(X, y)
    with pytest.raises(NotFittedError):
        ws.SVCCV().predict(X)
