"""Leave-one-out for the page: the exact one, or the reason why not."""

from __future__ import annotations

import numpy as np
import pytest

import widestreet as ws
from conftest import OF_THREE, TOL
from support.machines import data, machine
from widestreet._src.model_report.held_out import leave_one_out
from widestreet._src.model_report.sample import Sample
from widestreet._src.model_report.subject import Subject
from widestreet.online import OnlineSVC

LONG = 1e6  # seconds


def found_by(model, X, y, weight=None, max_time=LONG):
    subject = Subject.of(model)
    return leave_one_out(subject, Sample.of(subject, "", X, y, weight), max_time)


@pytest.mark.parametrize("kind", ["svc", "svc" + OF_THREE, "svr", "one_class"])
def test_the_values_are_those_of_leave_one_out(kind):
    X, y = data(kind, 40)
    model = machine(kind).fit(X, y)
    expected = ws.leave_one_out(model, X, y)
    found = found_by(model, X, y).values
    np.testing.assert_allclose(found, expected.reshape(len(y), -1), atol=TOL.decision)


def test_an_online_estimator_is_asked_itself():
    X, y = data("svc", 40)
    model = OnlineSVC(gamma=0.5).fit(X, y).forget([1])
    subject = Subject.of(model)
    found = leave_one_out(subject, Sample.stored(subject), LONG).values
    np.testing.assert_allclose(found[:, 0], model.leave_one_out(), atol=TOL.decision)


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (ws.SVC(loss="squared_hinge"), "linear loss"),
        (ws.SVC(kernel="sigmoid", gamma=0.05), "positive semidefinite"),
        (ws.EnsembleSVC(), "ensemble"),
    ],
)
def test_models_without_a_homotopy(model, reason):
    X, y = data("svc", 40)
    found = found_by(model.fit(X, y), X, y)
    assert found.values is None
    assert reason in found.reason


def test_a_compact_model_is_no_optimum():
    X, y = data("svc", 40)
    assert "compact" in found_by(ws.SVC().fit(X, y).compact(0.5), X, y).reason


def test_a_lone_row_of_a_class():
    X, y = data("svc", 40)
    few = np.flatnonzero((y < 0) | (np.cumsum(y > 0) == 1))
    assert "fewer than two" in found_by(ws.SVC().fit(X[few], y[few]), X[few], y[few]).reason


def test_a_limit_on_the_time():
    X, y = data("svc", 40)
    found = found_by(ws.SVC().fit(X, y), X, y, max_time=1e-9)
    assert found.values is None
    assert "max_time" in found.reason


def test_without_training_rows():
    X, y = data("svc", 40)
    assert "not known" in leave_one_out(Subject.of(ws.SVC().fit(X, y)), None, LONG).reason
