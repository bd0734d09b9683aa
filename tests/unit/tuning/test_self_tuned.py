"""SVMs that choose their parameters."""

from __future__ import annotations

import pickle
from contextlib import nullcontext

import numpy as np
import pytest
import sklearn
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import make_scorer
from sklearn.model_selection import GroupKFold, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.fixes import parse_version

import widestreet as ws
from conftest import OF_THREE, TOL
from support.interrupted import InterruptedScores
from support.machines import data
from widestreet._src.engines.budget import OutOfBudget
from widestreet._src.tuning.plan import Plan
from widestreet._src.tuning.ranges import COARSE_C
from widestreet.datasets import checkerboard
from widestreet.io import ArchiveError

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
    model.save(tmp_path / "model.street")
    skops = pytest.importorskip("skops.io")
    for other in (
        pickle.loads(pickle.dumps(model)),
        ws.load(tmp_path / "model.street"),
        skops.loads(skops.dumps(model), trusted=ws.trusted_types()),
    ):
        assert type(other) is type(model)
        assert vars(other).keys() == vars(model).keys()
        assert other.get_params() == model.get_params()
        np.testing.assert_array_equal(other.predict(X), expected)
        assert other.certificate_ == model.certificate_
        assert other.cv_results_.keys() == model.cv_results_.keys()
        assert other.cv_results_["params"] == model.cv_results_["params"]
        for name, values in model.cv_results_.items():
            np.testing.assert_array_equal(other.cv_results_[name], values)


def test_a_grid_that_is_too_small_is_extended(monkeypatch):
    X, y = checkerboard(300, random_state=0)
    wide = ws.SVCCV(random_state=0, cv=3).fit(X, y)
    monkeypatch.setattr("widestreet._src.tuning.self_tuned.COARSE_C", (2.0**-5, 2.0**-1))
    model = ws.SVCCV(random_state=0, cv=3).fit(X, y)
    assert model.C_ > 0.5
    assert model.best_score_ >= wide.best_score_ - 0.03


def test_large_C_is_tried_only_near_a_best_point():
    """On noisy rows large values of C take most of the time, and are not chosen."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))
    y = X[:, 0] + rng.standard_normal(60)
    model = ws.SVRCV(gammas=[0.1], epsilons=[0.3], cv=3, random_state=0, n_jobs=1).fit(X, y)
    tried = [point["C"] / np.std(y) for point in model.cv_results_["params"]]
    assert model.C_ / np.std(y) < 2.0**5
    assert max(tried) <= 2.0**7


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


def test_no_time():
    X, y = data("svc")
    with pytest.raises(TimeoutError, match=r"max_time=1\.5e-09 was too short"):
        ws.SVCCV(max_time=1.5e-9).fit(X, y)


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
    why = "Ctrl-C" if isinstance(stop, KeyboardInterrupt) else "max_time=1000"
    with pytest.warns(UserWarning, match=f"{why} ended the search after [0-9]+ cand") as said:
        model = ws.SVCCV(on_interrupt="keep", **options).fit(X, y)
    assert f"after {len(model.scores_)} candidates" in str(said[0].message)
    assert len(said) == 1
    assert len(calls) == 2
    assert model.certificate_.status == "optimal"
    assert np.isfinite(model.scores_).all()
    if isinstance(stop, KeyboardInterrupt):
        calls.clear()
        with pytest.raises(KeyboardInterrupt), pytest.warns(UserWarning, match=why):
            ws.SVCCV(**options).fit(X, y)


@pytest.mark.parametrize("action", ["keep", "raise"])
@pytest.mark.filterwarnings("ignore:the best")
@pytest.mark.parametrize("stage", [0, 1])
def test_ctrl_c_while_points_are_scored_keeps_the_best_so_far(stage, action):
    X, y = data("svc")
    grid = {"gammas": [0.5], "cv": 3}
    expected = ws.SVCCV(**grid).fit(X, y)
    done = stage * len(COARSE_C) + 1
    scorer = make_scorer(InterruptedScores(3 * done + 2))  # in the second fold of the next point
    model = ws.SVCCV(scoring=scorer, on_interrupt=action, **grid)
    raised = pytest.raises(KeyboardInterrupt) if action == "raise" else nullcontext()
    with raised, pytest.warns(UserWarning, match="Ctrl-C ended the search after"):
        model.fit(X, y)
    assert model.stopped_ == "interrupt"
    np.testing.assert_array_equal(model.scores_[:done], expected.scores_[:done])
    assert np.isnan(model.scores_[done:]).all()
    assert model.best_score_ == expected.scores_[:done].mean(axis=1).max()
    assert hasattr(model, "best_estimator_") == (action == "keep")
    if action == "keep":
        assert model.certificate_.status == "optimal"


def test_a_warning_counts_the_complete_candidates_of_a_stage(monkeypatch):
    X, y = data("svc")
    run = Plan.run

    def stopping(self):
        run(self)
        self.found = {(k, f): one for (k, f), one in self.found.items() if k < 2 or f > 0}
        raise OutOfBudget("max_time")

    monkeypatch.setattr(Plan, "run", stopping)
    model = ws.SVCCV(Cs=[1.0, 2.0, 4.0], gammas=[0.5], cv=3, max_time=1000.0)
    with pytest.warns(UserWarning, match="max_time=1000 ended the search after 2 candidates"):
        model.fit(X, y)
    assert model.stopped_ == "max_time"


def test_parameters_are_checked():
    X, y = data("svc")
    of_ranges = ({"Cs": [-1.0]}, {"Cs": []}, {"gammas": [0.0]})
    for wrong in (*of_ranges, {"kernel": "poly"}, {"max_time": 0}, {"on_interrupt": "no"}):
        [name] = wrong
        with pytest.raises(ValueError, match=name):
            ws.SVCCV(**wrong).fit(X, y)
    with pytest.raises(NotFittedError):
        ws.SVCCV().predict(X)


def test_damaged_files_are_refused(tmp_path):
    X, y = data("svc")
    model = ws.SVCCV(Cs=[1.0], gammas=[0.5], cv=3).fit(X, y)
    model.scores_ = model.scores_[:0]
    model.save(tmp_path / "wrong.street")
    with pytest.raises(ArchiveError, match="is damaged"):
        ws.load(tmp_path / "wrong.street")


def test_what_takes_an_svm_takes_a_self_tuned_one(tmp_path):
    onnx = pytest.importorskip("onnx.reference")
    for kind, make in (("svc", ws.SVCCV), ("svr", ws.SVRCV)):
        X, y = data(kind)
        options = {} if kind == "svc" else {"epsilons": [0.1]}
        model = make(Cs=[1.0], gammas=[0.5], cv=3, **options).fit(X, y)
        svm = model.best_estimator_
        explained, expected = (ws.explain(one, X[:3], X[:9]).values for one in (model, svm))
        np.testing.assert_array_equal(explained, expected)
        assert ws.certify(model, X, y) == ws.certify(svm, X, y)
        theirs = ws.io.to_sklearn(model)
        np.testing.assert_allclose(theirs.predict(X), model.predict(X), atol=TOL.decision)
        ws.io.to_libsvm(model, tmp_path / "model.txt")
        again = ws.io.from_libsvm(tmp_path / "model.txt")
        np.testing.assert_allclose(again.predict(X), model.predict(X), atol=TOL.decision)
        found = onnx.ReferenceEvaluator(ws.io.to_onnx(model)).run(None, {"X": X})
        np.testing.assert_allclose(found[0], model.predict(X), atol=TOL.decision)
        small = model.compact(0.5)
        assert len(small.support_) <= len(model.support_)
        assert small.cv_results_["params"] == model.cv_results_["params"]
        assert small.compaction_.bound <= 0.5
        np.testing.assert_array_equal(model.dual_coef_, svm.dual_coef_)
        with pytest.raises(NotFittedError, match="call fit first"):
            ws.explain(clone(model), X, X)


def test_a_pipeline_with_a_self_tuned_svm_is_exported():
    pytest.importorskip("skl2onnx")
    onnx = pytest.importorskip("onnx.reference")
    X, y = data("svc")
    model = make_pipeline(StandardScaler(), ws.SVCCV(Cs=[1.0], gammas=[0.5], cv=3)).fit(X, y)
    found = onnx.ReferenceEvaluator(ws.io.to_onnx(model)).run(None, {"X": X})
    np.testing.assert_array_equal(found[0], model.predict(X))
    assert ws.certify(model, X, y).status == "optimal"


def test_groups_reach_the_splitter():
    X, y = data("svc")
    groups = np.arange(len(y)) % 4
    model = ws.SVCCV(Cs=[1.0], gammas=[0.5], cv=GroupKFold(4)).fit(X, y, groups=groups)
    again = ws.SVCCV(Cs=[1.0], gammas=[0.5], cv=list(GroupKFold(4).split(X, y, groups)))
    np.testing.assert_array_equal(model.scores_, again.fit(X, y).scores_)


def test_rows_that_cannot_be_searched():
    X, y = data("svc")
    grid = {"Cs": [1.0], "gammas": [0.5]}
    order = np.argsort(y, kind="stable")
    few = np.concatenate([order[:3], order[-3:]])
    for options, rows, labels, message in (
        ({"cv": 1}, X, y, "cv must be an integer of at least 2"),
        ({"cv": "loo"}, X, y, "cv must be"),
        ({"cv": 5}, X[few], y[few], r"cv=5.*got 3 \(n_samples = 6\).*or cv=3 or less"),
        ({"cv": 5}, X, np.ones(len(y)), "1 class"),
        ({"cv": KFold(2)}, X[order], y[order], "training set of fold 0 .* one class only"),
        ({"cv": []}, X, y, "cv"),
    ):
        with pytest.raises(ValueError, match=message):
            ws.SVCCV(**grid, **options).fit(rows, labels)
    with pytest.raises(ValueError, match="cv=5"):
        ws.SVRCV(**grid).fit(X[:3], y[:3])
    weight = np.where(np.arange(len(y)) < 40, 0.0, 1.0)
    with pytest.raises(ValueError, match="test set of fold 0 has no row of positive weight"):
        ws.SVRCV(**grid, cv=KFold(3)).fit(X, y, sample_weight=weight)


def test_the_training_on_all_rows_has_the_rest_of_the_time(monkeypatch):
    X, y = data("svc")
    fit, seen = ws.SVC.fit, []

    def noting(self, *given, **options):
        seen.append(self.max_time)
        return fit(self, *given, **options)

    monkeypatch.setattr(ws.SVC, "fit", noting)
    model = ws.SVCCV(Cs=[1.0], gammas=[0.5], max_time=1000.0).fit(X, y)
    assert 250.0 <= seen[-1] < 1000.0
    assert model.best_estimator_.max_time is None


def test_ctrl_c_during_the_training_on_all_rows_keeps_the_results(monkeypatch):
    X, y = data("svc")
    model = ws.SVCCV(Cs=[1.0], gammas=[0.5], cv=3).fit(X, y)

    def interrupted(*given, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(ws.SVC, "fit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.set_params(Cs=[2.0]).fit(X, y)
    assert (model.C_, model.stopped_, model.scores_.shape) == (2.0, "interrupt", (1, 3))
    with pytest.raises(NotFittedError, match="Ctrl-C"):
        model.predict(X)


def test_a_fit_that_fails_leaves_the_model():
    X, y = data("svc")
    model = ws.SVCCV(Cs=[1.0], gammas=[0.5], cv=3).fit(X, y)
    expected = model.decision_function(X)
    with pytest.raises(ValueError, match="verbose"):
        model.set_params(verbose=-1).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), expected)


def test_weights_count_in_the_scores():
    if parse_version(sklearn.__version__) < parse_version("1.9"):
        pytest.skip("scikit-learn does not weigh scores before 1.9")
    X, y = data("svc")
    weight = np.where(np.arange(len(y)) % 2 == 0, 2.0, 1.0)
    folds = list(KFold(3, shuffle=True, random_state=0).split(X))
    model = ws.SVCCV(Cs=[1.0], gammas=[0.5], cv=folds).fit(X, y, sample_weight=weight)
    for (train, test), score in zip(folds, model.scores_[0], strict=True):
        one = ws.SVC(gamma=0.5).fit(X[train], y[train], sample_weight=weight[train])
        expected = one.score(X[test], y[test], sample_weight=weight[test])
        assert score == pytest.approx(expected, abs=2.0 / weight[test].sum())  # one row at most
