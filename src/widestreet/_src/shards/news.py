"""News: the message of the coordinator to all shards.

It has everything that a shard without memory needs to answer questions.
"""

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
        Version of the expansion that the scores were computed from.
    """

    ids: Ints = field(default_factory=_no_rows)
    score: Floats = field(default_factory=lambda: np.empty(0))
    version: int = 0


@dataclass(frozen=True, eq=False)
class News:
    """The present point and its expansion.

    Attributes
    ----------
    serial : int
        Grows with every publication.
    expansion : Expansion
    point : Point
    members : ndarray
        Rows of the working set, which surveys leave out.
    released : Released
        Rows that have left the working set since the last news. Their scores save work.
    double : bool
        True if surveys compute kernel values in float64.
    rows : Features, optional
        Features of the support vectors; None if every shard has the rows of all shards.
    epoch : int
        Grows whenever the versions of expansions start again at zero.
    """

    serial: int
    expansion: Expansion
    point: Point
    members: Ints = field(default_factory=_no_rows)
    released: Released = field(default_factory=Released)
    double: bool = False
    rows: Features | None = None
    epoch: int = 0
