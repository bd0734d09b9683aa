"""The rows that a walk of the path engine looks at.

A step needs h only of rows where it may soon be zero, and of thousands of bound rows next to none
is so. A walk looks at all rows now and then; what it sees then, h and its slope dh, tells which
ones to look at in between: free rows, rows whose data move, and the m bound variables of least

    |h| / (|dh| + mean |dh|)

the mean because slopes turn at breakpoints. This is a guess. The scores of all other rows are left
alone until the walk looks at all of them again, at the latest at its end: one product brings them
up to date, and who is on the wrong side of h = 0 was overlooked. The point is the optimum of other
data then, with targets that make these right, and a second path leads to the true ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from widestreet._src.arrays import Bools, Floats

if TYPE_CHECKING:
    from widestreet._src.engines.homotopy.parametric_optimum import Path

ALL = slice(None)

_NEAR = 128  # bound variables to look at
_WIDER = 4  # times as many on the second path
_AGAIN = 50  # steps after which to look at all rows
_WORTH = 300_000  # kernel values of all rows with the free ones from which on it pays
_SMALL = 1e-100  # against division by zero


class Sight:
    """What a walk looks at: `path.watched`.

    Parameters
    ----------
    path : Path
    moving : ndarray of bool
        Rows whose data move.
    near : int or None
        How many bound variables to look at; None for as many as is usual, 0 for all.
    """

    def __init__(self, path: Path, moving: Bools, near: int | None) -> None:
        self.path, self._moving = path, moving
        self.near = _NEAR if near is None else near
        self._able = self.near > 0 and int(np.count_nonzero(moving)) <= self.near
        self._steps = 0

    @property
    def whole(self) -> bool:
        return isinstance(self.path.watched, slice)

    def worn(self) -> bool:
        """Count a step; whether it is time to look at all rows again."""
        self._steps += 1
        return self._steps > _AGAIN and not self.whole

    @property
    def pays(self) -> bool:
        """Whether to look at fewer rows takes less time."""
        return self._able and self.path.rows * len(self.path.free) >= _WORTH

    @property
    def wider(self) -> int:
        """How many to look at where so many were too few."""
        return _WIDER * self.near

    def narrow(self, slope: Floats, variable: int) -> None:
        """Look at fewer rows from here on.

        Parameters
        ----------
        slope : ndarray
            Of h.
        variable : int
            Who is about to change its set.

        Sets: path.watched.
        """
        path = self.path
        able = path.upper > path.lower
        able[path.free.variables] = False
        bound = np.flatnonzero(able)
        if len(bound) <= self.near:
            return
        rate = np.abs(slope[bound])
        rate += max(float(rate.mean()), _SMALL)
        near = np.argpartition(np.abs(path.slack()[bound]) / rate, self.near)[: self.near]
        watched = self._moving.copy()
        watched[bound[near] // path.layers] = True
        watched[path.free.rows] = True
        watched[variable // path.layers] = True
        path.watched = np.flatnonzero(watched)
        self._score, self._beta = path.score.copy(), path.beta.copy()
        self._steps = 0

    def widen(self) -> Bools:
        """Look at all rows again; returns which variables were out of sight.

        Sets: path.score, path.watched.
        """
        path, free = self.path, self.path.free.variables
        change = path.beta - self._beta
        score = self._score + path.free.spread(change[free])
        change[free] = 0.0
        path.score = score + path.product(change.reshape(-1, path.layers).sum(axis=1))
        unseen = np.ones((path.rows, path.layers), dtype=bool)
        unseen[path.watched] = False
        path.watched = ALL
        return unseen.ravel()
