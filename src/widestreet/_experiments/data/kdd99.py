"""KDD Cup 1999, the tenth of it: connections, normal (+1) or attack (-1); many rows repeat.

Reads kddcup.data_10_percent and, for the test, corrected. Three columns are text and become
indicator columns; the others are scaled to [0, 1] over the training rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from widestreet._experiments.harness.files import find, opened
from widestreet._experiments.harness.task import TEST_ROWS, Split, Task, given
from widestreet._src.environment import downloads_allowed

TRAIN, TEST = "kddcup.data_10_percent", "corrected"
TEXT = (1, 2, 3)  # protocol, service, flag
COLUMNS = 41


def read(name: str) -> list[Any]:
    """The 41 columns and the label."""
    kinds = [(str(i), "U16" if i in (*TEXT, COLUMNS) else "f8") for i in range(COLUMNS + 1)]
    with opened(name) as file:
        values = np.loadtxt(file, delimiter=",", dtype=kinds, ndmin=1)
    return [values[str(i)] for i in range(COLUMNS + 1)]


def fetched() -> tuple[list[Any], list[Any]]:
    """Return the rows of scikit-learn, which has no test rows: a tenth is held out."""
    from sklearn.datasets import fetch_kddcup99

    X, y = fetch_kddcup99(percent10=True, return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    cut = len(y) // 10
    found = []
    for rows in (order[cut:], order[:cut]):
        columns = [X[rows, i] for i in range(COLUMNS)]
        columns = [c.astype("U16") if i in TEXT else c.astype(float) for i, c in enumerate(columns)]
        found.append([*columns, y[rows].astype("U16")])
    return found[0], found[1]


def coded(train: Sequence[Any], test: Sequence[Any]) -> tuple[Any, Any]:
    """Indicator columns for the values that occur in training, and scaled numbers."""
    found: tuple[list[Any], list[Any]] = ([], [])
    for i in range(COLUMNS):
        if i in TEXT:
            values = np.unique(train[i])
            for columns, part in zip(found, (train, test), strict=True):
                columns += [(part[i] == value).astype(float) for value in values]
            continue
        low, high = train[i].min(), train[i].max()
        for columns, part in zip(found, (train, test), strict=True):
            columns.append((part[i] - low) / (high - low if high > low else 1.0))
    return np.column_stack(found[0]), np.column_stack(found[1])


def load(n: int, test_rows: int = TEST_ROWS) -> Split:
    local = find(TRAIN) or not downloads_allowed()
    train, test = (read(TRAIN), read(TEST)) if local else fetched()
    y, y_test = (
        np.where(np.char.rstrip(part[COLUMNS], ".") == "normal", 1, -1) for part in (train, test)
    )
    X, X_test = coded(train, test)
    return given(X, y, X_test, y_test, n, test_rows)


TASKS = [
    Task(
        "kdd99",
        load,
        494_021,
        "svc",
        gamma=0.5,
        C=10.0,
        origin="a common choice for [0, 1]-scaled columns, not tuned",
        files=(TRAIN, TEST),
        fetched=True,
    )
]
