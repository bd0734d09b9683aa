"""Decision values of classifiers that were not trained on the row."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from widestreet._src.arrays import Floats, Ints
from widestreet._src.calibration.near_rows import scores_by_near_rows
from widestreet._src.calibration.removals import (
    Folds,
    Tell,
    counting,
    folds_of,
    is_number,
    linear_loss,
    number_of_folds,
    removals_of,
)
from widestreet._src.engines.budget import Budget, OutOfBudget
from widestreet._src.estimators.leave_one_out import frozen, frozen_twin
from widestreet._src.problems.class_pairs import PairLayout
from widestreet._src.rows import Merged, as_rows, merge_duplicates, without_empty
from widestreet._src.status import Status
from widestreet._src.threads import resolve_threads
from widestreet._src.tuning.folds import coefficients_of, fold_models, held_out_scores

_SHARED_ROWS = 5000  # whose kernel matrix folds share


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Decision values of models without the row.

    Attributes
    ----------
    values : ndarray of shape (n, pairs)
        They may be nan for pairs of other classes than that of the row.
    rows : ndarray of shape (n,)
        Indices of the rows.
    weight : ndarray of shape (n,)
    cv : "loo" or int
        Leave-one-out, or the number of folds.
    """

    values: Floats
    rows: Ints
    weight: Floats
    cv: str | int


def held_out_decisions(
    machine: Any,
    X: Any,
    code: Ints,
    weight: Floats,
    cv: Any,
    budget: Budget,
    tell: Tell = lambda part: None,
    *,
    every_pair: bool = True,
) -> HeldOut:
    """Return decision values of models without the row, for each row of positive weight.

    Parameters
    ----------
    machine : SVC or NuSVC
        Fitted to all rows.
    X : ndarray or CSR
    code : ndarray
        Class of each row; any class for rows of weight zero.
    weight : ndarray
    cv : "auto", "loo", int, splitter or list of folds
        Unless folds are given, equal rows of one class are one row.
    budget : Budget
        OutOfBudget is raised when it is used up.
    tell : callable
        Called with the finished part of the removals, or of folds that share no work.
    every_pair : bool
        Whether values of rows of other classes than those of the pair are wanted; otherwise they
        may be nan.
    """
    merged = None
    if is_number(cv):
        merged = _distinct(machine, X, code, weight)
        rows, weight = merged.kept, merged.box
        splits = _splits(machine, code[rows], weight, cv)
    else:
        rows, splits = np.arange(len(code)), folds_of(cv, X, code)
        _check_classes(machine, code, weight, splits)
    whole, labels = len(rows) == len(code), machine.classes_[code[rows]]
    if not whole:
        X = X[np.ix_(rows, rows)] if machine.kernel == "precomputed" else X[rows]
    if splits is None:
        budget.look_at_end()
        twin = frozen_twin(machine, budget).set_params(decision_function_shape="ovo")
        total = int(removals_of(machine, weight).sum())
        look = counting(budget.look_at_end, tell, total)
        values = twin.fit(X, labels, sample_weight=weight)._leave_one_out(look)
    else:
        values, coef = None, coefficients_of(machine, len(code))
        if coef is not None and merged is not None:
            coef = merged.gather(coef[0])[None]
        if coef is not None and linear_loss(machine):
            values = scores_by_near_rows(
                machine,
                coef[0],
                X,
                code[rows],
                weight,
                splits,
                budget,
                every_pair=every_pair,
            )
        if values is None:
            alike = with_numbers_of(machine).set_params(decision_function_shape="ovo")
            values = _scores_of_folds(alike, coef, X, labels, weight, splits, budget, tell)
    values = values.reshape(len(rows), -1)
    finite = np.isfinite(values)
    known = (finite.all(axis=1) if every_pair else finite.any(axis=1)) & (weight > 0)
    number = "loo" if splits is None else len(splits)
    return HeldOut(values[known], rows[known], weight[known], number)


def with_numbers_of(machine: Any) -> Any:
    """Return an estimator for the folds of the rows of a fitted one.

    Its gamma and class weights are those of all rows, so that the folds share kernel values.
    """
    return clone(machine).set_params(**frozen(machine))


def are_shared(estimator: Any, X: Any) -> bool:
    """Return whether folds share one kernel matrix, which pays for small problems."""
    return linear_loss(estimator) and X.shape[0] <= _SHARED_ROWS


def models_of_folds(
    estimator: Any,
    coef: Floats | None,
    X: Any,
    y: Any,
    weight: Floats,
    folds: Folds,
    budget: Budget,
    tell: Tell = lambda part: None,
) -> list[Any]:
    """Return an estimator without each fold, whose `support_` are indices of all rows.

    They share their work if `are_shared`, and start from the coefficients of all rows. Otherwise,
    each is a fit in which the rows of the fold have no weight.
    """
    with _explained():
        if are_shared(estimator, X):
            return fold_models(
                estimator, X, y, folds, sample_weight=weight, budget=budget, start=coef
            )
        models = []
        look = counting(budget.look_at_end, tell, len(folds))
        for train, _ in folds:
            look()
            own = np.zeros(len(weight))
            own[train] = weight[train]
            one = clone(estimator).set_params(max_time=budget.part().max_time, on_interrupt="raise")
            models.append(one.fit(X, y, sample_weight=own))
            if any(proof.status == Status.TIME_LIMIT for proof in one.certificates_):
                raise OutOfBudget(Status.TIME_LIMIT)
        return models


def _check_classes(machine: Any, code: Ints, weight: Floats, folds: Folds) -> None:
    """Raise ValueError if a class has no row of positive weight in the training set of a fold."""
    for k, (train, _) in enumerate(folds):
        counts = np.bincount(code[train], weight[train], len(machine.classes_))
        if not counts.all():
            raise ValueError(
                f"cv: a fold cannot be trained: class {machine.classes_[np.argmin(counts)]} has no "
                f"row in the training set of fold {k}; pass stratified folds"
            )


def _scores_of_folds(
    estimator: Any,
    coef: Floats | None,
    X: Any,
    y: Any,
    weight: Floats,
    folds: Folds,
    budget: Budget,
    tell: Tell,
) -> Floats:
    """Return decision values of classifiers without the fold of the row; nan if it is in none."""
    if are_shared(estimator, X):
        with _explained():
            return held_out_scores(
                estimator, X, y, folds, sample_weight=weight, budget=budget, start=coef
            )
    pairs = len(PairLayout(len(np.unique(y))).pairs)
    values = np.full((len(y), pairs), np.nan)
    models = models_of_folds(estimator, coef, X, y, weight, folds, budget, tell)
    for model, (_, test) in zip(models, folds, strict=True):
        values[test] = model.decision_function(X[test]).reshape(len(test), -1)
    return values


@contextmanager
def _explained() -> Iterator[None]:
    """Say that an error in this block is one of a fold."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"cv: a fold cannot be trained: {error}") from error


def _distinct(machine: Any, X: Any, code: Ints, weight: Floats) -> Merged:
    """Return the distinct rows of positive weight; those of a kernel matrix are all distinct."""
    if machine.kernel == "precomputed":
        return without_empty(weight)
    label = code.astype(np.float64)
    return merge_duplicates(as_rows(X), label, weight, resolve_threads(machine.n_jobs))


def _splits(machine: Any, code: Ints, weight: Floats, cv: str | int) -> Folds | None:
    """Return stratified folds; None for leave-one-out."""
    counts = np.bincount(code, minlength=len(machine.classes_))
    smallest = int(np.argmin(counts))
    of = f"each class, such as class {machine.classes_[smallest]}"
    fewest = int(counts[smallest])
    number = number_of_folds("probabilities", machine, weight, cv, fewest, of)
    if number is None:
        return None
    return stratified_folds(code, number)


def stratified_folds(code: Ints, number: int) -> Folds:
    """Return the folds of scikit-learn's `StratifiedKFold`, whose Python code takes longer.

    Folds have equal parts of the classes, which are counted in the order of their first rows.
    """
    _, first, kind = np.unique(code, return_index=True, return_inverse=True)
    kind = np.argsort(np.argsort(first))[kind]
    ordered = np.sort(kind)
    fold = np.empty(len(code), dtype=np.int64)
    parts = [np.bincount(ordered[k::number], minlength=len(first)) for k in range(number)]
    for c, counts in enumerate(np.transpose(parts)):
        fold[kind == c] = np.repeat(np.arange(number), counts)
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(number)]
