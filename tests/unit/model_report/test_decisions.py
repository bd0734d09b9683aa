"""Decision values of training rows or of support vectors."""

from __future__ import annotations

import numpy as np
import pytest

import widestreet as ws
from conftest import OF_THREE
from support.machines import data, machine
from support.pages import Page
from widestreet._src.model_report.decisions import section, support_vectors
from widestreet._src.model_report.sample import Sample
from widestreet._src.model_report.subject import Subject
from widestreet.online import OnlineSVC


@pytest.mark.parametrize("kind", ["svc", "svc" + OF_THREE, "one_class"])
def test_the_support_vectors_take_the_place_of_unknown_rows(kind):
    X, y = data(kind)
    model = machine(kind).fit(X, y)
    subject = Subject.of(model)
    vectors = support_vectors(subject)
    np.testing.assert_array_equal(vectors.index, model.support_)
    if kind != "one_class":
        np.testing.assert_array_equal(model.classes_[vectors.target], y[model.support_])
    page = Page.of(section(subject, None, vectors).content)
    assert "shows the support vectors" in page.text


def test_training_rows_are_shown_where_they_are_known():
    X, y = data("svc")
    model = ws.SVC().fit(X, y)
    subject = Subject.of(model)
    page = Page.of(section(subject, Sample.of(subject, "", X, y), support_vectors(subject)).content)
    for k, label in enumerate(model.classes_):
        values = model.decision_function(X[y == label])
        assert page.numbers[f"decisions.{k}.rows"] == len(values)
        assert page.numbers[f"decisions.{k}.largest"] == values.max()
        assert page.numbers[f"decisions.{k}.inside"] == (np.abs(values) < 1.0).mean()


def test_regressors_need_their_targets():
    X, y = data("svr")
    subject = Subject.of(ws.SVR().fit(X, y))
    assert support_vectors(subject) is None
    assert "not known" in Page.of(section(subject, None, None).content).text


def test_rows_of_an_online_estimator_are_named_by_their_ids():
    X, y = data("svc")
    model = OnlineSVC().fit(X, y).forget([0, 1, 2])
    index = support_vectors(Subject.of(model)).index
    np.testing.assert_array_equal(index, model.ids_[model.support_])


def test_kernels_without_vectors():
    X, y = data("svc")
    model = ws.SVC(kernel="precomputed").fit(X @ X.T, y)
    assert support_vectors(Subject.of(model)) is None
