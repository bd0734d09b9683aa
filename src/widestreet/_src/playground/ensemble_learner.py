"""An ensemble that is fitted again after every change of the points of a board."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from widestreet._src.certificate import Certificate
from widestreet._src.estimators.ensemble import EnsembleSVC
from widestreet._src.playground.learner import (
    FREE_SUPPORT,
    MOST_FRAMES,
    NO_SUPPORT,
    Motion,
    constant_motion,
)
from widestreet._src.playground.machines import Machine, Parameters, Point
from widestreet._src.training.ensemble_plan import Plan


class _ShownEnsemble(EnsembleSVC):
    """An ensemble whose training ends with its last member; later steps would not change it."""

    def _plan(self) -> Plan:
        return replace(super()._plan(), until_chosen=True)


class EnsembleLearner:
    """An `EnsembleSVC`; the models on the way are means of its first members.

    Parameters
    ----------
    machine : Machine
    parameters : mapping
    points : sequence of Point

    Attributes
    ----------
    estimator : EnsembleSVC
        A new estimator, which later changes leave as it is.
    """

    def __init__(self, machine: Machine, parameters: Parameters, points: Sequence[Point]) -> None:
        self._ensemble = _ShownEnsemble(**parameters, keep_stages=True, n_jobs=1, random_state=0)
        self._machine = machine
        self._points: list[Point] = []
        self.change(points, (), {})

    @property
    def estimator(self) -> EnsembleSVC:
        """An ordinary `EnsembleSVC` with the present model, which can be saved."""
        found = EnsembleSVC()
        found.__dict__.update(vars(self._ensemble))
        return found

    @property
    def _trained(self) -> bool:
        """True if there are points of both classes."""
        return len({point.label for point in self._points}) == 2

    def change(
        self, arriving: Sequence[Point], leaving: Sequence[Point], parameters: Parameters
    ) -> None:
        """Add points, remove points and change parameters. Sets: everything."""
        new, gone = {point.id: point for point in arriving}, {point.id for point in leaving}
        kept = [p for p in self._points if p.id in new or p.id not in gone]
        self._points = [new.pop(p.id, p) for p in kept] + list(new.values())
        self._ensemble.set_params(**parameters)
        if self._trained:
            self._ensemble.fit(*self._machine.rows(self._points))

    def motion(self, points: Sequence[Point], left: Sequence[Point]) -> Motion:
        """Return the ensembles of the first members, up to all; `left` have no coefficients."""
        shown = len(points) + len(left)
        if not self._trained:
            return constant_motion(points, shown, labels=True)
        model, stages = self._ensemble, self._ensemble._stages
        assert stages is not None
        members = int(model.n_members_[0])
        frames = np.unique(np.linspace(0, members - 1, MOST_FRAMES).astype(np.int64))
        place = {point.id: k for k, point in enumerate(points)}
        column = np.array([place[point.id] for point in self._points])
        coef = np.zeros((len(frames), shown))
        coef[:, column[stages.column[stages.rows[0]]]] = stages.coefs[0][frames]
        coef[-1] = 0.0
        coef[-1, column[model.support_]] = model.dual_coef_[0]  # without the rows that are pruned
        support = np.where(coef != 0, FREE_SUPPORT, NO_SUPPORT).astype(np.uint8)  # there is no C
        intercept = np.repeat(model.intercept_, len(coef))
        return Motion(coef, intercept, np.zeros(len(coef)), support)

    def certificate(self) -> Certificate | None:
        """Return the distance from the hard-margin SVM; None if there is no model."""
        return self._ensemble.certificate_ if self._trained else None

    def counts(self) -> dict[str, int]:
        """Return the number of steps and of members."""
        if not self._trained:
            return {}
        model = self._ensemble
        return {"steps": int(model.n_iter_[0]), "members": int(model.n_members_[0])}
