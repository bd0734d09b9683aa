"""A table with numbers, text and missing values, as people have them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest


def people(n: int = 120, seed: int = 0) -> Any:
    """A data frame: three columns of numbers, one of text, a label, a target and a weight."""
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(seed)
    age, city = rng.uniform(20, 80, n), rng.choice(["Bern", "Basel", "Chur"], n)
    risk = age / 30 + (city == "Chur") + rng.normal(0, 0.3, n)
    age[rng.random(n) < 0.1] = np.nan
    return pandas.DataFrame(
        {
            "age": age,
            "income": np.round(rng.lognormal(10, 1, n)),
            "city": np.where(rng.random(n) < 0.1, None, city),
            "smoker": rng.random(n) < 0.3,
            "label": np.where(risk > 2.0, "high", "low"),
            "risk": risk,
            "w": 1.0 + np.arange(n) % 2,
        }
    )
