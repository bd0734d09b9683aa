"""Folds of small problems, and what fits one by one say of the rows that they did not see."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import KFold, StratifiedKFold

from support.fitting import decision

Folds = list[tuple[np.ndarray, np.ndarray]]


def folds_of(model: Any, X: Any, y: np.ndarray, n: int = 3) -> Folds:
    """Folds as scikit-learn makes them for an estimator."""
    kind = StratifiedKFold if is_classifier(model) else KFold
    return list(kind(n).split(X, y))


def one_by_one(
    model: Any, X: Any, y: np.ndarray, folds: Folds, sample_weight: np.ndarray | None = None
) -> np.ndarray:
    """Decision values of every row by a fit on the training rows of its fold."""
    found: Any = None
    for train, test in folds:
        weight = {} if sample_weight is None else {"sample_weight": sample_weight[train]}
        values = decision(clone(model).fit(X[train], y[train], **weight), X[test])
        if found is None:
            found = np.full((X.shape[0], *values.shape[1:]), np.nan)
        found[test] = values
    return np.asarray(found)
