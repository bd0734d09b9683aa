"""Models at the breakpoints of a change of an online estimator."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from widestreet._src.arrays import Floats, Ints
from widestreet._src.engines.homotopy.parametric_optimum import PathSegment
from widestreet._src.estimators.online.machine import OnlineMachine
from widestreet._src.estimators.online.path_optimum import PathOptimum


@dataclass(frozen=True, eq=False)
class Snapshot:
    """An optimum on a path.

    Attributes
    ----------
    theta : float
        Position on the path, from 0 to 1.
    ids : ndarray
        Ids of the rows of the problem.
    coef : ndarray
        Summed coefficient of each row.
    bias : ndarray
        Bias of each group.
    free : ndarray
        Indices into `ids` of the rows with a free variable.
    """

    theta: float
    ids: Ints
    coef: Floats
    bias: Floats
    free: Ints

    @classmethod
    def of(cls, optimum: PathOptimum, theta: float) -> Snapshot:
        """Return the present optimum."""
        ids = optimum.store.ids[optimum.members]
        return cls(theta, ids, optimum.coef, optimum.bias.copy(), optimum.path.free.rows.copy())


class Recording:
    """Snapshots of optima at breakpoints, evenly thinned to at most `limit`.

    Parameters
    ----------
    limit : int

    Attributes
    ----------
    snapshots : list of Snapshot
    pieces : int
        Number of straight pieces seen.
    """

    def __init__(self, limit: int) -> None:
        self.snapshots: list[Snapshot] = []
        self.pieces = 0
        self._limit, self._stride = limit, 1

    def see(self, optimum: PathOptimum, segment: PathSegment) -> None:
        """Keep the optimum at the start of a straight piece, or not. Sets: everything."""
        if self.pieces % self._stride == 0:
            self.snapshots.append(Snapshot.of(optimum, segment.theta))
        self.pieces += 1
        if len(self.snapshots) > self._limit:
            self.snapshots = self.snapshots[::2]
            self._stride *= 2


@contextmanager
def recorded(machine: OnlineMachine, limit: int) -> Iterator[Recording]:
    """Record the changes of an estimator within a block.

    Optima that the block computes anew have no path and are not recorded.

    Parameters
    ----------
    machine : OnlineMachine
    limit : int
        Largest number of snapshots.
    """
    recording = Recording(limit)
    optima = [one for one in optima_of(machine) if isinstance(one, PathOptimum)]
    for one in optima:
        one.observe = lambda segment, optimum=one: recording.see(optimum, segment)
    try:
        yield recording
    finally:
        for one in optima:
            one.observe = None


def optima_of(machine: OnlineMachine) -> list[object]:
    """Return the optima of an estimator; none before its first row."""
    return list(machine._state.optima.values()) if hasattr(machine, "_state") else []
