"""Bands of prediction intervals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

figure = pytest.importorskip("matplotlib.figure")

import widestreet as ws  # noqa: E402
from conftest import TOL  # noqa: E402
from support.machines import data  # noqa: E402
from widestreet.plots import IntervalDisplay  # noqa: E402


def axes():
    return figure.Figure().subplots()


def test_a_band_over_one_feature():
    X, y = data("svr")
    model = ws.IntervalSVR(ws.SVR(gamma=0.5, n_jobs=1)).fit(X[:, :1], y)
    for rows in (X[:, :1], sparse.csr_matrix(X[:, :1])):
        display = IntervalDisplay.from_estimator(model, rows, y, ax=axes())
        np.testing.assert_array_equal(display.position, np.sort(X[:, 0]))
        order = np.argsort(X[:, 0], kind="stable")
        np.testing.assert_array_equal(display.target, y[order])
        ends = np.stack([display.low, display.high], axis=1)
        np.testing.assert_allclose(ends, model.predict_interval(X[:, :1])[order], atol=TOL.decision)
        inside = (display.low <= display.target) & (display.target <= display.high)
        assert display.coverage_ == inside.mean()
        assert display.label == "interval of 90 %"
    assert display.plot(ax=axes()) is display


def test_rows_with_several_features_are_drawn_by_their_predictions():
    X, y = data("svr")
    model = ws.IntervalSVR(ws.SVR(gamma=0.5, n_jobs=1), confidence_level=0.8).fit(X, y)
    display = IntervalDisplay.from_estimator(model, X, n_points=30, ax=axes())
    assert len(display.position) == 30
    assert (np.diff(display.prediction) >= 0).all()
    assert (display.low <= display.high).all()
    assert display.coverage_ is None
    assert display.ax_.get_xlabel() == "row, by prediction"


def test_what_cannot_be_drawn_is_named():
    X, y = data("svr")
    with pytest.raises(ValueError, match="no predict_interval"):
        IntervalDisplay.from_estimator(ws.SVR().fit(X, y), X)
    with pytest.raises(ValueError, match="y must have a target for each"):
        IntervalDisplay.from_estimator(ws.IntervalSVR().fit(X, y), X, y[:-1])
