"""The mean of many machines, and how good it is at rows that none of them has seen.

Each machine is a point a of the simplex over the rows, with margins h = Q a, as in
engine.py, and so is their mean. Rows that have no weight in any of them have
margins, too: a mean over some rows says what it thinks of the others at no cost.
"""

from __future__ import annotations

import numpy as np

from widestreet._src.arrays import Floats

_SIZES = 2.0  # means that are remembered while their size doubles
_TWICE, _MORE = 2, 20  # members after which it is enough: twice as many as were best, and some more


class Ensemble:
    """The mean of the points that were added, now and at some sizes it had before.

    Parameters
    ----------
    judged : ndarray of shape (n,), optional
        What each of the rows counts for that are to judge the mean; zero for the others.

    Attributes
    ----------
    means : dict
        For some sizes, the last included, the mean and its a'Qa.
    errors : list of float
        For every size, the sum of what the rows count for that the mean is wrong about.
    """

    def __init__(self, judged: Floats | None = None) -> None:
        self.judged = judged
        self.means: dict[int, tuple[Floats, float]] = {}
        self.errors: list[float] = []
        self._etas = 0.0
        self._weights: Floats | float = 0.0  # sum of eta times weights
        self._margins: Floats | float = 0.0  # and of eta times margins

    def add(self, eta: float, weight: Floats, margin: Floats) -> None:
        """Add a point to the mean. Sets: everything.

        The means are replaced at once: after an interrupt the point is in them or it is not.
        """
        self._weights = self._weights + eta * weight
        self._margins = self._margins + eta * margin
        self._etas += eta
        mean = self._weights / self._etas
        square = float(mean @ self._margins) / self._etas
        if self.judged is not None:
            self.errors.append(float(self.judged @ (self._margins <= 0)))
        kept = {size: one for size, one in self.means.items() if _remembered(size)}
        self.means = kept | {self.size + 1: (mean, square)}

    @property
    def size(self) -> int:
        """Number of points."""
        return max(self.means, default=0)

    @property
    def enough(self) -> bool:
        """Whether the size at which it was best, according to those who judge, is long past."""
        if not self.errors:
            return False
        best = self.size - int(np.argmin(self.errors[::-1]))
        return self.size >= _TWICE * best + _MORE


def _remembered(size: int) -> bool:
    """Whether a size is the first beyond a power of the root of two."""
    if size < 1:
        return False
    step = np.floor(_SIZES * np.log2(size))
    return size == int(np.ceil(2.0 ** (step / _SIZES)))


def best_size(sizes: list[int], errors: list[list[float]]) -> int:
    """The size with the fewest errors in all; of several the largest.

    Parameters
    ----------
    sizes : list of int
        To choose from.
    errors : list of list of float
        Of several ensembles, for every size; those that ended sooner stay as they were.
    """
    total = [sum(one[min(size, len(one)) - 1] for one in errors) for size in sizes]
    return max(size for size, wrong in zip(sizes, total, strict=True) if wrong <= min(total))
