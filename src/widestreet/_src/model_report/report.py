"""The report of a fitted model."""

from __future__ import annotations

import tempfile
import webbrowser
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from widestreet._src import checks
from widestreet._src.interchange.certifying import certify
from widestreet._src.model_report import (
    advice_section,
    certificate_section,
    convergence,
    decisions,
    influence,
    leave_one_out_section,
    new_rows,
    search_section,
    support,
)
from widestreet._src.model_report.held_out import leave_one_out
from widestreet._src.model_report.markup import Section
from widestreet._src.model_report.page import document, framed
from widestreet._src.model_report.sample import Sample
from widestreet._src.model_report.subject import Subject


class ModelReport:
    """A page about a fitted model, in one HTML file that needs no network.

    It has the certificate in words, gap and violation over time, where the time went, support
    vectors, decision values with the margin, and warnings. With the training rows, it also has
    leave-one-out predictions and the rows of the largest influence. With test rows, it has the
    results on them. Notebooks show the page.

    Parameters
    ----------
    model : estimator
        Fitted estimator of this package, or a `sklearn.pipeline.Pipeline` or a search with one; or
        an SVM of scikit-learn.
    X_test, y_test : array-like, default=None
        Test rows with their labels or targets.
    X, y, sample_weight : array-like, default=None
        All rows that the model was trained on, in the order of the fit. A model holds its support
        vectors only; online estimators hold all of their rows, which need not be passed.
    max_time : float, default=10.0
        Seconds that leave-one-out may take. If it would take longer, the page says so.

    Raises
    ------
    ValueError
        If `X`, `y` and `sample_weight` cannot be those of the fit.

    Examples
    --------
    >>> import widestreet as ws
    >>> from widestreet.datasets import checkerboard
    >>> X, y = checkerboard(300, random_state=0)
    >>> model = ws.SVC(C=10, gamma=2.0).fit(X, y)
    >>> report = model.report(X=X, y=y)
    >>> report
    <ModelReport of SVC: html(), write_html(path), open()>
    >>> report.html().startswith("<!DOCTYPE html>")
    True
    """

    def __init__(
        self,
        model: Any,
        X_test: Any = None,
        y_test: Any = None,
        *,
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
        max_time: float = 10.0,
    ) -> None:
        limit = checks.require_real("max_time", max_time, above=0.0)
        subject = Subject.of(model)
        for name, value in (("y", y), ("sample_weight", sample_weight)):
            if X is None and value is not None:
                raise ValueError(f"{name} without X: pass the training rows as X=")
        if X_test is None and y_test is not None:
            raise ValueError("y_test without X_test: pass the test rows as X_test=")
        train = None
        if X is not None:
            train = Sample.of(subject, "", X, y, sample_weight)
        if subject.online:
            train = Sample.stored(subject)
        if train is not None and not subject.certificates:
            given = None if y is None else y
            found = certify(subject.machine, subject.rows(X), given, sample_weight, pairs=True)
            subject = replace(subject, certificates=found)
        test = None if X_test is None else Sample.of(subject, "_test", X_test, y_test)
        self._name = type(model).__name__
        self._page = document(subject, _sections(subject, train, test, limit))

    def html(self) -> str:
        """Return the page as a complete HTML document.

        Returns
        -------
        str
        """
        return self._page

    def write_html(self, path: str | PathLike[str]) -> None:
        """Write the page to a file.

        Parameters
        ----------
        path : str or path-like
        """
        Path(path).write_text(self._page, encoding="utf-8")

    def open(self) -> None:
        """Show the page in a browser, from a temporary file."""
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", prefix="widestreet-", suffix=".html", delete=False
        ) as file:
            file.write(self._page)
        webbrowser.open(Path(file.name).as_uri())

    def _repr_html_(self) -> str:
        return framed(self._page)

    def __repr__(self) -> str:
        return f"<ModelReport of {self._name}: html(), write_html(path), open()>"


def _sections(
    subject: Subject, train: Sample | None, test: Sample | None, max_time: float
) -> list[Section]:
    """Return the sections of the page."""
    certificates = subject.certificates
    vectors = decisions.support_vectors(subject)
    supported = support.Support.of(subject, train)
    held_out = leave_one_out(subject, train, max_time)
    found = [
        certificate_section.section(subject, certificates),
        advice_section.section(subject, certificates, supported, train, held_out),
    ]
    if test is not None:
        found.append(new_rows.section(subject, test))
    if subject.search is not None:
        found.append(search_section.section(subject.search))
    return [
        *found,
        leave_one_out_section.section(subject, train, held_out),
        influence.section(subject, train, vectors, held_out),
        decisions.section(subject, train, vectors),
        support.section(subject, supported, train),
        convergence.section(subject, certificates),
        convergence.time_section(subject),
    ]
