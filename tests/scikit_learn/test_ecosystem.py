"""The rest of scikit-learn around our estimators: pipelines, searches, meta-estimators, routing."""

from __future__ import annotations

import pickle
import textwrap

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier, BaggingRegressor
from sklearn.exceptions import NotFittedError, UnsetMetadataPassedError
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import widestreet as ws
from conftest import KINDS, OF_THREE, TOL
from reference import kernels
from support.fitting import decision
from support.machines import CLASSIFIERS, GAMMA, assert_same_function, data, machine
from widestreet.online import OnlineNuSVC, OnlineSVC

SUPERVISED = tuple(kind for kind in KINDS if kind != "one_class")
REGRESSORS = ("svr", "nu_svr")


def parameter_of(kind):
    """One to search over, and values of it."""
    return ("C", [0.1, 10.0]) if hasattr(machine(kind), "C") else ("nu", [0.2, 0.5])


# -- copies ------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.csr_array])
def test_pickle_and_clone(kind, form):
    X, y = data(kind)
    rows = form(X)
    model = pickle.loads(pickle.dumps(machine(kind)))  # before it is fitted, too
    with pytest.raises(NotFittedError):
        model.predict(rows)
    model.fit(rows, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(decision(again, rows), decision(model, rows))
    np.testing.assert_array_equal(again.predict(rows), model.predict(rows))
    assert again.certificates_ == model.certificates_
    assert list(again.trace_) == list(model.trace_)
    assert again.get_params() == model.get_params()
    fresh = clone(model)
    assert not hasattr(fresh, "support_")
    assert fresh.get_params() == model.get_params()
    np.testing.assert_array_equal(decision(fresh.fit(rows, y), rows), decision(model, rows))


def test_a_pickle_can_be_fitted_again(kind):
    X, y = data(kind)
    model = pickle.loads(pickle.dumps(machine(kind, warm_start=True).fit(X, y)))
    model.set_params(gamma=2 * GAMMA).fit(X, y)
    assert_same_function(model, machine(kind, gamma=2 * GAMMA).fit(X, y), X)


def test_representations(kind):
    model = machine(kind)
    for fitted in (model, model.fit(*data(kind))):
        name = type(fitted).__name__
        assert repr(fitted).startswith(f"{name}(")
        html = fitted._repr_html_()
        assert name in html
        assert "random_state" in html
        assert name in make_pipeline(StandardScaler(), fitted)._repr_html_()


# -- pipelines and searches --------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_pipeline(kind, form):
    X, y = data(kind)
    scaler = StandardScaler(with_mean=False)
    pipeline = make_pipeline(scaler, machine(kind)).fit(form(X), y)
    scaled = scaler.transform(X)
    assert_same_function(pipeline, machine(kind).fit(scaled, y), form(X), scaled)
    assert pipeline[-1].n_features_in_ == 3


def test_pipeline_of_tables(kind):
    pd = pytest.importorskip("pandas")
    X, y = data(kind)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    pipeline = make_pipeline(StandardScaler(), machine(kind)).set_output(transform="pandas")
    pipeline.fit(frame, y)
    assert pipeline[-1].feature_names_in_.tolist() == ["a", "b", "c"]
    assert isinstance(pipeline.predict(frame), np.ndarray)
    scaled = StandardScaler().fit_transform(X)
    assert_same_function(pipeline, machine(kind).fit(scaled, y), frame, scaled)
    with pytest.raises(ValueError, match="feature names should match"):
        pipeline.predict(frame[["c", "b", "a"]])


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("kind", SUPERVISED)
def test_grid_search(kind, n_jobs):
    X, y = data(kind)
    name, values = parameter_of(kind)
    pipeline = make_pipeline(StandardScaler(), machine(kind))
    grid = {f"{pipeline.steps[-1][0]}__{name}": values}
    cv = KFold(3, shuffle=True, random_state=0)
    search = GridSearchCV(pipeline, grid, cv=cv, n_jobs=n_jobs, error_score="raise").fit(X, y)
    assert search.best_score_ > 0.5
    one_by_one = [
        cross_val_score(make_pipeline(StandardScaler(), machine(kind, **{name: v})), X, y, cv=cv)
        for v in values
    ]
    np.testing.assert_allclose(
        search.cv_results_["mean_test_score"], np.mean(one_by_one, axis=1), atol=TOL.decision
    )
    best = search.best_params_.popitem()[1]
    scaled = StandardScaler().fit_transform(X)
    assert_same_function(
        search.best_estimator_, machine(kind, **{name: best}).fit(scaled, y), X, scaled
    )


def test_search_for_the_outliers():
    """Without targets, and with a score of our own."""
    X, _ = data("one_class")
    cv = KFold(3, shuffle=True, random_state=0)

    def inside(model, X, y=None):
        return np.mean(model.predict(X) > 0)

    search = GridSearchCV(machine("one_class"), {"nu": [0.1, 0.5, 0.9]}, scoring=inside, cv=cv)
    shares = search.fit(X).cv_results_["mean_test_score"]
    assert (np.diff(shares) < 0).all()
    assert search.best_params_ == {"nu": 0.1}


@pytest.mark.parametrize("kind", SUPERVISED)
def test_folds_of_rows_and_of_kernel_matrices(kind):
    X, y = data(kind)
    cv = KFold(3, shuffle=True, random_state=0)
    K = kernels.matrix("rbf", X, gamma=GAMMA)
    computed = machine(kind, kernel="precomputed")
    by_rows, by_kernel = (
        cross_val_predict(model, Z, y, cv=cv, method=method)
        for model, Z in ((machine(kind), X), (computed, K))
        for method in ["predict" if kind in REGRESSORS else "decision_function"]
    )
    np.testing.assert_allclose(by_kernel, by_rows, atol=TOL.decision)
    expected = np.empty_like(by_rows)
    for train, test in cv.split(X):
        expected[test] = decision(machine(kind).fit(X[train], y[train]), X[test])
    np.testing.assert_allclose(by_rows, expected, atol=TOL.decision)
    scores = cross_validate(computed, K, y, cv=cv, return_estimator=True)
    assert {model.certificate_.status for model in scores["estimator"]} == {"optimal"}


# -- meta-estimators ---------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"ensemble": False}, {"method": "isotonic"}])
@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_probabilities_by_calibration(kind, options, rng):
    X, y = data(kind)
    shape = {"decision_function_shape": "ovr"}  # a value for each class
    model = CalibratedClassifierCV(machine(kind, **shape), cv=3, **options)
    model.fit(X, y, sample_weight=rng.integers(1, 3, len(y)))
    chance = model.predict_proba(X)
    np.testing.assert_allclose(chance.sum(axis=1), 1.0, rtol=TOL.exact * 10)
    assert accuracy_score(y, model.classes_[chance.argmax(axis=1)]) > 0.7


WITHOUT_PROBABILITIES = [ws.SVC, ws.NuSVC, ws.EnsembleSVC, OnlineSVC, OnlineNuSVC]
REQUESTS = {
    "a parameter": lambda make: make(probability=True),
    "a parameter that is off": lambda make: make(probability=False),
    "set_params": lambda make: make().set_params(probability=True),
    "set_params of a pipeline": lambda make: Pipeline([("svm", make())]).set_params(
        svm__probability=True
    ),
    "predict_proba": lambda make: make().predict_proba,
    "predict_log_proba": lambda make: make().predict_log_proba,
}


@pytest.mark.parametrize("how", REQUESTS)
@pytest.mark.parametrize("make", WITHOUT_PROBABILITIES)
def test_a_howfor_probabilities_is_answered_with_lines_that_run(make, how):
    with pytest.raises((TypeError, ValueError, AttributeError), match="no predict_proba") as caught:
        REQUESTS[how](make)
    X, y = data("svc")
    scope = {make.__name__: make, "X": X, "y": y}
    exec(textwrap.dedent(str(caught.value).split(":\n")[1]), scope)
    np.testing.assert_allclose(
        scope["model"].predict_proba(X).sum(axis=1), 1.0, rtol=TOL.exact * 10
    )


@pytest.mark.parametrize("make", WITHOUT_PROBABILITIES)
def test_meta_estimators_pass_the_answer_on(make):
    """Their own error has no text of ours, but ours is its cause and is shown with it."""
    model = make()
    assert not hasattr(model, "predict_proba")
    for wrapped in (make_pipeline(StandardScaler(), model), GridSearchCV(model, {"tol": [1e-3]})):
        assert not hasattr(wrapped, "predict_proba")
        with pytest.raises(AttributeError) as caught:
            wrapped.predict_proba  # noqa: B018
        assert "Calibrated" in str(caught.value.__cause__)


@pytest.mark.parametrize("make", [ws.SVR, ws.NuSVR, ws.OneClassSVM])
def test_who_has_no_classes_has_no_such_parameter(make):
    with pytest.raises(TypeError, match="unexpected keyword argument 'probability'"):
        make(probability=True)


@pytest.mark.parametrize("kind", ["svc", "nu_svc"])
def test_one_against_the_rest(kind):
    X, y = data(kind + OF_THREE)
    options = {"nu": 0.2} if kind == "nu_svc" else {}
    model = OneVsRestClassifier(machine(kind, **options)).fit(X, y)
    for label in range(3):
        alone = machine(kind, **options).fit(X, (y == label).astype(int))
        np.testing.assert_allclose(
            model.decision_function(X)[:, label], decision(alone, X), atol=TOL.decision
        )


@pytest.mark.parametrize("kind", ["svc", "nu_svc"])
def test_one_against_one_is_what_we_do(kind):
    X, y = data(kind + OF_THREE)
    ours = machine(kind).fit(X, y)
    theirs = OneVsOneClassifier(machine(kind)).fit(X, y)
    np.testing.assert_allclose(decision(ours, X), decision(theirs, X), atol=TOL.decision)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("kind", SUPERVISED)
def test_bagging(kind):
    X, y = data(kind)
    make = BaggingRegressor if kind in REGRESSORS else BaggingClassifier
    model = make(machine(kind, tol=1e-3), n_estimators=4, random_state=0).fit(X, y)
    score = r2_score if kind in REGRESSORS else accuracy_score
    assert score(y, model.predict(X)) > 0.7
    assert {one.certificate_.status for one in model.estimators_} == {"optimal"}


@pytest.mark.parametrize("kind", SUPERVISED)
def test_several_outputs(kind):
    X, y = data(kind)
    outputs = np.column_stack([y, y[::-1]])
    make = MultiOutputRegressor if kind in REGRESSORS else MultiOutputClassifier
    found = make(machine(kind)).fit(X, outputs).predict(X)
    for column in range(2):
        alone = machine(kind).fit(X, outputs[:, column]).predict(X)
        np.testing.assert_allclose(found[:, column], alone, atol=TOL.decision)


# -- metadata routing --------------------------------------------------------------------------


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.fixture
def weighted(kind, rng):
    X, y = data(kind)
    return X, y, rng.integers(0, 4, len(y)).astype(float)


@pytest.mark.usefixtures("routing")
def test_weights_through_a_pipeline(kind, weighted):
    X, y, weight = weighted
    scaler = StandardScaler().set_fit_request(sample_weight=False)
    pipeline = make_pipeline(scaler, machine(kind).set_fit_request(sample_weight=True))
    pipeline.fit(X, y, sample_weight=weight)
    scaled = StandardScaler().fit_transform(X)
    assert_same_function(pipeline, machine(kind).fit(scaled, y, weight), X, scaled)
    with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
        make_pipeline(scaler, machine(kind)).fit(X, y, sample_weight=weight)


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("kind", SUPERVISED)
def test_weights_through_a_search(kind, weighted):
    X, y, weight = weighted
    name, values = parameter_of(kind)
    cv = KFold(3, shuffle=True, random_state=0)
    model = machine(kind).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
    search = GridSearchCV(model, {name: values}, cv=cv, error_score="raise")
    search.fit(X, y, sample_weight=weight)
    for value, found in zip(values, search.cv_results_["mean_test_score"], strict=True):
        scores = []
        for train, test in cv.split(X):
            alone = machine(kind, **{name: value}).fit(X[train], y[train], weight[train])
            scores.append(alone.score(X[test], y[test], weight[test]))
        assert found == pytest.approx(np.mean(scores), abs=TOL.decision)
    best = machine(kind, **search.best_params_).fit(X, y, weight)
    assert_same_function(search.best_estimator_, best, X)
