"""Scores of a search over its parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from widestreet._src import checks
from widestreet._src.displays.axes import Numbers, axes_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_USUAL = ("gamma", "C", "epsilon", "nu")  # parameters for the axes, by preference


class SearchDisplay:
    """Mean scores of the points of a search over two parameters, or over one.

    Points are coloured by their score. The best one has a ring. The range of the parameters is
    framed by a dashed line; a side on which the best point lies is red: values beyond it may be
    better. Use `from_estimator` to create a display.

    Parameters
    ----------
    names : tuple of str
        Names of the parameters of the axes, one or two.
    points : ndarray of shape (n, len(names))
        Their values. Of points that differ in other parameters only, the best is drawn.
    scores : ndarray of shape (n,)
        Mean score of each point.
    score_name : str, default="mean test score"
        Name of the score.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
    figure_ : matplotlib.figure.Figure
    edges_ : list of str
        Parameters whose best value is at an end of their range.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from widestreet import SVC
    >>> from widestreet.datasets import checkerboard
    >>> from widestreet.model_selection import GridSearchCV
    >>> from widestreet.plots import SearchDisplay
    >>> X, y = checkerboard(500, random_state=0)
    >>> grid = {"C": [1, 10, 100], "gamma": [0.5, 2.0, 8.0]}
    >>> search = GridSearchCV(SVC(), grid, cv=3).fit(X, y)
    >>> display = SearchDisplay.from_estimator(search, ax=Figure().subplots())
    >>> display.edges_
    ['C']
    """

    ax_: Axes
    figure_: Figure
    edges_: list[str]

    def __init__(
        self,
        *,
        names: tuple[str, ...],
        points: Numbers,
        scores: Numbers,
        score_name: str = "mean test score",
    ) -> None:
        self.names = names
        self.points = points
        self.scores = scores
        self.score_name = score_name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        names: tuple[str, ...] | None = None,
        metric: str = "score",
        ax: Axes | None = None,
    ) -> Self:
        """Draw the scores of a search.

        Parameters
        ----------
        estimator : GridSearchCV, SVCCV, SVRCV or another search of scikit-learn
            Fitted search with the attribute `cv_results_`.
        names : tuple of str, default=None
            One or two parameters with numeric values for the axes; by default gamma and C, or what
            else varies.
        metric : str, default="score"
            Name of the metric, if the search has several.
        ax : matplotlib.axes.Axes or None, default=None
            Axes to draw on; None makes a new figure.

        Returns
        -------
        SearchDisplay
        """
        results = getattr(estimator, "cv_results_", None)
        if results is None:
            given = checks.shown(estimator)
            raise ValueError(f"{given} has no cv_results_: it is no fitted search")
        if f"mean_test_{metric}" not in results:
            known = [name[10:] for name in results if name.startswith("mean_test_")]
            raise ValueError(f"metric must be one of {', '.join(known)}, got {metric!r}")
        varying = {
            name.removeprefix("param_"): values
            for name, values in results.items()
            if name.startswith("param_") and _varies(values)
        }
        if names is None:
            order = sorted(varying, key=_preference)
            names = tuple(order[:2])
        if not 1 <= len(names) <= 2 or not set(names) <= set(varying):
            raise ValueError(
                f"names must be one or two of {', '.join(varying) or 'no parameters'}, which have "
                f"several numeric values, got {names!r}"
            )
        points = np.stack([_numbers(varying[name]) for name in names], axis=1)
        mean = np.asarray(results[f"mean_test_{metric}"], dtype=np.float64)
        there = np.isfinite(points).all(axis=1) & np.isfinite(mean)
        display = cls(names=names, points=points[there], scores=mean[there])
        return display.plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or None, default=None
            Axes to draw on; None makes a new figure.

        Returns
        -------
        SearchDisplay
            The display itself.
        """
        ax = axes_of(ax)
        order = np.argsort(self.scores, kind="stable")  # the best of equal points comes last
        points, scores = self.points[order], self.scores[order]
        ties = points[scores == scores[-1]]
        best = ties[np.lexsort(ties.T)[0]]  # the smallest, by the last parameter first
        if len(self.names) == 2:
            a, b = points.T
            drawn = ax.scatter(a, b, c=scores, s=30, marker="s", linewidths=0)
            ax.figure.colorbar(drawn, ax=ax, label=self.score_name)
            ax.scatter(
                best[:1], best[1:], s=140, facecolors="none", edgecolors="black", linewidths=1.5
            )
        else:
            values, place = np.unique(points[:, 0], return_inverse=True)
            top = np.full(len(values), -np.inf)
            np.maximum.at(top, place, scores)
            ax.plot(values, top, marker="s", linewidth=0.8)
            ax.plot(best, scores[-1:], marker="o", markersize=14, color="black", fillstyle="none")
        self.edges_ = []
        for name, draw, values, value in zip(
            self.names, (ax.axvline, ax.axhline), points.T, best, strict=False
        ):
            for end in (values.min(), values.max()):
                here = bool(value == end)
                colour = "tab:red" if here else "0.6"
                draw(end, color=colour, linestyle="dashed", linewidth=1.6 if here else 0.8)
                if here and name not in self.edges_:
                    self.edges_.append(name)
        labels = (*self.names, self.score_name)[:2]
        scales = ["log" if (v > 0).all() else "linear" for v in points.T]
        ax.set(xlabel=labels[0], ylabel=labels[1], xscale=scales[0])
        if len(self.names) == 2:
            ax.set_yscale(scales[1])
        self.ax_, self.figure_ = ax, cast("Figure", ax.figure)
        return self


def _preference(name: str) -> tuple[int, str]:
    """Return the place of a parameter among the candidates for the axes."""
    last = name.rsplit("__", 1)[-1]
    return (_USUAL.index(last) if last in _USUAL else len(_USUAL)), name


def _varies(values: Any) -> bool:
    """Return whether a parameter has several numeric values."""
    numbers = _numbers(values)
    return len(np.unique(numbers[np.isfinite(numbers)])) > 1


def _numbers(values: Any) -> Numbers:
    """Return the values of a parameter as numbers; nan for others, such as "scale"."""
    found = np.full(len(values), np.nan)
    for k, value in enumerate(np.ma.filled(np.ma.asarray(values, dtype=object), None)):
        if isinstance(value, int | float | np.number) and not isinstance(value, bool):
            found[k] = float(value)
    return found
