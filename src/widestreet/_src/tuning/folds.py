"""Held-out decision values and models of the folds of a cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from widestreet._src.arrays import Floats, Ints
from widestreet._src.engines.budget import Budget
from widestreet._src.estimators.optimal import OptimalFit
from widestreet._src.estimators.regressor import Regressor
from widestreet._src.estimators.scoring import dense_coef
from widestreet._src.estimators.svc import SVC
from widestreet._src.estimators.svr import SVR
from widestreet._src.problems.class_pairs import PairLayout
from widestreet._src.tuning.outcomes import Outcome
from widestreet._src.tuning.search import Report, Search
from widestreet._src.tuning.tasks import Fold, SearchData, Task


def held_out_scores(
    estimator: OptimalFit,
    X: Any,
    y: Any,
    folds: Sequence[tuple[Any, Any]],
    *,
    sample_weight: Any = None,
    budget: Budget | None = None,
    start: Floats | None = None,
) -> Floats:
    """Return decision values, or predictions of a regressor, by models that did not see the row.

    Rows that are in no test set have the value nan.

    Parameters
    ----------
    estimator : SVC, NuSVC, SVR, NuSVR or OneClassSVM
        Estimator whose parameters are used; its loss is linear.
    X : array-like or sparse matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    folds : sequence of tuple
        Row numbers of the training and the test set of each fold.
    sample_weight : array-like of shape (n_samples,), default=None
    budget : Budget, default=None
        Limit on the time. OutOfBudget is raised if it does not suffice.
    start : ndarray of shape (n_folds or 1, n_pairs, n_samples), default=None
        Coefficients of all rows from which the folds start. Those that a fold does not allow are
        changed.
    """
    found: dict[int, Floats] = {}

    def report(k: int, outcome: Outcome, rows: Ints, scores: Floats) -> None:
        model = outcome.held_out(rows, scores)
        values = model.predict if isinstance(estimator, Regressor) else model.decision_function
        found[k] = values(outcome.task.fold.test)

    _run(estimator, X, y, folds, sample_weight, budget, start, report)
    width = found[0].shape[1:]
    if any(values.shape[1:] != width for values in found.values()):
        raise ValueError("a class has no row in the training set of a fold; use stratified folds")
    every = np.full((len(y) if X is None else X.shape[0], *width), np.nan)
    for k, (_, test) in enumerate(folds):
        every[np.asarray(test)] = found[k]
    return every


def fold_models(
    estimator: OptimalFit,
    X: Any,
    y: Any,
    folds: Sequence[tuple[Any, Any]],
    *,
    sample_weight: Any = None,
    budget: Budget | None = None,
    start: Floats | None = None,
) -> list[Any]:
    """Return the estimators fitted on the training sets of all folds, without certificates.

    The parameters are those of `held_out_scores`.
    """
    found: dict[int, Any] = {}

    def report(k: int, outcome: Outcome, rows: Ints, scores: Floats) -> None:
        found[k] = outcome.model()

    _run(estimator, X, y, folds, sample_weight, budget, start, report)
    return [found[k] for k in range(len(folds))]


def fold_coefficients(
    estimator: OptimalFit,
    X: Any,
    y: Any,
    folds: Sequence[tuple[Any, Any]],
    *,
    sample_weight: Any = None,
    budget: Budget | None = None,
    start: Floats | None = None,
) -> tuple[Floats, Floats]:
    """Return the coefficients of all rows and the intercepts of the models of all folds.

    Their shapes are (n_folds, n_pairs, n_samples) and (n_folds, n_pairs). The parameters are those
    of `held_out_scores`.
    """
    found: dict[int, tuple[Floats, Floats]] = {}

    def report(k: int, outcome: Outcome, rows: Ints, scores: Floats) -> None:
        found[k] = outcome.coefficients()

    _run(estimator, X, y, folds, sample_weight, budget, start, report)
    parts = [found[k] for k in range(len(folds))]
    return np.array([coef for coef, _ in parts]), np.array([bias for _, bias in parts])


def _run(
    estimator: OptimalFit,
    X: Any,
    y: Any,
    folds: Sequence[tuple[Any, Any]],
    sample_weight: Any,
    budget: Budget | None,
    start: Floats | None,
    report: Report,
) -> None:
    """Solve the problems of all folds."""
    budget = Budget() if budget is None else budget
    data = SearchData.of(estimator, X, y, sample_weight)
    parts = [Fold(data, np.asarray(train), np.asarray(test)) for train, test in folds]
    tasks = [Task.of(estimator, fold) for fold in parts]
    begin = None if start is None else lambda k, pair: data.summed(start[k % len(start), pair])
    Search(data, tasks, estimator._settings(), budget, report, start=begin).run()
    budget.look_at_clock()


def coefficients_of(model: Any, rows: int) -> Floats | None:
    """Return the coefficients of all rows for each pair of classes of a fitted C-SVC or SVR.

    The result has the shape of `start` of `held_out_scores`. It is None for other models.
    """
    if not isinstance(model, SVC | SVR):
        return None
    layout = PairLayout(len(getattr(model, "classes_", (0,))))
    found = np.zeros((1, max(1, len(layout.pairs)), rows))
    coef = dense_coef(model.dual_coef_)
    found[0][:, model.support_] = layout.coefficients(coef, model.n_support_)
    return found
