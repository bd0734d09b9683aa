"""What a fit may use, and how exact it is to be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from widestreet._src.engines.selection.contract import Strategy
from widestreet._src.problems.goal import Goal

_ROWS_PER_THREAD = 1000  # fewer are not worth waking another thread for


@dataclass(frozen=True, eq=False, kw_only=True)
class Resources:
    """What a fit may use."""

    max_steps: int
    max_time: float | None
    max_memory: int
    threads: int
    verbose: int
    rng: np.random.Generator

    @property
    def final_violation(self) -> float:
        """The violation at which a fit ends; zero if it does not end by one."""
        return 0.0


@dataclass(frozen=True, eq=False, kw_only=True)
class Settings(Resources):
    """Everything about a fit to an optimum that is not the problem itself."""

    strategy: Strategy
    goal: Goal
    skip: bool

    @property
    def final_violation(self) -> float:
        return self.goal.tol


def threads_for(rows: int, resources: Resources) -> int:
    """Threads worth using on a problem of so many rows."""
    return min(resources.threads, 1 + rows // _ROWS_PER_THREAD)
