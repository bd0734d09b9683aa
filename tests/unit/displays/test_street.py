"""Pictures of the street."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

figure = pytest.importorskip("matplotlib.figure")

from conftest import TOL  # noqa: E402
from support.machines import data  # noqa: E402
from widestreet import SVC, SVR  # noqa: E402
from widestreet.datasets import checkerboard  # noqa: E402
from widestreet.plots import (  # noqa: E402
    ConvergenceDisplay,
    StreetDisplay,
    plot_street,
)


@pytest.fixture(scope="module")
def street():
    X, y = checkerboard(400, random_state=0)
    return SVC(gamma=2.0, C=100.0, n_jobs=1).fit(X, y), X, y


def test_what_is_drawn(street):
    model, X, y = street
    ax = plot_street(model, X, y, figure.Figure().subplots(), resolution=40, n_points=100)
    points = [c for c in ax.collections if type(c).__name__ == "PathCollection"]
    shown = [len(c.get_offsets()) for c in points]
    assert sum(shown[:2]) == 100
    assert shown[2] == len(model.support_vectors_)
    assert len(ax.collections) > len(points)  # the street itself
    assert ax.get_xlim() == (X[:, 0].min(), X[:, 0].max())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_of_either_precision_and_lists(street, dtype):
    model, X, y = street
    ax = figure.Figure().subplots()
    assert plot_street(model, X.astype(dtype).tolist(), y.tolist(), ax, resolution=20) is ax


def test_a_new_figure_where_none_is_given(street):
    import matplotlib as mpl
    from matplotlib import pyplot

    mpl.use("agg")
    model, X, y = street
    ax = plot_street(model, X, y, resolution=20)
    pyplot.close(ax.figure)


def test_only_in_the_plane(street, rng):
    model, _, y = street
    for X in (rng.normal(size=(400, 3)), rng.normal(size=400)):
        with pytest.raises(ValueError, match="2 columns"):
            plot_street(model, X, y)


def test_only_two_classes(street):
    _, X, y = street
    with pytest.raises(ValueError, match="two classes"):
        plot_street(SVC().fit(X, np.arange(len(y)) % 3), X, y)


def test_a_display_is_drawn_again(street):
    model, X, y = street
    ax, other = figure.Figure().subplots(1, 2)
    display = StreetDisplay.from_estimator(model, X, y, ax=ax, resolution=20, n_support=7)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert display.plot(ax=other) is display
    assert display.ax_ is other
    assert len(other.collections) == len(ax.collections)
    assert len(display.support_vectors) == 7
    assert sum(map(len, display.points)) == len(X)
    value = model.decision_function([[display.x0[3], display.x1[8]]])
    np.testing.assert_allclose(display.decision[8, 3], value[0])


def test_a_street_needs_a_classifier():
    X, y = data("svr")
    with pytest.raises(ValueError, match="two classes"):
        StreetDisplay.from_estimator(SVR().fit(X[:, :2], y), X[:, :2], y)


@pytest.mark.parametrize("frames", ["pandas", "polars"])
def test_pipelines_and_data_frames(frames):
    library = pytest.importorskip(frames)
    X, y = checkerboard(300, random_state=0)
    X = library.DataFrame({"a": 10.0 * X[:, 0], "b": X[:, 1] - 3.0})
    pipeline = make_pipeline(StandardScaler(), SVC(gamma=2.0)).fit(X, y)
    ax, other = figure.Figure().subplots(1, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of missing names of columns
        street = StreetDisplay.from_estimator(pipeline, X, y, ax=ax, resolution=20)
        assert len(ConvergenceDisplay.from_estimator(pipeline, ax=other).lines_) == 2
    rows = np.asarray(X)
    np.testing.assert_allclose(
        street.support_vectors, rows[pipeline[-1].support_], rtol=0, atol=TOL.twin
    )
    whole = make_pipeline(FunctionTransformer(np.square), SVC(gamma=2.0)).fit(rows, y)
    street = StreetDisplay.from_estimator(whole, rows, y, ax=ax, resolution=20)
    assert street.decision.shape == (20, 20)


def test_rows_of_integers_are_drawn_on_a_fine_grid(street):
    model, X, y = street
    whole = StreetDisplay.from_estimator(
        model, (4 * X).astype(int), y, ax=figure.Figure().subplots(), resolution=30
    )
    corner = np.array([[whole.x0[1], whole.x1[1]]])
    assert not np.array_equal(corner, np.rint(corner))
    np.testing.assert_allclose(
        whole.decision[1, 1], model.decision_function(corner)[0], rtol=0, atol=TOL.twin
    )


def test_models_that_are_sparse_or_not_fitted(street):
    _, X, y = street
    model = SVC(gamma=2.0).fit(sparse.csr_matrix(X), y)
    ax = figure.Figure().subplots()
    display = StreetDisplay.from_estimator(model, X, y, ax=ax, resolution=20, n_support=9)
    assert display.support_vectors.shape == (9, 2)
    with pytest.raises(NotFittedError):
        StreetDisplay.from_estimator(SVC(), X, y)
