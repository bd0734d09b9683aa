"""The model on test rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics

import widestreet as ws
from support.machines import data, machine
from support.pages import Page
from widestreet._src.model_report.new_rows import section
from widestreet._src.model_report.sample import Sample
from widestreet._src.model_report.subject import Subject


def page_of(model, X, y):
    subject = Subject.of(model)
    return Page.of(section(subject, Sample.of(subject, "_test", X, y)).content)


@pytest.mark.parametrize("kind", ["svc", "svr"])
def test_the_score_is_that_of_the_model(kind):
    X, y = data(kind)
    model = machine(kind).fit(X[::2], y[::2])
    page = page_of(model, X[1::2], y[1::2])
    name = "test.accuracy" if kind == "svc" else "test.r2"
    assert page.numbers[name] == pytest.approx(model.score(X[1::2], y[1::2]))
    assert page.numbers["test.rows"] == 60


def test_probabilities_are_those_of_the_model():
    X, y = data("svc")
    model = ws.CalibratedSVC(ws.SVC()).fit(X[::2], y[::2])
    page = page_of(model, X[1::2], y[1::2])
    p = model.predict_proba(X[1::2])
    assert page.numbers["test.calibration.log_loss"] == pytest.approx(metrics.log_loss(y[1::2], p))
    assert page.numbers["test.accuracy"] == model.score(X[1::2], y[1::2])


def test_intervals_are_those_of_the_model():
    X, y = data("svr")
    model = ws.IntervalSVR(ws.SVR()).fit(X[::2], y[::2])
    low, high = model.predict_interval(X[1::2]).T
    page = page_of(model, X[1::2], y[1::2])
    inside = ((low <= y[1::2]) & (y[1::2] <= high)).mean()
    assert page.numbers["test.intervals.inside"] == pytest.approx(inside)
    assert page.numbers["test.intervals.width"] == pytest.approx((high - low).mean())
    assert page.numbers["test.intervals.level"] == 0.9


def test_outliers_with_and_without_labels():
    X, y = data("one_class")
    model = machine("one_class").fit(X[::2])
    outside = (model.predict(X[1::2]) < 0).mean()
    assert page_of(model, X[1::2], None).numbers["test.outside"] == pytest.approx(outside)
    page = page_of(model, X[1::2], y[1::2])
    expected = metrics.accuracy_score(np.sign(y[1::2]), model.predict(X[1::2]))
    assert page.numbers["test.accuracy"] == pytest.approx(expected)
