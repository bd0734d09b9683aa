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
from widestreet._src.estimators.svc import SVC
from widestreet._src.problems.class_pairs import PairLayout
from widestreet._src.tuning.folds import fold_coefficients

NEAR = 0.5  # distance from the margin, in its units
LEAST_ROWS = 1000  # rows of a pair of classes, on average, whose kernel matrix is worth saving
MOST_ROWS = 5000  # near rows, whose kernel matrix is stored
_MEMORY_SHARE = 0.25  # of max_memory, for the decision values of all models


def scores_by_near_rows(
    machine: Any,
    alike: Any,
    coef: Floats | None,
    X: Any,
    code: Ints,
    weight: Floats,
    folds: Folds,
    budget: Budget,
) -> Floats | None:
    """Return decision values of models without the fold of the row, of shape (n, pairs).

    The result is None if the pairs of classes are so small that this does not pay, if there are too
    many near rows, or too few of a class. Rows that are in no test set have the value nan.

    Parameters
    ----------
    machine : SVC
        Fitted to all rows, with a linear loss.
    alike : SVC
        Estimator whose parameters the folds have.
    coef : ndarray of shape (1, pairs, n) or None
        Coefficients of all rows, from which the folds start.
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
        some, intercept = fold_coefficients(
            alike,
            X[rows],
            machine.classes_[code[rows]],
            parts,
            sample_weight=weight[rows],
            budget=budget,
            start=None if coef is None else coef[:, :, rows],
        )
        coef = np.zeros((*some.shape[:2], len(code)))
        coef[:, :, rows] = some
        values = _values(machine, coef, intercept, X)
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


def _values(machine: Any, coef: Floats, intercept: Floats, X: Any) -> Any:
    """Return decision values of all rows by all models, of shape (models, n, pairs).

    Parameters
    ----------
    machine : SVC
    coef : ndarray of shape (models, pairs, n)
    intercept : ndarray of shape (models, pairs)
    X : ndarray or CSR
    """
    lines = coef.reshape(-1, coef.shape[2])
    union = np.flatnonzero(lines.any(axis=0))
    gram = machine._gram(X, X[union], union)
    scores = gram.scan(None, np.arange(len(union)), np.ascontiguousarray(lines[:, union]))
    return scores.reshape(*coef.shape[:2], -1).swapaxes(1, 2) + intercept[:, None]
