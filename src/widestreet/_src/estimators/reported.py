"""The method `report` of all estimators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from widestreet._src.model_report.report import ModelReport


def report(
    self: Any,
    X_test: Any = None,
    y_test: Any = None,
    *,
    X: Any = None,
    y: Any = None,
    sample_weight: Any = None,
    max_time: float = 10.0,
) -> ModelReport:
    """Return a page about the fitted model: certificate, convergence, support vectors, warnings.

    Parameters
    ----------
    X_test, y_test : array-like, default=None
        Test rows with their labels or targets, for the results on them.
    X, y, sample_weight : array-like, default=None
        All training rows, in the order of the fit, for leave-one-out predictions and the rows of
        the largest influence. ValueError is raised if they cannot be those of the fit. Online
        estimators hold their rows, which need not be passed.
    max_time : float, default=10.0
        Seconds that leave-one-out may take. If it would take longer, the page says so.

    Returns
    -------
    ModelReport
        Its methods are `html()`, `write_html(path)` and `open()`; notebooks show it.
    """
    # The page needs all layers, so that it is imported when it is asked for.
    from widestreet._src.model_report.report import ModelReport

    given = {"X": X, "y": y, "sample_weight": sample_weight, "max_time": max_time}
    return ModelReport(self, X_test, y_test, **given)
