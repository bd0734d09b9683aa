"""Forest cover types: 581,012 rows, 54 columns, each scaled to [0, 1].

Reads covtype.npz (X_num, the ten numbers; wilderness 1..4 and soil 1..40, the two sets of
indicator columns as indices; y) or covtype.data as UCI publishes it.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from widestreet._experiments.harness.files import find, opened
from widestreet._experiments.harness.task import Split, Task, part
from widestreet._src.environment import downloads_allowed

FILE = "covtype.npz"


def rows() -> tuple[Any, Any]:
    """Return all rows as float64 and their classes 1 to 7."""
    if find(FILE):
        with opened(FILE) as file, np.load(file) as packed:
            n = len(packed["y"])
            X = np.zeros((n, 54))
            X[:, :10] = packed["X_num"]
            X[np.arange(n), 9 + packed["wilderness"].astype(int)] = 1
            X[np.arange(n), 13 + packed["soil"].astype(int)] = 1
            return X, packed["y"].astype(int)
    if find("covtype.data") or not downloads_allowed():
        with opened("covtype.data") as file:
            values = np.loadtxt(file, delimiter=",")
        return values[:, :54], values[:, 54].astype(int)
    from sklearn.datasets import fetch_covtype

    X, y = fetch_covtype(return_X_y=True)
    return X, y


def scaled() -> tuple[Any, Any]:
    """Return all rows with each column scaled to [0, 1]."""
    X, y = rows()
    low, high = X.min(axis=0), X.max(axis=0)
    X -= low
    X /= np.where(high > low, high - low, 1)
    return X, y


def load(label: int, n: int) -> Split:
    """One class against the rest."""
    X, y = scaled()
    return part(X, np.where(y == label, 1, -1), n)


def task(name: str, label: int, n: int, origin: str) -> Task:
    file = FILE if find(FILE) else "covtype.data" if find("covtype.data") else FILE
    return Task(
        name,
        partial(load, label),
        n,
        "svc",
        gamma=1.0,
        C=10.0,
        origin=origin,
        files=(file,),
        fetched=True,
    )


TASKS = [
    task("covtype-2", 2, 100_000, "a common choice for [0, 1]-scaled columns, not tuned"),
    task("covtype-4", 4, 287_831, "as class 2; the number of rows is that of a published split"),
]
