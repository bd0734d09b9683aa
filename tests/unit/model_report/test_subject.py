"""The SVM is found inside pipelines, searches and wrappers."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.svm
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import widestreet as ws
from conftest import OF_THREE
from support.machines import data, machine
from widestreet._src.model_report.subject import Subject
from widestreet.model_selection import GridSearchCV
from widestreet.online import OnlineSVC


def test_an_estimator_itself():
    X, y = data("svc")
    model = ws.SVC(C=3.0).fit(X, y)
    found = Subject.of(model)
    assert found.machine is model
    assert found.certificates == model.certificates_
    assert dict(found.parameters()) == {"C": 3.0}
    assert found.problems == [""]


def test_a_search_over_a_pipeline():
    X, y = data("svc")
    search = GridSearchCV(make_pipeline(StandardScaler(), ws.SVC()), {"svc__C": [1.0, 2.0]}).fit(
        X, y
    )
    found = Subject.of(search)
    assert found.search is search
    assert found.machine is search.best_estimator_[-1]
    np.testing.assert_array_equal(
        found.decisions(found.rows(X))[:, 0], search.best_estimator_.decision_function(X)
    )


def test_a_search_without_a_model_is_refused():
    X, y = data("svc")
    search = GridSearchCV(ws.SVC(), {"C": [1.0, 2.0]}, refit=False).fit(X, y)
    with pytest.raises(ValueError, match="refit"):
        Subject.of(search)


@pytest.mark.filterwarnings("ignore:the best value of")
def test_wrappers_and_searches_of_this_package():
    X, y = data("svc")
    model = ws.CalibratedSVC(ws.SVC()).fit(X, y)
    assert Subject.of(model).wrapper is model
    tuned = ws.SVCCV(Cs=[1.0], gammas=[0.1, 0.5]).fit(X, y)
    assert Subject.of(tuned).machine is tuned.best_estimator_
    both = ws.CalibratedSVC(ws.SVCCV(Cs=[1.0], gammas=[0.1, 0.5])).fit(X, y)
    found = Subject.of(both)
    assert found.wrapper is both
    assert isinstance(found.machine, ws.SVC)


@pytest.mark.parametrize(
    ("kind", "task"), [("svc", "classes"), ("svr", "targets"), ("one_class", "outliers")]
)
def test_the_task(kind, task):
    X, y = data(kind)
    assert Subject.of(machine(kind).fit(X, y)).task == task


def test_several_classes_have_names_for_their_pairs():
    X, y = data("svc" + OF_THREE)
    found = Subject.of(ws.SVC().fit(X, y))
    assert found.problems == ["0 against 1", "0 against 2", "1 against 2"]
    assert found.coefficients.shape == (3, len(found.machine.support_))


def test_models_of_scikit_learn_have_no_certificate():
    X, y = data("svc")
    assert Subject.of(sklearn.svm.SVC().fit(X, y)).certificates == []


def test_online_estimators_hold_their_rows():
    X, y = data("svc")
    assert Subject.of(OnlineSVC().fit(X, y)).online


def test_what_is_not_fitted_is_refused():
    with pytest.raises(NotFittedError):
        Subject.of(ws.SVC())
