"""The decision boundary and the margin of a two-class SVC in the plane."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, Self, cast

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from widestreet._src.displays.axes import Numbers, axes_of, spaced

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class _TwoClassModel(Protocol):
    """Attributes of a fitted two-class SVC, or of a pipeline that ends with one."""

    classes_: npt.NDArray[Any]

    def decision_function(self, X: Any) -> npt.NDArray[np.float64]: ...


class StreetDisplay:
    """Decision boundary and margin (the street) of a two-class SVC in the plane.

    The boundary ``f(x) = 0`` is a solid line. The edges of the margin, ``f(x) = -1`` and
    ``f(x) = 1``, are dashed, and the region between them is shaded. Use `from_estimator` to create
    a display.

    Parameters
    ----------
    x0, x1 : ndarray of shape (resolution,)
        Grid of the first and of the second feature.
    decision : ndarray of shape (resolution, resolution)
        Decision values; ``decision[i, j]`` is that of ``(x0[j], x1[i])``.
    points : list of ndarray of shape (n, 2)
        Rows of each class to draw.
    support_vectors : ndarray of shape (n, 2)
        Support vectors to mark by circles.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
    figure_ : matplotlib.figure.Figure

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from widestreet import SVC
    >>> from widestreet.datasets import checkerboard
    >>> from widestreet.plots import StreetDisplay
    >>> X, y = checkerboard(500, random_state=0)
    >>> model = SVC(gamma=2.0, C=100.0).fit(X, y)
    >>> ax = Figure().subplots()
    >>> display = StreetDisplay.from_estimator(model, X, y, ax=ax, resolution=50)
    >>> display.ax_ is ax
    True
    """

    ax_: Axes
    figure_: Figure

    def __init__(
        self,
        *,
        x0: Numbers,
        x1: Numbers,
        decision: Numbers,
        points: list[Numbers],
        support_vectors: Numbers,
    ) -> None:
        self.x0 = x0
        self.x1 = x1
        self.decision = decision
        self.points = points
        self.support_vectors = support_vectors

    @classmethod
    def from_estimator(
        cls,
        estimator: _TwoClassModel,
        X: npt.ArrayLike,
        y: npt.ArrayLike,
        *,
        ax: Axes | None = None,
        n_points: int = 2000,
        n_support: int = 500,
        resolution: int = 300,
    ) -> Self:
        """Draw the decision boundary of a fitted model.

        Only an evenly spaced subset of the rows and of the support vectors is drawn, so that the
        plot of a million rows is readable.

        Parameters
        ----------
        estimator : SVC or Pipeline
            Model fitted on two classes and two features. Of a pipeline, support vectors are drawn
            if its other steps have `inverse_transform`.
        X : array-like or data frame of shape (n, 2)
            Rows to draw; they also set the limits of the axes.
        y : array-like of shape (n,)
            Labels of the rows.
        ax : matplotlib.axes.Axes or None, default=None
            Axes to draw on; None makes a new figure.
        n_points : int, default=2000
            Largest number of rows to draw.
        n_support : int, default=500
            Largest number of support vectors to mark by circles.
        resolution : int, default=300
            Grid points per axis at which the decision function is evaluated.

        Returns
        -------
        StreetDisplay
        """
        check_is_fitted(estimator)
        given, X, y = X, np.asarray(X), np.asarray(y)
        if X.ndim != 2 or X.shape[1] != 2:
            raise ValueError(
                f"the street is drawn in the plane: X must have 2 columns, got {X.shape}"
            )
        if len(getattr(estimator, "classes_", ())) != 2:
            raise ValueError(
                f"the street lies between two classes: {estimator!r} must be a classifier that was "
                "fitted on two"
            )
        (left, bottom), (right, top) = X.min(axis=0), X.max(axis=0)
        x0, x1 = np.linspace(left, right, resolution), np.linspace(bottom, top, resolution)
        grid = np.stack(np.meshgrid(x0, x1), axis=-1).reshape(-1, 2)
        grid = grid.astype(np.float32 if X.dtype == np.float32 else np.float64)
        some = spaced(len(X), n_points)
        support = _support_vectors(estimator)
        display = cls(
            x0=x0,
            x1=x1,
            decision=estimator.decision_function(_like(given, grid)).reshape(x1.size, x0.size),
            points=[X[some][y[some] == label] for label in estimator.classes_],
            support_vectors=support[spaced(len(support), n_support)],
        )
        return display.plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or None, default=None
            Axes to draw on; None makes a new figure.

        Returns
        -------
        StreetDisplay
            The display itself.
        """
        ax = axes_of(ax)
        ax.contourf(self.x0, self.x1, self.decision, levels=[-1, 1], colors=["0.85"])
        ax.contour(
            self.x0,
            self.x1,
            self.decision,
            levels=[-1, 0, 1],
            colors="black",
            linestyles=["dashed", "solid", "dashed"],
            linewidths=0.8,
        )
        for shown, colour in zip(self.points, ("tab:orange", "tab:blue"), strict=True):
            ax.scatter(shown[:, 0], shown[:, 1], s=4, color=colour, linewidths=0, alpha=0.6)
        a, b = self.support_vectors.T
        ax.scatter(a, b, s=18, facecolors="none", edgecolors="black", linewidths=0.5)
        limits = {"xlim": (self.x0[0], self.x0[-1]), "ylim": (self.x1[0], self.x1[-1])}
        ax.set(**limits, aspect="equal", title="f(x) = -1, 0, 1")
        self.ax_, self.figure_ = ax, cast("Figure", ax.figure)
        return self


def plot_street(
    model: _TwoClassModel,
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    ax: Axes | None = None,
    *,
    n_points: int = 2000,
    n_support: int = 500,
    resolution: int = 300,
) -> Axes:
    """Draw the decision boundary and the margin (the street) of a two-class SVC in the plane.

    Shorthand for `StreetDisplay.from_estimator`, which returns the display instead of the axes.

    Parameters
    ----------
    model : SVC
        Model fitted on two classes and two features.
    X : array-like of shape (n, 2)
        Rows to draw; they also set the limits of the axes.
    y : array-like of shape (n,)
        Labels of the rows.
    ax : matplotlib.axes.Axes or None, default=None
        Axes to draw on; None makes a new figure.
    n_points : int, default=2000
        Largest number of rows to draw.
    n_support : int, default=500
        Largest number of support vectors to mark by circles.
    resolution : int, default=300
        Grid points per axis at which the decision function is evaluated.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from widestreet import SVC
    >>> from widestreet.datasets import checkerboard
    >>> from widestreet.plots import plot_street
    >>> X, y = checkerboard(500, random_state=0)
    >>> model = SVC(gamma=2.0, C=100.0).fit(X, y)
    >>> ax = plot_street(model, X, y, Figure().subplots(), resolution=50)
    >>> ax.get_title()
    'f(x) = -1, 0, 1'
    """
    return StreetDisplay.from_estimator(
        model, X, y, ax=ax, n_points=n_points, n_support=n_support, resolution=resolution
    ).ax_


def _support_vectors(estimator: Any) -> Numbers:
    """Return the support vectors in the plane of X; none if they cannot be transformed back."""
    steps = None
    if isinstance(estimator, Pipeline):
        steps, estimator = estimator[:-1], estimator[-1]
    found = estimator.support_vectors_
    found = np.asarray(found.toarray() if issparse(found) else found)
    if not steps:
        return found
    back = getattr(steps, "inverse_transform", None)
    return np.empty((0, 2)) if back is None else np.asarray(back(found))


def _like(given: Any, grid: Numbers) -> Any:
    """Return points as a data frame with the columns of `given`, if it is one."""
    columns = getattr(given, "columns", None)
    if columns is None:
        return grid
    name = "columns" if hasattr(given, "iloc") else "schema"  # pandas and polars
    return type(given)(grid, **{name: list(columns)})
