"""Pictures of the convergence of a fit."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import svm
from sklearn.exceptions import NotFittedError

figure = pytest.importorskip("matplotlib.figure")

from support.machines import data, machine  # noqa: E402
from widestreet import SVC  # noqa: E402
from widestreet.datasets import checkerboard  # noqa: E402
from widestreet.io import from_sklearn  # noqa: E402
from widestreet.plots import (  # noqa: E402
    ConvergenceDisplay,
)


@pytest.fixture(scope="module")
def street():
    X, y = checkerboard(400, random_state=0)
    return SVC(gamma=2.0, C=100.0, n_jobs=1).fit(X, y), X, y


@pytest.mark.parametrize("kind", ["svc", "svr", "svc of three"])
def test_convergence_of_every_problem(kind, by_rounds):
    X, y = data(kind)
    model = machine(kind).fit(X, y)
    ax = figure.Figure().subplots()
    display = ConvergenceDisplay.from_estimator(model, ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert ax.get_yscale() == "log"
    assert len(display.lines_) == 2 * len(model.certificates_)
    assert sum(map(len, display.seconds)) == len(model.trace_)
    assert display.tol == model.tol
    first = display.lines_[0].get_ydata()
    np.testing.assert_array_equal(first, np.where(first > 0, display.violation[0], np.nan))
    again = display.plot(ax=figure.Figure().subplots())
    assert again is display
    assert display.ax_ is not ax


def test_convergence_needs_a_trace(street):
    model, *_ = street
    with pytest.raises(NotFittedError):
        ConvergenceDisplay.from_estimator(SVC())
    _, X, y = street
    other = svm.SVC().fit(X, y)
    with pytest.raises(ValueError, match="no estimator of widestreet"):
        ConvergenceDisplay.from_estimator(other)
    with pytest.raises(ValueError, match="trace_ is empty"):
        ConvergenceDisplay.from_estimator(from_sklearn(other))
    display = ConvergenceDisplay.from_estimator(model, ax=figure.Figure().subplots())
    assert display.certified == [(model.certificate_.kkt_violation, model.certificate_.gap)]
