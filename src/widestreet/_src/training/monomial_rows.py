"""Problems of polynomial kernels as problems of a linear kernel on the monomials.

Kernel values of rows far from the origin are large, and sums over them cancel: float64 cannot tell
an optimum then. The monomials can be centred like the rows of a linear kernel, which removes most
of their size, and the sums of a linear kernel have nearly all digits
(kernels/accurate_combination.py).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from widestreet._src.arrays import Floats, Ints
from widestreet._src.kernels.accurate_combination import combination
from widestreet._src.kernels.double_double import Pair, two_sum
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import Kernel, Poly
from widestreet._src.kernels.monomials import Monomials, monomial_count
from widestreet._src.problems.dual import Dual
from widestreet._src.rows import DenseRows, Rows
from widestreet._src.rows.features import features
from widestreet._src.training.settings import Settings
from widestreet._src.training.trained import Trained

_MOST_VALUES = 10_000_000  # of the monomials of all rows: about a second
_FEW_VALUES = 4_000_000  # for which even more monomials than rows take little time
_MONOMIALS_PER_ROW = 4  # more make kernel values too expensive
_VALUES_AT_ONCE = 1 << 16
_DOUBTFUL = 0.1  # of tol: a bound on rounding above this is too much
_MEMORY = 0.25  # of max_memory, for the monomials


@dataclass(frozen=True, eq=False)
class MonomialRows:
    """Rows of monomials for a linear kernel.

    Attributes
    ----------
    rows : DenseRows
    centre : ndarray
        Point that was subtracted from the monomials.
    """

    rows: DenseRows
    centre: Floats

    def uncentred(self, trained: Trained, kept: Ints | None) -> Trained:
        """Return a solution with the biases of the polynomial kernel."""
        point = trained.solution.point
        ids = point.ids if kept is None else kept[point.ids]
        shift = float(self.centre @ combination(self.rows, ids, point.coef))
        solution = replace(trained.solution, bias=trained.solution.bias - shift)
        return replace(trained, solution=solution, bias=trained.bias - shift)


def monomial_rows(
    kernel: Kernel, rows: Rows, dual: Dual, settings: Settings
) -> MonomialRows | None:
    """Return the monomials of all rows, if rounding would leave the optimum in doubt.

    The result is None if float64 suffices, or if there are too many monomials.
    """
    n, columns = rows.shape
    count = monomial_count(kernel, columns)
    if not isinstance(kernel, Poly) or count is None:
        return None
    room = min(_MOST_VALUES, int(_MEMORY * settings.max_memory / 16))
    wide = count > _MONOMIALS_PER_ROW * n and n * count > _FEW_VALUES
    if wide or n * count > room or not _in_doubt(kernel, rows, dual, settings.goal.tol):
        return None
    monomials = Monomials.of(kernel, columns)
    high, low = np.empty((n, count)), np.empty((n, count))
    step = max(1, _VALUES_AT_ONCE // count)
    for a in range(0, n, step):
        part = slice(a, a + step)
        high[part], low[part] = monomials.pairs(features(rows, part, centred=False))
    centre = np.zeros(count)
    if float(dual.total.sum()) == 0.0:
        centre = high.mean(axis=0)
        for a in range(0, n, step):
            part = slice(a, a + step)
            total, error = Pair(high[part], low[part]).plus(-centre)
            high[part], low[part] = two_sum(total, error)
    return MonomialRows(DenseRows(high, low=low, origin=centre), centre)


def _in_doubt(kernel: Poly, rows: Rows, dual: Dual, tol: float) -> bool:
    """Return whether rounding may matter if all coefficients are at their bounds."""
    size = float(np.maximum(np.abs(dual.lower), np.abs(dual.upper)).sum())
    error = float(Gram(kernel, rows).score_error(dual.rows, size, 0.0))
    return not 2.0 * error <= _DOUBTFUL * tol
