"""Resources and tolerances of a fit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from widestreet._src.engines.selection.strategy_protocol import Strategy
from widestreet._src.problems.goal import Goal

_ROWS_PER_THREAD = 1000  # rows that justify one more thread


@dataclass(frozen=True, eq=False, kw_only=True)
class Resources:
    """Limits of a fit: steps, time, memory, threads; and its verbosity and random generator."""

    max_steps: int
    max_time: float | None
    max_memory: int
    threads: int
    verbose: int
    rng: np.random.Generator

    @property
    def final_violation(self) -> float:
        """Violation at which a fit ends; zero if the violation does not end it."""
        return 0.0


@dataclass(frozen=True, eq=False, kw_only=True)
class Settings(Resources):
    """Limits, strategy and tolerances of a fit to the optimum."""

    strategy: Strategy
    goal: Goal
    skip: bool

    @property
    def final_violation(self) -> float:
        return self.goal.tol


def threads_for(rows: int, resources: Resources) -> int:
    """Return the number of threads to use on a problem of `rows` rows."""
    return min(resources.threads, 1 + rows // _ROWS_PER_THREAD)
