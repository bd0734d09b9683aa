"""The mean of many classifiers, and its error on held-out rows.

Each classifier is a point a of the simplex over the rows, with margins h = Q a
(exponentiated_gradient.py), and so is their mean. Rows of weight zero have margins as well, so that
the margins of held-out rows cost nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from widestreet._src.arrays import Floats

_MEANS_PER_DOUBLING = 2.0  # means that are kept while the size doubles
_FACTOR_PAST_BEST, _MEMBERS_PAST_BEST = 2, 20  # the engine ends at 2 * best size + 20 members


@dataclass(frozen=True, eq=False)
class _Sums:
    """Sums over points: of eta, and of eta times weights and margins."""

    size: int
    eta: float
    weight: Floats
    margin: Floats

    def mean(self) -> tuple[Floats, float]:
        """Return the mean of the points and its a'Qa."""
        mean = self.weight / self.eta
        return mean, float(mean @ self.margin) / self.eta


class Ensemble:
    """Mean of the points that were added, at the current size and at some earlier sizes.

    Parameters
    ----------
    judged : ndarray of shape (n,), optional
        Weights of held-out rows, zero for training rows. If given, no earlier means are kept.

    Attributes
    ----------
    errors : list of float
        For every size, the total weight of the held-out rows that the mean misclassifies.
    """

    def __init__(self, judged: Floats | None = None) -> None:
        self.judged = judged
        self.errors: list[float] = []
        self._best = 0  # size with the smallest error, of several the largest
        self._earlier: dict[int, tuple[Floats, float]] = {}
        self._sums = _Sums(0, 0.0, np.zeros(1), np.zeros(1))

    def add(self, eta: float, weight: Floats, margin: Floats) -> None:
        """Add a point to the mean. Sets: everything.

        The sums are replaced in one assignment, so that an interrupt leaves them consistent.
        """
        old = self._sums
        new = _Sums(
            old.size + 1, old.eta + eta, old.weight + eta * weight, old.margin + eta * margin
        )
        if self.judged is None:
            if _remembered(old.size):
                self._earlier = self._earlier | {old.size: old.mean()}
        else:
            error = float(self.judged.dot(new.margin <= 0))
            if not self.errors or error <= self.errors[self._best - 1]:
                self._best = new.size
            self.errors.append(error)
        self._sums = new

    @property
    def size(self) -> int:
        """Number of points."""
        return self._sums.size

    @property
    def means(self) -> dict[int, tuple[Floats, float]]:
        """For some sizes, including the last, the mean and its a'Qa."""
        return self._earlier | ({self.size: self._sums.mean()} if self.size else {})

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
