"""Decision values without a fold, from the rows near the margin.

A row that is far on the right side of the margin has no coefficient in the C-SVC of all rows, and
hardly ever in one without a fold. So the folds are solved over the other rows only:

    1) the near rows are those whose decision value for their class is at most 1 + NEAR
    2) solve all folds over the near rows
    3) score all rows by all models, with one scan of the union of their support vectors
    4) rows of a training set whose decision value is below 1 - tol are added; repeat from 2

The result is that of folds of all rows. Step 3 contains the decision values that are wanted.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from widestreet._src.arrays import Floats, Ints
from widestreet._src.calibration.removals import Folds
from widestreet._src.engines.budget import Budget, parse_memory
from widestreet._src.estimators.scoring import dense_coef
from widestreet._src.estimators.svc import SVC
from widestreet._src.problems.class_pairs import PairLayout
from widestreet._src.tuning.folds import fold_models

NEAR = 0.5  # distance from the margin, in its units
LEAST_ROWS = 1000  # rows of a pair of classes, on average, whose kernel matrix is worth saving
MOST_ROWS = 5000  # near rows, whose kernel matrix is stored
_MEMORY_SHARE = 0.25  # of max_memory, for the decision values of all models


def scores_by_near_rows(
    machine: Any, start: Any, X: Any, code: Ints, weight: Floats, folds: Folds, budget: Budget
) -> Floats | None:
    """Return decision values of models without the fold of the row, of shape (n, pairs).

    The result is None if the pairs of classes are so small that this does not pay, if there are too
    many near rows, or too few of a class. Rows that are in no test set have the value nan.

    Parameters
    ----------
    machine : SVC
        Fitted to all rows, with a linear loss.
    start : SVC
        Estimator whose parameters the folds have.
    X : ndarray or CSR
    code : ndarray
        Class of each row.
    weight : ndarray
    folds : list of tuple
    budget : Budget
    """
    layout = PairLayout(len(machine.classes_))
    small = 2 * len(code) <= LEAST_ROWS * layout.classes
    if small or type(machine) is not SVC or machine.kernel == "precomputed":
        return None
    memory = 8 * len(folds) * len(layout.pairs) * len(code)
    if memory > _MEMORY_SHARE * parse_memory(machine.max_memory):
        return None
    own = np.concatenate([values for _, values in machine._decisions(X)])
    near = margins(layout, own, code) <= 1.0 + NEAR
    while True:
        rows = np.flatnonzero(near)
        parts = _restricted(folds, rows, len(code))
        complete = all(len(np.unique(code[rows[train]])) == layout.classes for train, _ in parts)
        if len(rows) > MOST_ROWS or not complete:
            return None
        labels = machine.classes_[code[rows]]
        models = fold_models(
            start, X[rows], labels, parts, sample_weight=weight[rows], budget=budget
        )
        values = _values(machine, models, layout, X, rows)
        violating = np.zeros(len(code), dtype=bool)
        for (train, _), one in zip(folds, values, strict=True):
            violating[train] |= margins(layout, one[train], code[train]) < 1.0 - machine.tol
        if not (violating & ~near & (weight > 0)).any():
            break
        near |= violating
    found = np.full((len(code), len(layout.pairs)), np.nan)
    for (_, test), one in zip(folds, values, strict=True):
        found[test] = one[test]
    return found


def margins(layout: PairLayout, decision: Floats, code: Ints) -> Floats:
    """Return the smallest decision value of each row for its class, in the pairs that it is in."""
    sign = np.zeros((layout.classes, len(layout.pairs)))
    pairs = np.arange(len(layout.pairs))
    sign[layout.first, pairs], sign[layout.second, pairs] = 1.0, -1.0
    sign *= layout.sign_of_first
    found: Floats = np.where(sign[code] != 0, sign[code] * decision, np.inf).min(axis=1)
    return found


def _restricted(folds: Folds, rows: Ints, n: int) -> Folds:
    """Return folds of n rows as folds of some of them."""
    position = np.full(n, -1)
    position[rows] = np.arange(len(rows))
    parts = [(position[train], position[test]) for train, test in folds]
    return [(train[train >= 0], test[test >= 0]) for train, test in parts]


def _values(machine: Any, models: list[Any], layout: PairLayout, X: Any, rows: Ints) -> Any:
    """Return decision values of all rows by all models, of shape (models, n, pairs)."""
    union = np.unique(np.concatenate([model.support_ for model in models]))
    coef = np.zeros((len(models), len(layout.pairs), len(union)))
    for own, model in zip(coef, models, strict=True):
        lines = layout.coefficients(dense_coef(model.dual_coef_), model.n_support_)
        own[:, np.searchsorted(union, model.support_)] = lines
    vectors = rows[union]
    gram = machine._gram(X, X[vectors], vectors)
    scores = gram.scan(None, np.arange(len(union)), coef.reshape(-1, len(union)))
    intercept = np.array([model.intercept_ for model in models])
    return scores.reshape(len(models), len(layout.pairs), -1).swapaxes(1, 2) + intercept[:, None]
