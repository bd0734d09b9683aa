"""Settings of a fit without limits, and nobody who observes it."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np

from conftest import TOL
from widestreet._src.problems.goal import Goal
from widestreet._src.training.settings import Settings
from widestreet.strategies import Auto


def settings(**changes: Any) -> Settings:
    """Settings of a tight fit on one thread."""
    given: dict[str, Any] = {
        "strategy": Auto(),
        "goal": Goal(TOL.twins),
        "skip": True,
        "max_steps": -1,
        "max_time": None,
        "max_memory": 1 << 30,
        "threads": 1,
        "verbose": 0,
        "rng": np.random.default_rng(0),
    }
    return Settings(**given | changes)


class NoCallbacks:
    """The reporter of an estimator without callbacks."""

    active = False

    def problem(self, name: str) -> nullcontext[None]:
        return nullcontext()

    def __call__(self, record: Any) -> bool:
        return False
