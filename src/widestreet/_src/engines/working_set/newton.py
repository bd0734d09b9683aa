"""Newton steps on the free variables of a working set, if they are few enough.

The core takes the steps (`core/solve/newton.cpp`); this module decides whether to take them.
"""

from __future__ import annotations

from math import fsum

import numpy as np

from widestreet import _core
from widestreet._src.arrays import Floats
from widestreet._src.engines.working_set.tile import WorkingSet

MAX_FREE = 2000  # a factorisation of this order takes some tenths of a second


def polish(work: WorkingSet) -> bool:
    """Take Newton steps until one is not cut at a bound, or until too many were cut.

    Returns
    -------
    bool
        True if the last step was not cut: the free variables are at their maximiser.

    Sets: beta and score of the working set.
    """
    free = int(work.free().sum())
    if free == 0 or free > MAX_FREE or 8 * free**2 > work.spare:
        return False
    return _core.newton_steps(
        work.tile,
        work.variables,
        work.beta,
        work.score,
        threads=work.threads,
        scratch=work.lend(8 * free**2),
        poll=work.poll.look,
    )


def settle_sum(work: WorkingSet, others: Floats, total: float) -> None:
    """Move the smallest free variable so that the sum of all coefficients has no rounding error.

    The scores of a centred linear kernel are those of the rows only if the sum is right; where
    kernel values are large, small errors of the sum count.

    Parameters
    ----------
    work : WorkingSet
    others : ndarray
        Coefficients of the rows outside the working set.
    total : float
        Sum of all coefficients.

    Sets: beta and score of the working set.
    """
    beta = work.beta[:, work.present]
    lack = fsum([total, *(-beta.ravel()).tolist(), *(-others).tolist()])
    after = beta + lack
    inside = (after > work.lower[:, work.present]) & (after < work.upper[:, work.present])
    size = np.where(work.free() & inside, np.abs(after), np.inf)
    if lack == 0 or not np.isfinite(size).any():
        return
    layer, row = np.unravel_index(int(np.argmin(size)), size.shape)
    work.beta[layer, row] += lack
    work.score[work.present] += lack * work.tile[row, work.present]
