"""Situations of a working set, as the strategies see them."""

from __future__ import annotations

from typing import Any

import numpy as np

from widestreet.strategies import Situation


def situation(rng: np.random.Generator, size: int, newcomers: int, **changes: Any) -> Situation:
    """A random situation: rows 0 to size - 1 are in the working set, violators come after them."""
    support = rng.random(size) < 0.6
    fields: dict[str, Any] = {
        "round": 3,
        "rows": 10 * (size + newcomers),
        "capacity": 64,
        "tol": 1e-3,
        "violation": 0.5,
        "ids": np.arange(size),
        "support": support,
        "free": support & (rng.random(size) < 0.5),
        "newest": rng.random(size) < 0.2,
        "moved": True,
        "slack": rng.normal(size=size),
        "violators": size + rng.permutation(newcomers),
        "excess": rng.random(newcomers) + 0.1,
        "found": newcomers,
        "visited": 10 * newcomers,
        "complete": False,
    }
    return Situation(**fields | changes)
