"""Decision values without a fold, from the model of all rows and the rows near the margin.

A variable far from the margin is at the same bound in the C-SVC of all rows and in those of all
folds. So the core (`core/solve/held_out.hpp`) starts each fold from the model of all rows, solves
it over the rows near the margin, and checks all other rows by their scores, which are the wanted
values as well. All pairs of classes are solved in one call.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from widestreet import _core
from widestreet._src.arrays import Floats, Ints
from widestreet._src.calibration.removals import Folds
from widestreet._src.engines.budget import Budget, parse_memory
from widestreet._src.estimators.svc import SVC
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import Linear
from widestreet._src.problems.class_pairs import PairLayout
from widestreet._src.rows import as_rows
from widestreet._src.threads import resolve_threads

NEAR = 0.25  # distance from the margin, in its units
MOST_ROWS = 5000  # near rows of a pair of classes: with more, folds are as large as fits
_TRAIN, _TEST = 1, 2  # roles of a row in a fold
_MEMORY_SHARE = 0.25  # of max_memory, for the kernel values of near rows, and for all scores
_SCORES = 7  # arrays of the size of the scores of all rows by all folds
_ARRAYS = 10  # of the size of the rows of all pairs of classes
_ROUNDING = 4 * 2.0**-24  # of a float32 kernel value
_COARSE = 0.1  # of the tolerance: an error of scores that may come from float32
_SNAP = 1e-9  # of the width of a box: what is nearer to a bound is at the bound


def scores_by_near_rows(
    machine: Any,
    coef: Floats,
    X: Any,
    code: Ints,
    weight: Floats,
    folds: Folds,
    budget: Budget,
    *,
    every_pair: bool = False,
) -> Floats | None:
    """Return decision values of models without the fold of the row, of shape (n, pairs).

    The result is None if the core has no such kernel, if its arrays do not fit into a share of
    `max_memory`, if there are too many rows near the margin, or if a fold was not solved. Rows that
    are in no test set have the value nan.

    Parameters
    ----------
    machine : SVC
        Fitted to all rows, with a linear loss.
    coef : ndarray of shape (pairs, n)
        Coefficients of the rows.
    X : ndarray or CSR
    code : ndarray
        Class of each row.
    weight : ndarray
    folds : list of tuple
    budget : Budget
        OutOfBudget is raised when it is used up.
    every_pair : bool
        Whether values of the rows of other classes than those of the pair are wanted; otherwise
        they are nan.
    """
    if type(machine) is not SVC or machine.kernel == "precomputed":
        return None
    n, layout = len(code), PairLayout(len(machine.classes_))
    kernel, threads = machine._kernel, resolve_threads(machine.n_jobs)
    centred = kernel.translation_invariant or isinstance(kernel, Linear)
    gram = Gram(kernel, as_rows(X, centred=centred), threads=threads)
    at_once = 1 if layout.classes == 2 else threads  # problems
    share = _MEMORY_SHARE * parse_memory(machine.max_memory)
    room, copies = share / at_once, len(layout.pairs) if every_pair else layout.classes - 1
    arrays = max(8 * _SCORES * (len(folds) + 1) * n * at_once, 8 * _ARRAYS * copies * n)
    if gram.native is None or arrays > share:
        return None
    own = machine._formulation().box(machine.class_weight_[code] * weight)
    parts, targets = _pairs(layout, code, every_pair=every_pair)
    index, pair = np.concatenate(parts), np.repeat(np.arange(len(parts)), [len(p) for p in parts])
    box = np.where(np.concatenate(targets) != 0, own[index], 0.0)
    dual = machine._formulation().dual(np.concatenate(targets), box)
    beta = _snapped(coef[pair, index][None], dual.lower, dual.upper)
    double = not _float32_suffices(gram, coef, machine.tol)
    values, figures = _core.hold_out(
        *gram.native,
        index,
        dual.native(),
        beta,
        end=np.cumsum([len(part) for part in parts]),
        role=_roles(folds, n),
        tol=machine.tol,
        near=NEAR,
        in_double=double,
        most_near=min(MOST_ROWS, int(np.sqrt(room / (16 if double else 8)))),  # and a larger copy
        threads=threads,
        poll=budget.look_at_end,
    )
    if not (figures[:, 0] <= machine.tol).all():
        return None
    found = np.full((n, len(parts)), np.nan)
    found[index, pair] = values
    return found


def _pairs(layout: PairLayout, code: Ints, *, every_pair: bool) -> tuple[list[Ints], list[Floats]]:
    """Return the rows of each pair of classes, and their targets: zero for other classes."""
    parts, targets = [], []
    for i, j in layout.pairs:
        sign = layout.sign_of_first * ((code == i) - (code == j).astype(np.float64))
        parts.append(np.arange(len(code)) if every_pair else np.flatnonzero(sign))
        targets.append(sign[parts[-1]])
    return parts, targets


def _roles(folds: Folds, n: int) -> Any:
    """Return the role of each row in each fold."""
    found = np.zeros((len(folds), n), dtype=np.uint8)
    for role, (train, test) in zip(found, folds, strict=True):
        role[train], role[test] = _TRAIN, _TEST
    return found


def _snapped(beta: Floats, lower: Floats, upper: Floats) -> Floats:
    """Return variables within their boxes; those that rounding moved from a bound are put there."""
    slack = _SNAP * (upper - lower)
    beta = np.where(upper - beta <= slack, upper, beta)
    found: Floats = np.where(beta - lower <= slack, lower, beta)
    return found


def _float32_suffices(gram: Gram, coef: Floats, tol: float) -> bool:
    """Return whether float32 kernel values suffice: errors of sums grow like those of noise."""
    size = float(np.sqrt(np.square(coef).sum(axis=1).max())) * float(gram.diag().max(initial=0.0))
    return gram.fits_float32 and _ROUNDING * size <= _COARSE * tol
