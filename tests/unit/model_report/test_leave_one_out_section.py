"""Leave-one-out on the page: confusion, calibration, errors."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics

import widestreet as ws
from conftest import OF_THREE
from support.machines import data, machine
from support.pages import Page
from widestreet._src.model_report.held_out import leave_one_out
from widestreet._src.model_report.leave_one_out_section import section
from widestreet._src.model_report.sample import Sample
from widestreet._src.model_report.subject import Subject

LONG = 1e6  # seconds


def page_of(model, X, y):
    subject = Subject.of(model)
    train = Sample.of(subject, "", X, y)
    return Page.of(section(subject, train, leave_one_out(subject, train, LONG)).content)


def test_confusions_of_two_classes():
    X, y = data("svc", 60)
    model = ws.SVC().fit(X, y)
    predicted = np.where(ws.leave_one_out(model, X, y) >= 0, model.classes_[1], model.classes_[0])
    page, expected = page_of(model, X, y), metrics.confusion_matrix(y, predicted)
    for i in range(2):
        for j in range(2):
            assert page.numbers[f"leave_one_out.confusion.{i}.{j}"] == expected[i, j]
    assert page.numbers["leave_one_out.accuracy"] == (predicted == y).mean()


def test_probabilities_of_a_calibrated_model_are_its_own():
    X, y = data("svc", 60)
    model = ws.CalibratedSVC(ws.SVC(), cv="loo").fit(X, y)
    page = page_of(model, X, y)
    (sigmoid,) = model.calibrators_
    p = sigmoid(ws.leave_one_out(model.estimator_, X, y))
    loss = metrics.log_loss(y, np.stack([1 - p, p], axis=1))
    assert page.numbers["leave_one_out.calibration.log_loss"] == pytest.approx(loss)
    assert "those of the model" in page.text


def test_several_classes():
    X, y = data("svc" + OF_THREE, 60)
    page = page_of(machine("svc" + OF_THREE, C=1.0).fit(X, y), X, y)
    assert sum(
        value for name, value in page.numbers.items() if ".confusion." in name
    ) == len(y)  # fmt: skip
    assert "leave_one_out.calibration.brier" in page.numbers


def test_errors_of_a_regressor():
    X, y = data("svr", 60)
    model = machine("svr").fit(X, y)
    residual = np.abs(ws.leave_one_out(model, X, y) - y)
    page = page_of(model, X, y)
    assert page.numbers["leave_one_out.mae"] == pytest.approx(residual.mean())
    assert page.numbers["leave_one_out.quantile.0.9"] == pytest.approx(np.quantile(residual, 0.9))


def test_rows_outside_of_their_region():
    X = data("one_class", 60)[0]
    model = machine("one_class").fit(X)
    outside = (ws.leave_one_out(model, X) < 0).mean()
    assert page_of(model, X, None).numbers["leave_one_out.outside"] == outside


def test_a_bound_without_leave_one_out():
    X, y = data("svc", 60)
    model = ws.SVC().fit(X, y)
    subject = Subject.of(model)
    page = Page.of(section(subject, None, leave_one_out(subject, None, LONG)).content)
    assert page.numbers == {"leave_one_out.bound": len(model.support_) / len(y)}
    error = (ws.leave_one_out(model, X, y) * y <= 0).mean()
    assert error <= page.numbers["leave_one_out.bound"]


@pytest.mark.parametrize("model", [ws.NuSVC(nu=0.3), ws.SVC(kernel="sigmoid", gamma=0.01)])
def test_no_bound_for_nu_and_indefinite_kernels(model):
    subject = Subject.of(model.fit(*data("svc", 60)))
    page = Page.of(section(subject, None, leave_one_out(subject, None, LONG)).content)
    assert page.numbers == {}


def test_the_bound_counts_rows_of_positive_weight():
    X, y = data("svc" + OF_THREE, 60)
    weight = 1.0 * (np.arange(60) % 5 > 0)
    model = ws.SVC().fit(X, y, weight)
    subject = Subject.of(model)
    page = Page.of(section(subject, None, leave_one_out(subject, None, LONG)).content)
    assert page.numbers == {"leave_one_out.bound": len(model.support_) / 48}
