"""Scores of an earlier examination, and what they prove about the present point.

Let w be the vector of a point in feature space, and delta the change of the coefficients since an
examination. A score of a row x at that point differs from the present one by at most

    |w_now - w_then| sqrt(K(x, x)),       |w_now - w_then|^2 = delta' K delta

if the kernel is positive semidefinite. Together with the error of the score this often proves that
the row cannot affect any figure, and the row is not scored again. Other scores are updated by the
changed coefficients, where that takes fewer kernel values than all coefficients. An examination
uses scores of examinations only, never those of an engine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from widestreet._src.arrays import Floats, Ints
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.poll import Poll

_UNIT = 2.0**-53  # unit roundoff of float64

# What is known of the score of a row: nothing; a score of an older point than the last one that was
# examined; a score of that point; a float32 score of the present point; a float64 score of it.
UNKNOWN, OLDER, LAST, ROUGH, EXACT = range(5)

Arrays: TypeAlias = tuple[Floats, Floats, NDArray[np.int8]]  # scores, errors and what is known


@dataclass(frozen=True, eq=False)
class Examined:
    """A point that is or was examined.

    Attributes
    ----------
    version : int
        Number of the point among those that were published.
    ids, coef : ndarray
        Numbers of the support vectors, ascending, and their coefficients.
    """

    version: int
    ids: Ints
    coef: Floats

    def change_to(self, ids: Ints, coef: Floats) -> tuple[Ints, Floats]:
        """Return the rows whose coefficients differ at another point, and the differences."""
        every, at = np.unique(np.concatenate([ids, self.ids]), return_inverse=True)
        change = np.zeros(len(every))
        change[at[: len(ids)]] = coef
        change[at[len(ids) :]] -= self.coef
        moved = change != 0
        return every[moved], change[moved]


@dataclass(frozen=True, eq=False)
class Record:
    """Scores of an examination, as they are kept after it.

    Attributes
    ----------
    point : Examined
        The point of the examination.
    before : Examined or None
        The point examined before it, whose scores it used.
    counts : tuple of int
        Number of rows that each screening scored in float64.
    drift : float
        Bound on |w - w_before|.
    roundings : tuple of float
        Bounds on the rounding errors of the float64 scores of the examination before, and of this.
    load : callable
        Returns the arrays.
    """

    point: Examined
    before: Examined | None
    counts: tuple[int, ...]
    drift: float
    roundings: tuple[float, float]
    load: Callable[[], Arrays]


@dataclass(frozen=True, eq=False)
class Change:
    """Changes of coefficients since the last examination.

    Attributes
    ----------
    before : Examined
        The point of that examination.
    columns, values : ndarray
        Positions of the rows among the right rows of the Gram matrix, and the changes.
    """

    before: Examined
    columns: Ints
    values: Floats


def distance(gram: Gram, change: Floats, poll: Poll | None = None) -> float:
    """Bound |w_now - w_then| from the changes of the coefficients; infinite if it overflows.

    Parameters
    ----------
    gram : Gram
        Kernel values between the rows whose coefficients changed; positive semidefinite.
    change : ndarray
    poll : Poll, optional
    """
    if len(change) == 0:
        return 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        score, size = gram.scan(None, None, change, poll=poll), np.abs(change)
        error = float(gram.score_error(len(change), float(size.sum()), float(change.sum())))
        products = float(size @ np.abs(score))
        square = float(change @ score) + error * size.sum() + len(change) * _UNIT * products
        # the changes are differences of coefficients, rounded
        rounding = 2.0 * _UNIT * float(size @ lengths(gram, None))
        found = float(np.sqrt(max(0.0, square))) * (1.0 + 4.0 * _UNIT) + rounding
    return found if np.isfinite(found) else float("inf")


def lengths(gram: Gram, rows: Ints | None) -> Floats:
    """Return upper bounds on sqrt(K(x, x)) of left rows."""
    if gram.ones_on_diagonal:
        return np.ones(gram.shape[0] if rows is None else len(rows))
    safety = 1.0 + 1e-6  # sums of squares of fewer than 1e9 features are rounded by less
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(safety * np.sqrt(np.maximum(0.0, gram.diag(rows))))
