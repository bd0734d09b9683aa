"""Exact SHAP values of fitted models."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from re import sub
from typing import Any

import numpy as np
from scipy import sparse

from widestreet._src import checks
from widestreet._src.arrays import Floats
from widestreet._src.estimators.contained import FOREIGN, AddsToSVM, svm_of
from widestreet._src.estimators.model import KernelModel
from widestreet._src.estimators.scoring import Expansion, dense_coef, expansion_of
from widestreet._src.kernels.kernels import RBF, Laplacian, Linear
from widestreet._src.kernels.shapley import seconds_of, shapley_values, without_constants
from widestreet._src.reporting.bar import progress_bar
from widestreet._src.rows import as_rows
from widestreet._src.threads import resolve_threads

_MOST_SECONDS = 3600.0
_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86400.0


@dataclass(frozen=True, eq=False)
class Explanation:
    """SHAP values of rows: how much each feature moved a decision value.

    For each row, `base_values` plus the sum of `values` over the features is the output that is
    explained: the decision value or, of more than two classes with the shape "ovr", the sum of the
    decision values of the pairs of a class.

    Attributes
    ----------
    values : ndarray of shape (n_samples, n_features) or (n_samples, n_features, n_outputs)
    base_values : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Mean decision value of the background.
    data : ndarray of shape (n_samples, n_features)
        Rows that were explained.
    feature_names : list of str
    output_names : list of str or None
        Names of the outputs, if there are several.
    """

    values: Floats
    base_values: Floats
    data: Any
    feature_names: list[str]
    output_names: list[str] | None = None

    def to_shap(self) -> Any:
        """Return a `shap.Explanation` for the plots of the package shap, which must be installed.

        Returns
        -------
        shap.Explanation
        """
        try:
            shap: Any = import_module("shap")
        except ImportError:
            raise ImportError("to_shap needs the package shap: pip install shap") from None
        return shap.Explanation(
            values=self.values,
            base_values=self.base_values,
            data=self.data,
            feature_names=self.feature_names,
            output_names=self.output_names,
        )


def explain(
    model: Any,
    X: Any,
    background: Any,
    *,
    max_time: float = _MOST_SECONDS,
    verbose: bool = False,
) -> Explanation:
    """Return the exact SHAP values of a fitted model.

    The value of a feature is its mean contribution to the decision value of a row, over all orders
    in which the features of a background row are replaced by those of the explained row
    (interventional Shapley values). `shap.KernelExplainer` estimates the same numbers by sampling.
    For the kernels "rbf" and "laplacian", which are products over the features, the sum over all
    orders is an integral over a polynomial, which is computed exactly.

    Parameters
    ----------
    model : estimator
        Fitted estimator of this package with kernel "rbf", "laplacian" or "linear".
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Rows to explain.
    background : array-like or sparse matrix of shape (n_background, n_features)
        Rows from which missing features are taken, for example 100 training rows.
    max_time : float, default=3600.0
        Seconds. If the computation would take longer, by a rough estimate, it is refused.
    verbose : bool, default=False
        If True, show a progress bar.

    Returns
    -------
    Explanation
        Values of `decision_function`, or of `predict` for regressors. For more than two classes
        there is an output for each pair of classes if decision_function_shape="ovo". For "ovr"
        there is one for each class: the sum of its decision values against all other classes,
        without the votes that `decision_function` adds.

    Examples
    --------
    >>> import widestreet as ws
    >>> from widestreet.datasets import twonorm
    >>> X, y = twonorm(300, random_state=0)
    >>> model = ws.SVC(gamma=0.02).fit(X, y)
    >>> found = ws.explain(model, X[:5], X[:50])
    >>> found.values.shape
    (5, 20)
    >>> total = found.base_values + found.values.sum(axis=1)
    >>> bool(abs(total - model.decision_function(X[:5])).max() < 1e-10)
    True
    """
    model = svm_of(model)
    _require_model(model)
    limit = checks.require_real("max_time", max_time, above=0.0)
    rows, others = _dense(model._query(X)), _dense(_background(model, background))
    whole = expansion_of(model)
    mixing, names = _outputs(model, whole)
    intercept = model.intercept_ if len(model.intercept_) else 0.0  # no pair of classes yet
    decisions = whole.scorer(others, model.n_jobs)().T + intercept
    base = mixing @ decisions.mean(axis=0)
    if isinstance(whole.kernel, Linear):
        weights = mixing @ dense_coef(whole.weights)
        centred = np.asarray(rows - others.mean(axis=0, dtype=np.float64))
        values = np.einsum("ij,oj->ijo", centred, weights)
    else:
        values = _of_products(model, whole, rows, others, mixing, limit, verbose)
    known = getattr(model, "feature_names_in_", None)
    features = [f"x{j}" for j in range(rows.shape[1])] if known is None else [str(n) for n in known]
    bases = np.tile(base, (len(rows), 1))
    if names is None:
        values, bases = values[:, :, 0], bases[:, 0]
    return Explanation(values, bases, rows, features, names)


def _require_model(model: Any) -> None:
    """Raise TypeError or ValueError for a model that cannot be explained."""
    if hasattr(model, "steps"):  # a pipeline
        raise TypeError(
            "explain needs the SVM itself: pass model[-1], model[:-1].transform(X) and "
            "model[:-1].transform(background)"
        )
    if isinstance(model, AddsToSVM):
        raise TypeError(f"explain needs the SVM in {type(model).__name__}: pass model.estimator_")
    if not isinstance(model, KernelModel):
        given = checks.shown(model)
        raise TypeError(f"model must be a fitted estimator of widestreet, got {given}{FOREIGN}")
    model._check_fitted()
    if not isinstance(model._kernel, RBF | Laplacian | Linear):
        raise ValueError(
            f"kernel={model.kernel!r} is no product over the features, so that SHAP values can "
            "only be estimated, for example by shap.KernelExplainer: explain needs kernel='rbf', "
            "'laplacian' or 'linear'"
        )


def _background(model: Any, background: Any) -> Any:
    """Return validated rows of the background; error messages speak of these instead of X."""
    try:
        return model._query(background)
    except (TypeError, ValueError) as error:
        raise type(error)(sub(r"^X\b", "background", str(error))) from None


def _dense(X: Any) -> Any:
    return X.toarray() if sparse.issparse(X) else X


def _outputs(model: Any, whole: Expansion) -> tuple[Floats, list[str] | None]:
    """Return the matrix from decision values of pairs to outputs, and the names of the outputs."""
    layout = whole.layout
    if layout.classes <= 2:
        return np.ones((1, 1)), None
    if not model._values_per_class():
        labels = model.classes_
        return np.eye(len(layout.pairs)), [f"{labels[i]} or {labels[j]}" for i, j in layout.pairs]
    pairs = np.arange(len(layout.pairs))
    mixing = np.zeros((layout.classes, len(pairs)))
    mixing[layout.first, pairs], mixing[layout.second, pairs] = 1.0, -1.0
    return mixing, [str(label) for label in model.classes_]


def _pair_coefficients(whole: Expansion) -> Floats:
    """Return the coefficients of each pair over all vectors, of shape (pairs, n_SV)."""
    layout, coef = whole.layout, whole.coef
    if layout.classes <= 2:
        return coef
    found = np.zeros((len(layout.pairs), coef.shape[1]))
    parts = [slice(a, b) for a, b in zip(whole.ends, whole.ends[1:], strict=False)]
    for p, (i, j) in enumerate(layout.pairs):
        found[p, parts[i]] = coef[layout.line(i, j), parts[i]]
        found[p, parts[j]] = coef[layout.line(j, i), parts[j]]
    return found


def _of_products(
    model: Any,
    whole: Expansion,
    rows: Any,
    others: Any,
    mixing: Floats,
    limit: float,
    verbose: bool,
) -> Floats:
    """Return the SHAP values of a kernel that is a product over the features."""
    kernel = whole.kernel
    assert isinstance(kernel, RBF | Laplacian)
    coef, threads = mixing @ _pair_coefficients(whole), resolve_threads(model.n_jobs)
    varies, vectors, coef = without_constants(kernel, rows, others, as_rows(whole.vectors), coef)
    count = int(np.count_nonzero(varies))
    seconds = seconds_of(len(rows), len(others), coef.shape[1], count, threads)
    if seconds > limit:
        raise ValueError(
            f"explaining {len(rows):,} rows of {count:,} features against {len(others):,} "
            f"background rows and {coef.shape[1]:,} support vectors would take about "
            f"{_in_words(seconds)}: pass fewer rows or a smaller background, use a "
            f"model with fewer support vectors (model.compact), or raise max_time={limit:g}"
        )
    values = np.zeros((*rows.shape, len(coef)))
    with progress_bar("explaining", shown=checks.require_flag("verbose", verbose)) as observe:
        if count and coef.shape[1]:
            some, background = rows[:, varies], others[:, varies]
            values[:, varies] = shapley_values(
                kernel, some, background, vectors, coef, threads, observe
            )
    return values


def _in_words(seconds: float) -> str:
    """Return a time in the unit that suits it."""
    for unit, name in ((_DAY, "days"), (_HOUR, "hours"), (_MINUTE, "minutes")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:,.0f} {name}"
    return f"{seconds:.1f} seconds"
