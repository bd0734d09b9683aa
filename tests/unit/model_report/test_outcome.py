"""Tables and pictures of results: the figures are those of scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics

import widestreet as ws
from conftest import OF_THREE
from support.machines import data, machine
from support.pages import Page
from widestreet._src.model_report.outcome import (
    confusion,
    histogram,
    regression,
    reliability,
    spaced,
    tube,
)
from widestreet._src.model_report.sample import Sample
from widestreet._src.model_report.subject import Subject


def test_confusions():
    rng = np.random.default_rng(0)
    true, found = rng.integers(0, 3, 50), rng.integers(0, 3, 50)
    page = Page.of(confusion("t", ["a", "<b>", "c"], true, found, np.ones(50)))
    expected = metrics.confusion_matrix(true, found)
    for i in range(3):
        for j in range(3):
            assert page.numbers[f"t.confusion.{i}.{j}"] == expected[i, j]
    assert page.numbers["t.accuracy"] == metrics.accuracy_score(true, found)
    recall = metrics.recall_score(true, found, average=None)
    assert [page.numbers[f"t.recall.{i}"] for i in range(3)] == pytest.approx(recall.tolist())
    assert "<b>" in page.text


def test_a_class_without_rows():
    page = Page.of(confusion("t", ["a", "b"], np.zeros(3, int), np.zeros(3, int), np.ones(3)))
    assert "no rows" in page.text


def test_weights_count():
    true, found = np.array([0, 1]), np.array([0, 0])
    page = Page.of(confusion("t", [0, 1], true, found, np.array([3.0, 0.5])))
    assert page.numbers["t.accuracy"] == 3.0 / 3.5
    assert page.numbers["t.confusion.1.0"] == 0.5


def test_probabilities_of_two_classes():
    rng = np.random.default_rng(1)
    p, true = rng.uniform(0.01, 0.99, 200), rng.integers(0, 2, 200)
    page = Page.of(reliability("c", np.stack([1 - p, p], axis=1), true, np.ones(200), "it is 1"))
    assert page.numbers["c.brier"] == pytest.approx(metrics.brier_score_loss(true, p))
    assert page.numbers["c.log_loss"] == pytest.approx(metrics.log_loss(true, p))
    rows = [value for name, value in page.numbers.items() if name.endswith(".rows")]
    assert sum(rows) == 200
    inside = (p >= 0.3) & (p < 0.4)
    assert page.numbers["c.bins.3.observed"] == pytest.approx(true[inside].mean())


def test_probabilities_of_several_classes():
    p = np.array([[0.7, 0.2, 0.1], [0.1, 0.5, 0.4]])
    page = Page.of(reliability("c", p, np.array([0, 2]), np.ones(2), ""))
    assert "the most probable class is right" in page.text
    assert page.numbers["c.bins.7.observed"] == 1.0
    assert page.numbers["c.bins.5.observed"] == 0.0


def test_errors_of_a_regression():
    rng = np.random.default_rng(2)
    target, value, weight = rng.normal(size=40), rng.normal(size=40), rng.uniform(1, 2, 40)
    page = Page.of(regression("r", target, value, weight, 0.5))
    given = {"sample_weight": weight}
    expected = {
        "r.r2": metrics.r2_score(target, value, **given),
        "r.rmse": metrics.root_mean_squared_error(target, value, **given),
        "r.mae": metrics.mean_absolute_error(target, value, **given),
        "r.largest": np.abs(target - value).max(),
        "r.inside": np.average(np.abs(target - value) <= 0.5, weights=weight),
    }
    assert page.numbers == pytest.approx(expected)


@pytest.mark.parametrize("kind", ["svc", "svc" + OF_THREE, "svr", "nu_svr", "one_class"])
def test_histograms_count_all_rows(kind):
    X, y = data(kind)
    subject = Subject.of(machine(kind).fit(X, y))
    sample = Sample.of(subject, "", X, y)
    page = Page.of(histogram("h", subject, sample, sample.values, "title"))
    rows = [value for name, value in page.numbers.items() if name.endswith(".rows")]
    assert sum(rows) == len(y)


def test_the_tube_of_both_regressors():
    X, y = data("svr")
    assert tube(Subject.of(ws.SVR(epsilon=0.3).fit(X, y))) == 0.3
    model = ws.NuSVR().fit(X, y)
    assert tube(Subject.of(model)) == model.epsilon_


def test_spaced_indices():
    np.testing.assert_array_equal(spaced(3, 10), [0, 1, 2])
    assert len(spaced(1000, 10)) == 10
