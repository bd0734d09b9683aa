"""Newton steps on the free variables of a working set, if they are few enough.

The core takes the steps (`core/solve/newton.cpp`); this module decides whether to take them.
"""

from __future__ import annotations

from widestreet import _core
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
