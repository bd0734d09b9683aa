"""Violation and gap of a fit over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, Self, cast

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from widestreet._src.displays.axes import Numbers, axes_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class _TracedModel(Protocol):
    """Attributes of a fitted model that `ConvergenceDisplay` draws."""

    trace_: Any
    certificates_: Any


class ConvergenceDisplay:
    """Violation of the optimality conditions and duality gap of a fit over time.

    Use `from_estimator` to create a display. The gap is an estimate until the certificate is
    computed, which is drawn as a point.

    Parameters
    ----------
    seconds : list of ndarray
        Time of each round, for each pair of classes.
    violation : list of ndarray
        Largest violation of the optimality conditions found in each round.
    gap : list of ndarray
        Estimated duality gap after each round.
    certified : list of tuple of float
        Violation and gap of the certificate, for each pair of classes.
    tol : float or None, default=None
        Violation at which the fit was to end.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
    figure_ : matplotlib.figure.Figure
    lines_ : list of matplotlib.lines.Line2D
        Violation and gap of each pair of classes.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from widestreet import SVC
    >>> from widestreet.datasets import checkerboard
    >>> from widestreet.plots import ConvergenceDisplay
    >>> X, y = checkerboard(5000, random_state=0)
    >>> model = SVC(gamma=2.0, C=100.0).fit(X, y)
    >>> display = ConvergenceDisplay.from_estimator(model, ax=Figure().subplots())
    >>> display.ax_.get_xlabel()
    'seconds'
    """

    ax_: Axes
    figure_: Figure
    lines_: list[Any]

    def __init__(
        self,
        *,
        seconds: list[Numbers],
        violation: list[Numbers],
        gap: list[Numbers],
        certified: list[tuple[float, float]],
        tol: float | None = None,
    ) -> None:
        self.seconds = seconds
        self.violation = violation
        self.gap = gap
        self.certified = certified
        self.tol = tol

    @classmethod
    def from_estimator(cls, estimator: _TracedModel, *, ax: Axes | None = None) -> Self:
        """Draw the convergence of a fitted model.

        Parameters
        ----------
        estimator : estimator or Pipeline
            Fitted model with the attributes `trace_` and `certificates_`, or a pipeline that ends
            with one.
        ax : matplotlib.axes.Axes or None, default=None
            Axes to draw on; None makes a new figure.

        Returns
        -------
        ConvergenceDisplay
        """
        check_is_fitted(estimator)
        estimator = estimator[-1] if isinstance(estimator, Pipeline) else estimator
        trace = getattr(estimator, "trace_", None)
        if trace is None:
            raise ValueError(f"{estimator!r} has no trace_: it is no estimator of widestreet")
        if not trace:
            raise ValueError(
                "trace_ is empty: only fits of batch estimators have rounds; online estimators, "
                "models of other libraries and files saved with trace=False have none"
            )
        problems = sorted({record.problem for record in trace})
        rounds = [[record for record in trace if record.problem == p] for p in problems]
        certificates = estimator.certificates_
        display = cls(
            seconds=[np.array([r.seconds for r in one]) for one in rounds],
            violation=[np.array([r.violation for r in one]) for one in rounds],
            gap=[np.array([r.gap for r in one]) for one in rounds],
            certified=[(certificates[p].kkt_violation, certificates[p].gap) for p in problems],
            tol=getattr(estimator, "tol", None),
        )
        return display.plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> Self:
        """Draw the display.

        Values that a logarithmic axis cannot show, such as a violation of zero, are left out.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or None, default=None
            Axes to draw on; None makes a new figure.

        Returns
        -------
        ConvergenceDisplay
            The display itself.
        """
        ax = axes_of(ax)
        self.lines_ = []
        curves = zip(self.seconds, self.violation, self.gap, self.certified, strict=True)
        for p, (seconds, violation, gap, certified) in enumerate(curves):
            kinds = [("KKT violation", violation, "tab:blue"), ("duality gap", gap, "tab:orange")]
            for (name, values, colour), last in zip(kinds, certified, strict=True):
                shown = np.where(values > 0, values, np.nan)
                label = name if p == 0 else None
                self.lines_ += ax.plot(
                    seconds, shown, marker=".", color=colour, label=label, linewidth=0.8
                )
                if last > 0:
                    ax.plot(seconds[-1:], [last], marker="o", color=colour, fillstyle="none")
        if self.tol is not None:
            ax.axhline(self.tol, color="0.5", linestyle="dashed", linewidth=0.8, label="tol")
        ax.set(yscale="log", xlabel="seconds", ylabel="violation, gap")
        ax.legend()
        self.ax_, self.figure_ = ax, cast("Figure", ax.figure)
        return self
