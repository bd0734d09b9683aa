"""What the coordinator tells all shards: everything that a shard without memory needs."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from widestreet._src.arrays import Floats, Ints
from widestreet._src.shards.columns import Features
from widestreet._src.shards.expansion import Expansion
from widestreet._src.shards.point import Point


def _no_rows() -> Ints:
    return np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Released:
    """Rows that left the working set, with their scores.

    Attributes
    ----------
    ids, score : ndarray
    version : int
        Of the expansion that the scores belong to.
    """

    ids: Ints = field(default_factory=_no_rows)
    score: Floats = field(default_factory=lambda: np.empty(0))
    version: int = 0


@dataclass(frozen=True, eq=False)
class News:
    """The present point, and what is computed from it.

    Attributes
    ----------
    serial : int
        Grows with every publication.
    expansion : Expansion
    point : Point
    members : ndarray
        Rows of the working set: no shard looks at them.
    released : Released
        Rows that have left it since the last news. It saves work, nothing else.
    double : bool
        Whether kernel values of surveys are float64.
    rows : Features, optional
        The support vectors; None where every shard has the rows of all shards.
    epoch : int
        Grows when versions of the expansion start again at zero.
    """

    serial: int
    expansion: Expansion
    point: Point
    members: Ints = field(default_factory=_no_rows)
    released: Released = field(default_factory=Released)
    double: bool = False
    rows: Features | None = None
    epoch: int = 0
