"""The choice between exact leave-one-out and folds, and the folds.

Each row that affects the model is removed by a homotopy. It takes some steps, and each is a product
of the kernel columns of the free variables with a vector. So the cost is counted as

    removals * (COST_OF_REMOVAL + STEPS * rows * free)    multiply-adds,

where `removals` are the rows with a coefficient that is not zero, in all pairs of classes; for
nu-SVMs all rows, because the sums of their coefficients depend on the number of rows. A million
multiply-adds take about a millisecond on one core. Leave-one-out is affordable up to a limit;
beyond it, and for problems without a homotopy, folds take its place. The limit for intervals is
larger than that for probabilities: there, models of fewer rows make results worse.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.model_selection import check_cv

from widestreet._src import checks
from widestreet._src.arrays import Floats, Ints
from widestreet._src.estimators.scoring import expansion_of
from widestreet._src.kernels.kernels import NativeKernel

COST_OF_REMOVAL = 7e5  # multiply-adds that take as long as what a removal does in Python
STEPS = 6  # of the homotopy of a removal, on average
AFFORDABLE = {"probabilities": 5e7, "intervals": 2e9}  # multiply-adds
FOLDS = 5  # where leave-one-out is not affordable

Folds = list[tuple[Ints, Ints]]
Tell = Callable[[float], None]  # it is called with the finished part of the work


def require_cv(cv: Any) -> Any:
    """Return "auto", "loo", a number of folds, or what scikit-learn takes for `cv`."""
    if isinstance(cv, str):
        return checks.require_choice("cv", cv, ("auto", "loo"))
    if (hasattr(cv, "split") or hasattr(cv, "__iter__")) and not isinstance(cv, bytes):
        return cv
    return checks.require_integer(
        "cv", cv, least=2, none="'auto', 'loo', a splitter or a list of pairs (train, test)"
    )


def counting(look: Callable[[], None], tell: Tell, total: int) -> Callable[[], None]:
    """Return a function that is called before each of `total` pieces of work, to look and tell."""
    done = count()

    def call() -> None:
        look()
        tell(min(1.0, next(done) / max(1, total)))

    return call


def is_number(cv: Any) -> bool:
    """Return whether a valid `cv` is "auto", "loo" or a number of folds."""
    return isinstance(cv, str | Integral)


def linear_loss(estimator: Any) -> bool:
    """Return whether the loss of an SVM is linear, not squared."""
    return bool(getattr(estimator._formulation(), "loss", "linear") == "linear")


def removable(model: Any) -> bool:
    """Return whether a homotopy can remove rows from a fitted model."""
    kernel = model._kernel
    return linear_loss(model) and isinstance(kernel, NativeKernel) and bool(kernel.positive)


def removals_of(model: Any, weights: Floats) -> Ints:
    """Return the number of rows that leave-one-out removes from each pair of classes."""
    expansion = expansion_of(model)
    lines = expansion.layout.coefficients(expansion.coef, expansion.n_support)
    if model._formulation().groups > 1:
        return np.full(len(lines), np.count_nonzero(weights))
    return np.asarray(np.count_nonzero(lines, axis=1))


def cost_of_removals(model: Any, weights: Floats) -> float:
    """Return the multiply-adds of leave-one-out of a fitted model.

    Parameters
    ----------
    model : SVC, NuSVC, SVR or NuSVR
    weights : ndarray
        Weight of each row, class weights not included.
    """
    rows, expansion = int(np.count_nonzero(weights)), expansion_of(model)
    lines = np.abs(expansion.layout.coefficients(expansion.coef, expansion.n_support))
    # a variable at its bound has the largest coefficient, if all weights are equal
    free = [np.count_nonzero((line > 0) & (line < line.max(initial=0.0))) for line in lines]
    cost = removals_of(model, weights) * (COST_OF_REMOVAL + STEPS * rows * (np.array(free) + 1.0))
    return float(cost.sum())


def number_of_folds(
    purpose: str, machine: Any, weights: Floats, cv: str | int, fewest: int, of: str
) -> int | None:
    """Return the number of folds; None for leave-one-out.

    Parameters
    ----------
    purpose : {"probabilities", "intervals"}
    machine : SVC, NuSVC, SVR or NuSVR
        Fitted to the rows.
    weights : ndarray
        Weights of the rows.
    cv : "auto", "loo" or int
    fewest : int
        Number of distinct rows of the smallest class, or of all.
    of : str
        What these rows belong to, for messages.
    """
    possible = removable(machine)
    if cv == "loo" and not possible:
        raise ValueError(
            f"cv='loo' is not possible for {_described(machine)}, because rows are removed by a "
            "homotopy, which needs a linear loss and a positive semidefinite kernel with a name: "
            "pass cv=5"
        )
    if cv == "auto" and possible:
        few = fewest < 2 or cost_of_removals(machine, weights) <= AFFORDABLE[purpose]
        cv = "loo" if few else cv
    if cv == "loo":
        return None
    number = min(FOLDS, max(2, fewest)) if isinstance(cv, str) else int(cv)
    if number > fewest:
        cure = "pass cv='loo', or more rows" if possible else "pass more rows"
        raise ValueError(
            f"cv={cv!r}: {number} folds need as many distinct rows of {of}, got {fewest}: "
            + (f"pass cv={fewest} or less, or " if fewest > 1 else "")
            + cure
        )
    return number


def _described(machine: Any) -> str:
    """Return the parameters of an SVM that decide whether there is a homotopy."""
    given = {name: getattr(machine, name) for name in ("kernel", "coef0", "loss")
             if hasattr(machine, name)}  # fmt: skip
    return ", ".join(f"{name}={value!r}" for name, value in given.items())


def folds_of(splitter: Any, X: Any, y: Any) -> Folds:
    """Return the folds of a splitter, or of a list of folds, as row numbers, which are checked."""
    n = X.shape[0]
    folds = [(_row_numbers(train, n), _row_numbers(test, n))
             for train, test in check_cv(splitter).split(X, y)]  # fmt: skip
    if not folds:
        raise ValueError(
            f"cv={checks.shown(splitter)} has no folds: pass pairs (train, test) of row numbers"
        )
    for k, (train, test) in enumerate(folds):
        both = np.intersect1d(train, test)
        if len(both):
            raise ValueError(
                f"cv: {len(both)} rows of fold {k}, such as row {both[0]}, are in its training set "
                "and in its test set: pass folds whose two sets have no row in common"
            )
    return folds


def _row_numbers(rows: Any, n: int) -> Ints:
    """Return row numbers, or a mask of n rows, as row numbers from 0 to n - 1."""
    given = np.asarray(rows)
    if given.dtype == bool and given.shape == (n,):
        return np.flatnonzero(given)
    whole = given.dtype.kind in "iu" or given.size == 0
    if given.ndim != 1 or not whole or not ((given >= -n) & (given < n)).all():
        raise ValueError(
            f"cv: the sets of a fold must be row numbers below {n} or masks of {n} booleans, got "
            f"an array of shape {given.shape} and type {given.dtype}"
        )
    return given.astype(np.int64) % n
