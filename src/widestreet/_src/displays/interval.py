"""Prediction intervals as a band."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from widestreet._src import checks
from widestreet._src.displays.axes import Numbers, axes_of, spaced

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class IntervalDisplay:
    """Predictions and prediction intervals of rows, as a band.

    Rows with one feature are drawn over this feature, others in the order of their predictions. Use
    `from_estimator` to create a display.

    Parameters
    ----------
    position : ndarray of shape (n,)
        Place of each row on the axis, ascending.
    prediction, low, high : ndarray of shape (n,)
        Prediction, and ends of the interval.
    target : ndarray of shape (n,) or None, default=None
        Targets to draw as points.
    label : str, default="interval"
        Label of the band.
    axis : str, default="row, by prediction"
        Name of the axis.

    Attributes
    ----------
    coverage_ : float or None
        Part of the targets that lie in their interval.
    ax_ : matplotlib.axes.Axes
    figure_ : matplotlib.figure.Figure

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> import widestreet as ws
    >>> from widestreet.datasets import friedman
    >>> from widestreet.plots import IntervalDisplay
    >>> X, y = friedman(400, random_state=0)
    >>> model = ws.IntervalSVR().fit(X[:200], y[:200])
    >>> ax = Figure().subplots()
    >>> display = IntervalDisplay.from_estimator(model, X[200:], y[200:], ax=ax)
    >>> bool(display.coverage_ > 0.8)
    True
    """

    ax_: Axes
    figure_: Figure
    coverage_: float | None

    def __init__(
        self,
        *,
        position: Numbers,
        prediction: Numbers,
        low: Numbers,
        high: Numbers,
        target: Numbers | None = None,
        label: str = "interval",
        axis: str = "row, by prediction",
    ) -> None:
        self.position = position
        self.prediction = prediction
        self.low = low
        self.high = high
        self.target = target
        self.label = label
        self.axis = axis

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        n_points: int = 500,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the intervals of a fitted regressor with `predict_interval`.

        Parameters
        ----------
        estimator : IntervalSVR or another regressor with `predict_interval`
        X : array-like or sparse matrix of shape (n, features)
            Rows to draw.
        y : array-like of shape (n,), default=None
            Their targets.
        n_points : int, default=500
            Largest number of rows to draw; of more, an evenly spaced subset is drawn.
        ax : matplotlib.axes.Axes or None, default=None
            Axes to draw on; None makes a new figure.

        Returns
        -------
        IntervalDisplay
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "predict_interval"):
            given = checks.shown(estimator)
            raise ValueError(f"{given} has no predict_interval: pass a fitted IntervalSVR")
        prediction, ends = estimator.predict(X), estimator.predict_interval(X)
        target = None if y is None else np.asarray(y, dtype=np.float64).ravel()
        if target is not None and len(target) != len(prediction):
            raise ValueError(f"y must have a target for each of the {len(prediction)} rows of X")
        names = getattr(estimator, "feature_names_in_", ["x"])
        single = estimator.n_features_in_ == 1
        place = prediction
        if single:
            place = np.asarray(X.toarray() if issparse(X) else X, dtype=np.float64).ravel()
        order = np.argsort(place, kind="stable")
        some = order[spaced(len(order), n_points)]
        level = getattr(estimator, "confidence_level", None)
        display = cls(
            position=place[some] if single else np.arange(len(some), dtype=np.float64),
            prediction=prediction[some],
            low=ends[some, 0],
            high=ends[some, 1],
            target=None if target is None else target[some],
            label="interval" if level is None else f"interval of {100 * level:g} %",
            axis=str(names[0]) if single else "row, by prediction",
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
        IntervalDisplay
            The display itself.
        """
        ax = axes_of(ax)
        ax.fill_between(self.position, self.low, self.high, alpha=0.3, label=self.label)
        ax.plot(self.position, self.prediction, label="prediction")
        self.coverage_ = None
        if self.target is not None:
            inside = (self.low <= self.target) & (self.target <= self.high)
            self.coverage_ = float(inside.mean())
            ax.plot(self.position, self.target, ".", color="0.4", markersize=3, label="target")
            ax.set_title(f"{100 * self.coverage_:.0f} % of the targets are in the band")
        ax.set(xlabel=self.axis, ylabel="target")
        ax.legend()
        self.ax_, self.figure_ = ax, cast("Figure", ax.figure)
        return self
