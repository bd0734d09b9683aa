"""Held-out decision values and models of the folds of a cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from widestreet._src.arrays import Floats, Ints
from widestreet._src.engines.budget import Budget
from widestreet._src.estimators.optimal import OptimalFit
from widestreet._src.estimators.regressor import Regressor
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
    """
    found: dict[int, Floats] = {}

    def report(k: int, outcome: Outcome, rows: Ints, scores: Floats) -> None:
        model = outcome.held_out(rows, scores)
        values = model.predict if isinstance(estimator, Regressor) else model.decision_function
        found[k] = values(outcome.task.fold.test)

    _run(estimator, X, y, folds, sample_weight, budget, report)
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
) -> list[Any]:
    """Return the estimators fitted on the training sets of all folds, without certificates.

    The parameters are those of `held_out_scores`.
    """
    found: dict[int, Any] = {}

    def report(k: int, outcome: Outcome, rows: Ints, scores: Floats) -> None:
        found[k] = outcome.model()

    _run(estimator, X, y, folds, sample_weight, budget, report)
    return [found[k] for k in range(len(folds))]


def _run(
    estimator: OptimalFit,
    X: Any,
    y: Any,
    folds: Sequence[tuple[Any, Any]],
    sample_weight: Any,
    budget: Budget | None,
    report: Report,
) -> None:
    """Solve the problems of all folds."""
    budget = Budget() if budget is None else budget
    data = SearchData.of(estimator, X, y, sample_weight)
    parts = [Fold(data, np.asarray(train), np.asarray(test)) for train, test in folds]
    tasks = [Task.of(estimator, fold) for fold in parts]
    Search(data, tasks, estimator._settings(), budget, report).run()
    budget.look_at_clock()
