"""Rows with their labels, evaluated."""

from __future__ import annotations

import numpy as np
import pytest

import widestreet as ws
from conftest import OF_THREE
from support.machines import data
from widestreet._src.model_report.sample import Sample, margins
from widestreet._src.model_report.subject import Subject
from widestreet._src.problems.class_pairs import PairLayout
from widestreet.online import OnlineSVC


@pytest.mark.parametrize("kind", ["svc", "svc" + OF_THREE])
def test_predictions_and_margins(kind):
    X, y = data(kind)
    model = ws.SVC(C=0.1).fit(X, y)
    subject = Subject.of(model)
    sample = Sample.of(subject, "", X, y)
    np.testing.assert_array_equal(model.classes_[sample.predicted(subject)], model.predict(X))
    right = model.predict(X) == y
    assert (right[sample.margin(subject) > 0]).all()
    if kind == "svc":
        assert (right == (sample.margin(subject) > 0)).all()


def test_rows_of_no_weight_are_left_out():
    X, y = data("svr")
    weight = np.arange(len(y)) % 2.0
    subject = Subject.of(ws.SVR().fit(X, y, weight))
    sample = Sample.of(subject, "", X, y, weight)
    assert sample.n == len(y) // 2
    np.testing.assert_array_equal(sample.index, np.flatnonzero(weight))
    np.testing.assert_array_equal(sample.target, y[sample.index])


def test_rows_of_an_online_estimator_have_their_ids():
    X, y = data("svc")
    model = OnlineSVC().fit(X, y).forget([2, 5]).partial_fit(X[:3], y[:3])
    sample = Sample.stored(Subject.of(model))
    np.testing.assert_array_equal(sample.index, model.ids_)
    np.testing.assert_array_equal(
        model.classes_[sample.target], np.concatenate([np.delete(y, [2, 5]), y[:3]])
    )


def test_what_is_wrong_with_labels():
    X, y = data("svc")
    subject = Subject.of(ws.SVC().fit(X, y))
    with pytest.raises(ValueError, match="y_test is missing"):
        Sample.of(subject, "_test", X, None)
    with pytest.raises(ValueError, match="y_test has the label 7"):
        Sample.of(subject, "_test", X, np.full(len(y), 7))
    with pytest.raises(ValueError, match="y has the label a"):
        Sample.of(subject, "", X, np.full(len(y), "a"))
    with pytest.raises(ValueError, match="inconsistent"):
        Sample.of(subject, "", X, y[:-1])


def test_the_margin_of_a_row_is_that_of_its_worst_pair():
    three = PairLayout(3)  # pairs 01, 02, 12; positive for the first class
    decision = np.array([[2.0, 3.0, -9.0]] * 3)
    np.testing.assert_array_equal(margins(three, decision, np.arange(3)), [2.0, -9.0, -3.0])
    two = margins(PairLayout(2), np.array([[2.0], [2.0]]), np.array([0, 1]))
    np.testing.assert_array_equal(two, [-2.0, 2.0])
