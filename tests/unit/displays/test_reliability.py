"""Reliability diagrams."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.linear_model import LogisticRegression

figure = pytest.importorskip("matplotlib.figure")

import widestreet as ws  # noqa: E402
from conftest import OF_THREE, TOL  # noqa: E402
from support.machines import data  # noqa: E402
from widestreet._src.displays.reliability import wilson  # noqa: E402
from widestreet.plots import ReliabilityDisplay  # noqa: E402


def axes():
    return figure.Figure().subplots()


@pytest.mark.parametrize("kind", ["svc", "svc" + OF_THREE])
def test_groups_of_equal_size(kind):
    X, y = data(kind)
    model = ws.CalibratedSVC(ws.SVC(n_jobs=1), cv=3).fit(X, y)
    display = ReliabilityDisplay.from_estimator(model, X, y, n_bins=7, ax=axes())
    assert display.counts.sum() == len(y)
    assert np.ptp(display.counts) <= 1
    assert (np.diff(display.probability) >= 0).all()
    found = model.predict_proba(X)
    value = found[:, 1] if kind == "svc" else found.max(axis=1)
    true = y == model.classes_[1] if kind == "svc" else y == model.predict(X)
    np.testing.assert_allclose(
        [display.probability @ display.counts, display.frequency @ display.counts],
        [value.sum(), true.sum()],
        rtol=TOL.twin,
    )
    assert ("predicted class" in display.ax_.get_xlabel()) == (kind != "svc")
    assert display.name == "sigmoid"


def test_several_displays_share_axes():
    X, y = data("svc")
    ax = axes()
    for model in (ws.CalibratedSVC(cv=3), LogisticRegression()):
        display = ReliabilityDisplay.from_estimator(model.fit(X, y), X, y, ax=ax)
    assert display.ax_ is ax
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["sigmoid", "LogisticRegression"]
    diagonals = [line for line in ax.lines if line.get_linestyle() == "--"]
    assert len(diagonals) == 1
    assert display.plot(ax=axes()) is display


def test_intervals_of_frequencies_are_those_of_wilson():
    for hits, n in ((0, 10), (3, 10), (10, 10), (50, 200)):
        low, high = wilson(np.array([hits / n]), np.array([n]))
        expected = binomtest(hits, n).proportion_ci(0.95, method="wilson")
        np.testing.assert_allclose([low[0], high[0]], expected, atol=TOL.twin)


def test_what_cannot_be_drawn_is_named():
    X, y = data("svc")
    with pytest.raises(ValueError, match="no predict_proba"):
        ReliabilityDisplay.from_estimator(ws.SVC().fit(X, y), X, y)
    model = ws.CalibratedSVC(cv=3).fit(X, y)
    with pytest.raises(ValueError, match="y must have a label for each"):
        ReliabilityDisplay.from_estimator(model, X, y[:-1])
    with pytest.raises(ValueError, match="n_bins"):
        ReliabilityDisplay.from_estimator(model, X, y, n_bins=0)
