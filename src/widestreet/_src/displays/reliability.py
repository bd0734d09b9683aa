"""Plot of observed frequencies over predicted probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri
from sklearn.utils.validation import check_is_fitted

from widestreet._src import checks
from widestreet._src.displays.axes import Numbers, axes_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LEVEL = 0.95  # of the intervals of frequencies


class ReliabilityDisplay:
    """Reliability diagram: observed frequencies over predicted probabilities.

    Rows are sorted by their probability and divided into groups of equal size. A point is a group;
    its bar is the Wilson interval of 95 % of the frequency. Points of a calibrated model lie on the
    diagonal. Use `from_estimator` to create a display.

    Parameters
    ----------
    probability, frequency : ndarray of shape (n_bins,)
        Mean probability and observed frequency of each group.
    counts : ndarray of shape (n_bins,)
        Number of rows of each group.
    event : str
        What the probability is of.
    name : str or None, default=None
        Label of the curve.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
    figure_ : matplotlib.figure.Figure

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> import widestreet as ws
    >>> from widestreet.datasets import twonorm
    >>> from widestreet.plots import ReliabilityDisplay
    >>> X, y = twonorm(200, random_state=0)
    >>> X_test, y_test = twonorm(1000, random_state=1)
    >>> model = ws.CalibratedSVC().fit(X, y)
    >>> ax = Figure().subplots()
    >>> display = ReliabilityDisplay.from_estimator(model, X_test, y_test, ax=ax)
    >>> display.counts.sum()
    np.int64(1000)
    """

    ax_: Axes
    figure_: Figure

    def __init__(
        self,
        *,
        probability: Numbers,
        frequency: Numbers,
        counts: npt.NDArray[np.integer[Any]],
        event: str,
        name: str | None = None,
    ) -> None:
        self.probability = probability
        self.frequency = frequency
        self.counts = counts
        self.event = event
        self.name = name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        n_bins: int = 10,
        name: str | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the reliability diagram of a fitted classifier with `predict_proba`.

        Parameters
        ----------
        estimator : CalibratedSVC or another classifier with `predict_proba`
        X : array-like or sparse matrix of shape (n, features)
            Rows that were not used for training.
        y : array-like of shape (n,)
            Their labels.
        n_bins : int, default=10
            Number of groups of rows.
        name : str or None, default=None
            Label of the curve; None is the method of a `CalibratedSVC`, or the class.
        ax : matplotlib.axes.Axes or None, default=None
            Axes to draw on; None makes a new figure.

        Returns
        -------
        ReliabilityDisplay
            Of two classes, the probability is that of the second class; of several, that of the
            predicted class.
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "predict_proba"):
            given = checks.shown(estimator)
            raise ValueError(f"{given} has no predict_proba: pass a fitted CalibratedSVC")
        checks.require_integer("n_bins", n_bins, least=1)
        found, classes = estimator.predict_proba(X), estimator.classes_
        top = np.ones(len(found), dtype=int) if len(classes) == 2 else found.argmax(axis=1)
        value = found[np.arange(len(found)), top]
        labels = np.asarray(y).ravel()
        if len(labels) != len(value):
            raise ValueError(f"y must have a label for each of the {len(value)} rows of X")
        true = labels == classes[top]
        groups = np.array_split(np.argsort(value, kind="stable"), min(n_bins, len(value)))
        display = cls(
            probability=np.array([value[rows].mean() for rows in groups]),
            frequency=np.array([true[rows].mean() for rows in groups]),
            counts=np.array([len(rows) for rows in groups]),
            event=f"class {classes[1]}" if len(classes) == 2 else "the predicted class",
            name=name or str(getattr(estimator, "method", type(estimator).__name__)),
        )
        return display.plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or None, default=None
            Axes to draw on; None makes a new figure. Several displays may share axes.

        Returns
        -------
        ReliabilityDisplay
            The display itself.
        """
        ax = axes_of(ax)
        if not ax.lines:
            ax.plot([0, 1], [0, 1], color="0.6", linestyle="dashed", linewidth=0.8)
        low, high = wilson(self.frequency, self.counts)
        ax.errorbar(
            self.probability,
            self.frequency,
            yerr=[self.frequency - low, high - self.frequency],
            marker="o",
            markersize=4,
            linewidth=0.8,
            capsize=2,
            label=self.name,
        )
        ax.set(
            xlabel=f"predicted probability of {self.event}",
            ylabel="observed frequency",
            xlim=(-0.02, 1.02),
            ylim=(-0.02, 1.02),
            aspect="equal",
        )
        ax.legend()
        self.ax_, self.figure_ = ax, cast("Figure", ax.figure)
        return self


def wilson(frequency: Numbers, counts: npt.NDArray[np.integer[Any]]) -> tuple[Numbers, Numbers]:
    """Return the ends of Wilson's interval of frequencies, which contains them."""
    z2 = float(ndtri(0.5 * (1.0 + _LEVEL))) ** 2
    middle = (frequency + z2 / (2 * counts)) / (1 + z2 / counts)
    width = np.sqrt(z2 * (frequency * (1 - frequency) / counts + z2 / (4 * counts**2)))
    width /= 1 + z2 / counts
    return np.minimum(middle - width, frequency), np.maximum(middle + width, frequency)
