"""The width of the kernel of an ensemble, by its folds, and the cost of its steps."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from widestreet._src.arrays import Codes
from widestreet._src.engines.budget import Budget, OutOfBudget
from widestreet._src.estimators.batch import Prepared
from widestreet._src.estimators.widths import best_width, coarse_gammas
from widestreet._src.kernels.kernels import Laplacian
from widestreet._src.stacklevel import level_of_caller
from widestreet._src.training.ensemble import held_out_error, streams
from widestreet._src.training.ensemble_plan import Plan
from widestreet._src.training.settings import Resources

_SHARE = 0.5  # of max_time, for the choice of the width
_SLOW_ROWS = 10_000  # rows from which on steps without a stored kernel matrix are slow


def best_kernel(
    prepared: Prepared, code: Codes, plan: Plan, resources: Resources
) -> tuple[Any, dict[float, float]]:
    """Return the kernel with the best width, and the error of each width, ascending.

    An error is the part of all weights of all pairs of classes that is misclassified. The kernel is
    that of the rows as they were prepared if there is no time for a single width.

    Parameters
    ----------
    prepared : Prepared
    code : ndarray
        Class of each distinct row.
    plan : Plan
    resources : Resources
    """
    kernel: Any = prepared.kernel
    merged, rows, limit = prepared.merged, prepared.rows, resources.max_time
    budget = Budget(None if limit is None else _SHARE * limit)

    def error(gamma: float) -> float:
        one = replace(kernel, gamma=gamma)
        try:
            return held_out_error(one, rows, merged, code, plan, resources, budget)
        except OutOfBudget:
            raise StopIteration from None

    absolute, distinct = isinstance(kernel, Laplacian), rows.data[merged.kept]
    gammas = coarse_gammas(distinct, resources.rng, absolute=absolute)
    try:
        best, errors = best_width(error, gammas)
    except StopIteration:
        return kernel, {}
    if not np.isfinite(errors[best]):
        raise ValueError("gamma='cv' needs at least two different rows of each class")
    size = int(np.max(code)) * float(merged.box.sum())  # a row is in as many pairs
    return replace(kernel, gamma=best), {gamma: errors[gamma] / size for gamma in sorted(errors)}


def warn_of_slow_steps(rows: int, plan: Plan) -> None:
    """Warn if every step computes a large kernel matrix again."""
    slow = rows >= _SLOW_ROWS and streams(rows, plan) and not plan.streamed
    if slow and plan.aggregate != "parzen":
        warnings.warn(
            f"the kernel matrix of {rows:,} rows takes more than half of max_memory="
            f"{plan.memory:,}, so every step computes it again; set rank (for example "
            "rank=500) to approximate it once, which is far faster, or raise max_memory",
            UserWarning,
            stacklevel=level_of_caller(),
        )
