"""The mean of many classifiers, and its error on held-out rows.

Each classifier is a point a of the simplex over the rows, with margins h = Q a
(exponentiated_gradient.py), and so is their mean. Rows of weight zero have margins as well, so that
the margins of held-out rows cost nothing.
"""

from __future__ import annotations

from math import inf

import numpy as np

from widestreet._src.arrays import Floats

_MEANS_PER_DOUBLING = 2.0  # means that are kept while the size doubles
_FACTOR_PAST_BEST, _MEMBERS_PAST_BEST = 2, 20  # the engine ends at 2 * best size + 20 members


class Ensemble:
    """Mean of the points that were added, at the current size and at some earlier sizes.

    Parameters
    ----------
    judged : ndarray of shape (n,), optional
        Weights of held-out rows, zero for training rows.

    Attributes
    ----------
    means : dict
        For some sizes, including the last, the mean and its a'Qa.
    errors : list of float
        For every size, the total weight of the held-out rows that the mean misclassifies.
    """

    def __init__(self, judged: Floats | None = None) -> None:
        self.judged = judged
        self.means: dict[int, tuple[Floats, float]] = {}
        self.errors: list[float] = []
        self._best = 0  # size with the smallest error, of several the largest
        self._etas = 0.0
        self._weights: Floats | float = 0.0  # sum of eta times weights
        self._margins: Floats | float = 0.0  # sum of eta times margins

    def add(self, eta: float, weight: Floats, margin: Floats) -> None:
        """Add a point to the mean. Sets: everything.

        The means are replaced in one assignment, so that an interrupt leaves them consistent.
        """
        self._weights = self._weights + eta * weight
        self._margins = self._margins + eta * margin
        self._etas += eta
        mean = self._weights / self._etas
        square = float(mean @ self._margins) / self._etas
        size = self.size
        if self.judged is not None:
            error = float(self.judged @ (self._margins <= 0))
            if not self.errors or error <= self.errors[self._best - 1]:
                self._best = size + 1
            self.errors.append(error)
        kept = dict(self.means)
        if not _remembered(size):
            kept.pop(size, None)
        self.means = kept | {size + 1: (mean, square)}

    @property
    def size(self) -> int:
        """Number of points."""
        return next(reversed(self.means), 0)

    @property
    def enough(self) -> bool:
        """True if the size with the smallest error on held-out rows is far exceeded."""
        if not self.errors:
            return False
        return self.size >= _FACTOR_PAST_BEST * self._best + _MEMBERS_PAST_BEST


def _remembered(size: int) -> bool:
    """Return whether the mean of a size is kept: the first beyond each power of sqrt(2)."""
    if size < 1:
        return False
    step = np.floor(_MEANS_PER_DOUBLING * np.log2(size))
    return size == int(np.ceil(2.0 ** (step / _MEANS_PER_DOUBLING)))


def sufficient_size(errors: list[list[float]]) -> float:
    """Return a size that the best one cannot exceed; infinite if it can be any.

    All larger sizes have a larger total error than the best of the sizes whose means are kept.

    Parameters
    ----------
    errors : list of list of float
        As for `best_size`.
    """
    sizes = range(1, 1 + max(map(len, errors), default=0))
    total = {size: _total(errors, size) for size in sizes}
    best = min((total[size] for size in sizes if _remembered(size)), default=inf)
    largest = max((size for size in sizes if total[size] <= best), default=0)
    return largest if largest < len(sizes) else inf


def _total(errors: list[list[float]], size: int) -> float:
    return sum(one[min(size, len(one)) - 1] for one in errors)


def best_size(sizes: list[int], errors: list[list[float]]) -> tuple[int, float]:
    """Return the size with the smallest total error, of several the largest, and this error.

    Parameters
    ----------
    sizes : list of int
        Sizes to choose from.
    errors : list of list of float
        Errors of several ensembles for every size; the last one counts for larger sizes.
    """
    total = [_total(errors, size) for size in sizes]
    best = min(total)
    return max(size for size, wrong in zip(sizes, total, strict=True) if wrong <= best), best
