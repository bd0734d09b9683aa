"""A starting point from the solution of a sample of the rows.

In a nu-SVC or a one-class SVM zero is not feasible: boxes of a part nu of the rows must be filled.
If boxes are filled in the order of the rows, about half of these are the wrong ones, and each of
them has to pass through the working set. Instead,

    1) solve the dual of m of the n rows, with boxes that are n / m times as large,
    2) score all rows by its support vectors, in float32,
    3) fill the boxes in the order of F = t - u.

The first working set has the rows nearest to the biases of the sample: these are most likely to be
free or at the wrong bound. A large sample has a starting point from a sample of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from widestreet._src.engines.budget import Budget
from widestreet._src.engines.sampling.prsvm_rounds import Sample
from widestreet._src.engines.solution import Solution
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.poll import Poll
from widestreet._src.problems.dual import Dual, select
from widestreet._src.problems.goal import Goal
from widestreet._src.status import Status
from widestreet._src.training.problem import Problem

Solve: TypeAlias = Callable[[Sample, Goal], Solution]

_ROWS_PER_SAMPLED = 8
_LEAST_ROWS = 8192  # of a problem; in a smaller one the first rounds see most rows
_LARGEST_TIME = 0.25  # of the time that is left, for the sample
_NEAREST_ROWS = 2048
_TOLERANCE = 0.01  # of the standard deviation of a score over samples, if all rows had a full box


def is_useful(problem: Problem, budget: Budget) -> bool:
    """Return whether a problem has many rows, no starting point, and zero is not feasible.

    A problem with targets (nu-SVR) starts with scores of zero, because the two variables of a row
    cancel: that is closer to the optimum than a point with all of them at the right bound. The pair
    steps of a sample are not those of the problem: if they are limited, no sample is solved.
    """
    dual = problem.dual
    homogeneous = bool(dual.total.any()) and not dual.target.any()
    large = dual.rows >= _LEAST_ROWS and budget.max_steps < 0
    return problem.start is None and homogeneous and large


def sampled_start(
    gram: Gram,
    problem: Problem,
    solve: Solve,
    budget: Budget,
    rng: np.random.Generator,
    poll: Poll,
) -> Problem:
    """Return the problem with a starting point from a sample.

    Raises OutOfBudget if the time is over, KeyboardInterrupt if the fit is stopped.

    Parameters
    ----------
    gram : Gram
        Kernel values between all rows.
    problem : Problem
    solve : callable
        Takes a Sample and a Goal, and returns a Solution.
    budget : Budget
    rng : numpy.random.Generator
    poll : Poll
        Counts all kernel values, those of the sample included.
    """
    dual = problem.dual
    rows = np.sort(rng.choice(dual.rows, dual.rows // _ROWS_PER_SAMPLED, replace=False))
    part = _enlarged(select(dual, rows), dual.rows / len(rows))
    tol = _TOLERANCE * float(np.sqrt(((part.upper - part.lower) ** 2).sum()))
    sample = Sample(rows, gram.select(rows), part, None, budget.part(_LARGEST_TIME), rng)
    found = solve(sample, Goal(tol))
    poll.kernel_values += found.kernel_values
    if found.status == Status.INTERRUPTED:
        raise KeyboardInterrupt
    every, support = np.arange(dual.rows), rows[found.point.ids]
    score = gram.scan(every, support, found.point.coef, dtype=np.float32, poll=poll)
    distance = np.abs(dual.indicator(score) - found.bias[dual.group]).min(axis=0)
    first = np.argpartition(distance, _NEAREST_ROWS)[:_NEAREST_ROWS]
    return replace(problem, start=dual.feasible_point(score), first=np.sort(first))


def _enlarged(dual: Dual, factor: float) -> Dual:
    """Return a dual with larger boxes, and sums that fit into them."""
    lower, upper = factor * dual.lower, factor * dual.upper
    mine = [dual.group == g for g in range(dual.groups)]
    least, most = ([float(bound[at].sum()) for at in mine] for bound in (lower, upper))
    return replace(dual, lower=lower, upper=upper, total=np.clip(dual.total, least, most))
