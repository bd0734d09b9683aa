"""Regression: cpusmall, cal_housing, kin40k and casp_protein.

Tables as text with commas; the target is the column "y", or the last one where there is no header
(kin40k). A tenth of the rows is held out; columns and target are standardised on the others.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from widestreet._experiments.harness.files import find, table
from widestreet._experiments.harness.task import Split, Task, part
from widestreet._src.environment import downloads_allowed


def housing() -> tuple[Any, Any]:
    """Return scikit-learn's rows with its averages per household turned back into totals."""
    from sklearn.datasets import fetch_california_housing

    X, y = fetch_california_housing(return_X_y=True)
    income, age, rooms, bedrooms, population, occupants, latitude, longitude = X.T
    households = population / occupants
    totals = [rooms * households, bedrooms * households, population, households]
    return np.column_stack([longitude, latitude, age, *totals, income]), y


def load(name: str, header: bool, n: int) -> Split:
    if name == "cal_housing" and not find(f"{name}.csv") and downloads_allowed():
        X, y = housing()
    else:
        X, y = table(f"{name}.csv", header)
    split = part(X, y, n, len(y) // 10)
    centre, width = split.X.mean(axis=0), split.X.std(axis=0)
    width = np.where(width > 0, width, 1)
    mean, deviation = split.y.mean(), split.y.std()
    return Split(
        (split.X - centre) / width,
        (split.y - mean) / deviation,
        (split.X_test - centre) / width,
        (split.y_test - mean) / deviation,
    )


def task(name: str, rows: int, features: int, header: bool = True, fetched: bool = False) -> Task:
    return Task(
        name,
        partial(load, name, header),
        rows - rows // 10,
        "svr",
        gamma=0.5 / features,
        C=10.0,
        epsilon=0.1,
        origin="half of scikit-learn's default gamma for standardised columns, not tuned",
        files=(f"{name}.csv",),
        fetched=fetched,
    )


TASKS = [
    task("cpusmall", 8_192, 12),
    task("cal_housing", 20_640, 8, fetched=True),
    task("kin40k", 40_000, 8, header=False),
    task("casp_protein", 45_730, 9),
]
