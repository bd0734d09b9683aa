"""Pairs of classes for a device that solves them side by side, and their judge."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from conftest import TOL
from reference import kkt
from reference.duals import BetaDual
from support.class_pairs import GAMMA, clouds, machines_of, rbf
from support.devices import device_of
from widestreet._src.engines.working_set.batch_on_device import Part
from widestreet._src.kernels.gram import Gram, resident
from widestreet._src.kernels.kernels import RBF
from widestreet._src.kernels.on_device import Resident
from widestreet._src.rows import DeviceRows, as_rows


class Pairs:
    """All pairs of some classes, their rows on a device. `weights` are drawn if there are any."""

    def __init__(
        self, where: Any, classes: int = 3, rows: int = 60, weights: Any = None, seed: int = 0
    ) -> None:
        self.X, self.y = clouds(classes, rows, seed)
        self.machines = machines_of(self.y)
        device = device_of(where) if isinstance(where, str) else where
        rows_there = DeviceRows(as_rows(self.X, centred=True), device, 1 << 30)
        self.gram = Gram(RBF(GAMMA), rows_there)
        rng = np.random.default_rng(seed)
        self.parts = []
        for p, problem in enumerate(self.machines.problems):
            dual = problem.dual
            if weights is not None:
                size = rng.choice(weights, dual.rows)
                dual = replace(dual, lower=dual.lower * size, upper=dual.upper * size)
            self.parts.append(Part(dual, self.machines.rows(p), None, p))

    @property
    def resident(self) -> Resident:
        found = resident(self.gram)
        assert found is not None
        return found

    @property
    def sizes(self) -> np.ndarray:
        return np.array([part.dual.rows for part in self.parts])

    def kernel(self, p: int) -> np.ndarray:
        rows = self.parts[p].rows
        return rbf(self.X[rows], self.X[rows])

    def judged(self, p: int, beta: np.ndarray) -> tuple[float, float]:
        """Return the violation and the dual objective of a point, which must be feasible."""
        dual = self.parts[p].dual
        plain = BetaDual(dual.target, dual.lower, dual.upper, dual.group, dual.total)
        K = self.kernel(p)
        assert kkt.feasibility(plain, beta) <= TOL.feasibility
        return kkt.kkt_violation(K, plain, beta), kkt.dual_objective(K, plain, beta)
