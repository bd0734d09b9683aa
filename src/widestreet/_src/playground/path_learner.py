"""An online estimator that follows the points of a board along exact paths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from widestreet._src.arrays import Ints
from widestreet._src.certificate import Certificate
from widestreet._src.estimators.online.machine import OnlineMachine
from widestreet._src.estimators.online.path_optimum import PathOptimum
from widestreet._src.playground.learner import (
    BOUND_SUPPORT,
    FREE_SUPPORT,
    MOST_FRAMES,
    NO_SUPPORT,
    Motion,
    constant_motion,
)
from widestreet._src.playground.machines import Machine, Parameters, Point
from widestreet._src.playground.recording import Recording, Snapshot, recorded


class PathLearner:
    """An online estimator, with the path of its last change.

    Parameters
    ----------
    machine : Machine
        Machine with an online estimator.
    parameters : mapping
    points : sequence of Point

    Attributes
    ----------
    estimator : OnlineMachine
    """

    def __init__(self, machine: Machine, parameters: Parameters, points: Sequence[Point]) -> None:
        assert machine.online is not None
        self.estimator: OnlineMachine = machine.online(**parameters, n_jobs=1)
        self._machine = machine
        self._row: dict[int, int] = {}  # id of the row of each point
        self._left: list[int] = []  # ids of the rows that the last change removed
        self._arrived = 0
        self._recording = Recording(MOST_FRAMES)
        self._tubes = (0.0, 0.0)  # epsilon before and after the last change
        self.change(points, (), {})

    @property
    def _optimum(self) -> PathOptimum | None:
        """The optimum; None while there are no rows, or rows of one class."""
        if not hasattr(self.estimator, "_state"):
            return None
        found = self.estimator._present().optima.values()
        return next((one for one in found if isinstance(one, PathOptimum)), None)

    # -- changes -----------------------------------------------------------------------------------

    def change(
        self, arriving: Sequence[Point], leaving: Sequence[Point], parameters: Parameters
    ) -> None:
        """Add points, remove points and change parameters. Sets: everything."""
        before = float(getattr(self.estimator, "epsilon", 0.0))
        self._left = [self._row.pop(point.id) for point in leaving]
        with recorded(self.estimator, MOST_FRAMES) as self._recording:
            self.estimator.set_params(**parameters)
            if arriving:
                self._add(arriving)
            if leaving or (parameters and self._row):
                self.estimator.forget(self._left)
        self._tubes = before, float(getattr(self.estimator, "epsilon", 0.0))

    def _add(self, points: Sequence[Point]) -> None:
        known = {"classes": [0, 1]} if self._machine.targets == "labels" else {}
        estimator: Any = self.estimator
        estimator.partial_fit(*self._machine.rows(points), **known)
        self._row |= {point.id: self._arrived + k for k, point in enumerate(points)}
        self._arrived += len(points)

    # -- the models --------------------------------------------------------------------------------

    def motion(self, points: Sequence[Point], left: Sequence[Point]) -> Motion:
        """Return the models of the last change; `left` are the points that it removed."""
        shown = [*points, *left]
        optimum = self._optimum
        if optimum is None:
            labels = self._machine.targets == "labels"
            return constant_motion(points, len(shown), labels=labels)
        snapshots = [*self._recording.snapshots, Snapshot.of(optimum, 1.0)]
        coef, intercept = np.zeros((len(snapshots), len(shown))), np.zeros(len(snapshots))
        tube, support = np.zeros(len(snapshots)), np.zeros(coef.shape, dtype=np.uint8)
        column = self._columns(points)
        formulation, tol = self.estimator._formulation(), self.estimator.tol
        for frame, one in enumerate(snapshots):
            reading = formulation.read(one.bias, tol)
            own = column[one.ids]
            coef[frame, own] = one.coef / reading.divisor
            support[frame, own] = np.where(one.coef != 0, BOUND_SUPPORT, NO_SUPPORT)
            support[frame, own[one.free]] = FREE_SUPPORT
            intercept[frame] = reading.intercept / reading.divisor
            a, b = self._tubes
            epsilon: Any = reading.attributes.get("epsilon_", a + one.theta * (b - a))
            tube[frame] = epsilon
        if self.estimator.kernel == "linear" and optimum.store.centre is not None:
            # the coefficients sum to zero, so that w.(x - centre) + b = w.x + (b - w.centre)
            X = np.array(self._machine.rows(shown)[0], dtype=np.float64)
            intercept -= coef @ X @ optimum.store.centre
        pieces = self._recording.pieces
        return Motion(coef, intercept, tube, support, pieces, on_path=pieces > 0)

    def _columns(self, points: Sequence[Point]) -> Ints:
        """Return the column of each row by its id: points, then those that left."""
        rows = [*(self._row[point.id] for point in points), *self._left]
        column = np.full(self._arrived, -1, dtype=np.int64)
        column[rows] = np.arange(len(rows))
        return column

    def certificate(self) -> Certificate | None:
        """Return the certificate of the model; None if there is no model."""
        return self.estimator.certificate_ if self.estimator.__sklearn_is_fitted__() else None

    def counts(self) -> dict[str, int]:
        """Return figures about the path since the estimator was made."""
        optimum = self._optimum
        return {} if optimum is None else dict(vars(optimum.path.counts))
