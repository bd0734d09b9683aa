"""The points of one tab, with the estimator that is trained on them."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import numpy as np

from widestreet._src.playground.ensemble_learner import EnsembleLearner
from widestreet._src.playground.learner import Learner, Motion
from widestreet._src.playground.machines import (
    MACHINES,
    OF_THE_KERNEL,
    Machine,
    Parameters,
    Point,
    checked_parameters,
    starting_parameters,
)
from widestreet._src.playground.path_learner import PathLearner

MOST_POINTS = 2000
_REFIT_TOL = 1e-8  # tolerance of the refit that a model is compared with


@dataclass(frozen=True, eq=False)
class Change:
    """Effect of the last change of a board.

    Attributes
    ----------
    left : list of Point
        Points that were removed, at the places where they were.
    motion : Motion
    seconds : float
        Time of the update of the model.
    notes : list of str
        Warnings of the estimator.
    """

    left: list[Point]
    motion: Motion
    seconds: float
    notes: list[str]


@dataclass(frozen=True)
class Refit:
    """A model that was fitted to all points from nothing, compared with the present one.

    Attributes
    ----------
    objective : float
        Dual objective of the refit.
    difference : float
        Largest difference of the decision values, or predictions, of all points.
    seconds : float
        Time of the refit.
    """

    objective: float
    difference: float
    seconds: float


class Board:
    """Points, parameters and a trained estimator.

    Parameters
    ----------
    machine : str
        Name of the estimator in `MACHINES`.
    places : iterable of tuple
        Coordinates and labels of the first points.

    Attributes
    ----------
    points : list of Point
    machine : str
    parameters : dict
    last : Change
    """

    def __init__(self, machine: str, places: Iterable[tuple[float, float, int]]) -> None:
        self._ids = count()
        self.machine, self.parameters = machine, starting_parameters(machine)
        self.points = [Point(next(self._ids), *place) for place in places]
        self._train_anew()

    @property
    def learner(self) -> Learner:
        """The learner that is trained on the points."""
        return self._learner

    @property
    def kind(self) -> Machine:
        """Definition of the estimator."""
        return MACHINES[self.machine]

    # -- changes -----------------------------------------------------------------------------------

    def add(self, x: float, y: float, label: int) -> None:
        """Add a point. Sets: everything."""
        if len(self.points) >= MOST_POINTS:
            raise ValueError(f"a board has at most {MOST_POINTS} points: remove some first")
        point = Point(next(self._ids), x, y, label)
        self._follow([*self.points, point], [point], [])

    def forget(self, id: int) -> None:
        """Remove a point. Sets: everything."""
        gone = self.find(id)
        self._follow([p for p in self.points if p.id != id], [], [gone])

    def move(self, id: int, x: float, y: float) -> None:
        """Move a point: add it at its new place, then remove it from the old one.

        Sets: everything.
        """
        gone = self.find(id)
        point = replace(gone, x=x, y=y)
        self._follow([point if p.id == id else p for p in self.points], [point], [gone])

    def set(self, parameters: Parameters) -> None:
        """Change parameters; new ones of the kernel make a refit. Sets: everything."""
        given = checked_parameters(self.machine, parameters)
        before, self.parameters = self.parameters, self.parameters | given
        changed = {name: value for name, value in given.items() if value != before[name]}
        try:
            if any(name in OF_THE_KERNEL for name in changed):
                self._train_anew()
            else:
                self._follow(self.points, [], [], changed)
        except BaseException:
            self.parameters = before
            self._train_anew()
            raise

    def use(self, machine: str) -> None:
        """Train another estimator, with the parameters that both have. Sets: everything."""
        names = starting_parameters(machine)
        self.parameters = names | {k: v for k, v in self.parameters.items() if k in names}
        self.machine = machine
        self._train_anew()

    def replace(self, places: Iterable[tuple[float, float, int]]) -> None:
        """Replace all points. Sets: everything."""
        self.points = [Point(next(self._ids), *place) for place in places]
        self._train_anew()

    def find(self, id: int) -> Point:
        """Return a point by its id."""
        for point in self.points:
            if point.id == id:
                return point
        raise ValueError(f"there is no point {id}")

    def _train_anew(self) -> None:
        """Train on all points, without a path. Sets: learner, last."""
        kind, start = self.kind, time.perf_counter()
        learner = EnsembleLearner if kind.online is None else PathLearner
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self._learner: Learner = learner(kind, self.parameters, self.points)
        self._finish([], start, caught)

    def _follow(
        self,
        points: list[Point],
        arriving: Sequence[Point],
        leaving: list[Point],
        parameters: Parameters | None = None,
    ) -> None:
        """Change the model; after an error the board is as it was. Sets: everything."""
        start = time.perf_counter()
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                self._learner.change(arriving, leaving, parameters or {})
        except BaseException:
            self._train_anew()
            raise
        self.points = points
        self._finish(leaving, start, caught)

    def _finish(self, left: list[Point], start: float, caught: Sequence[Any]) -> None:
        seconds = time.perf_counter() - start
        motion = self._learner.motion(self.points, left)
        notes = list(dict.fromkeys(str(one.message) for one in caught))
        self.last = Change(left, motion, seconds, notes)

    # -- a refit -----------------------------------------------------------------------------------

    def refit(self) -> Refit:
        """Fit the batch estimator to all points and compare the models."""
        if self._learner.certificate() is None or (
            self.kind.targets == "labels" and len({p.label for p in self.points}) < 2
        ):
            raise ValueError("there is no model to compare: add points, of both classes if any")
        exact = {} if self.kind.online is None else {"tol": _REFIT_TOL, "gap_tol": None}
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows = self.kind.rows(self.points)
            other = self.kind.batch(**self.parameters, **exact, n_jobs=1, random_state=0)
            other.fit(*rows)
        seconds = time.perf_counter() - start
        read = "predict" if self.kind.targets == "values" else "decision_function"
        mine, theirs = (getattr(m, read)(rows[0]) for m in (self._learner.estimator, other))
        difference = float(np.abs(mine - theirs).max())
        return Refit(float(other.certificate_.dual_objective), difference, seconds)
