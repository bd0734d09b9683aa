"""Plots of fitted models. They need matplotlib: ``pip install "widestreet[plot]"``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_street"]


class _TwoClassModel(Protocol):
    """Attributes of a fitted two-class SVC that are plotted."""

    classes_: npt.NDArray[Any]
    support_vectors_: npt.NDArray[np.floating[Any]]

    def decision_function(self, X: npt.ArrayLike) -> npt.NDArray[np.float64]: ...


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

    The boundary ``f(x) = 0`` is a solid line. The edges of the margin, ``f(x) = -1`` and
    ``f(x) = 1``, are dashed, and the region between them is shaded. Only an evenly spaced subset of
    the rows and of the support vectors is drawn, so that the plot of a million rows is readable.

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
    X, y = np.asarray(X), np.asarray(y)
    if X.ndim != 2 or X.shape[1] != 2:
        raise ValueError(f"plot_street draws in the plane: X must have 2 columns, got {X.shape}.")
    if len(model.classes_) != 2:
        raise ValueError(f"plot_street draws two classes, the model has {len(model.classes_)}.")
    if ax is None:
        from matplotlib import pyplot

        _, ax = pyplot.subplots()

    # 1) the boundary and the margin
    (left, bottom), (right, top) = X.min(axis=0), X.max(axis=0)
    a, b = np.linspace(left, right, resolution), np.linspace(bottom, top, resolution)
    grid = np.stack(np.meshgrid(a, b), axis=-1).reshape(-1, 2).astype(X.dtype)
    f = model.decision_function(grid).reshape(resolution, resolution)
    ax.contourf(a, b, f, levels=[-1, 1], colors=["0.85"])
    styles = ["dashed", "solid", "dashed"]
    ax.contour(a, b, f, levels=[-1, 0, 1], colors="black", linestyles=styles, linewidths=0.8)

    # 2) subsets of the rows and of the support vectors
    some = _spaced(len(X), n_points)
    for label, colour in zip(model.classes_, ("tab:orange", "tab:blue"), strict=True):
        shown = X[some][y[some] == label]
        ax.scatter(shown[:, 0], shown[:, 1], s=4, color=colour, linewidths=0, alpha=0.6)
    support = model.support_vectors_
    a, b = support[_spaced(len(support), n_support)].T
    ax.scatter(a, b, s=18, facecolors="none", edgecolors="black", linewidths=0.5)

    ax.set(xlim=(left, right), ylim=(bottom, top), aspect="equal", title="f(x) = -1, 0, 1")
    return ax


def _spaced(n: int, most: int) -> npt.NDArray[np.intp]:
    """Return at most `most` evenly spaced indices of ``range(n)``."""
    return np.unique(np.linspace(0, max(n - 1, 0), min(n, most)).astype(np.intp))
