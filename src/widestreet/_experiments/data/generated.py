"""The generators of `widestreet.datasets`: any number of rows, and no file."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from widestreet import datasets
from widestreet._experiments.harness.task import TEST_ROWS, Split, Task

ORIGIN = "a common choice, the same for every number of rows, not tuned"


def draw(generate: Callable[..., Any], rows: int) -> Split:
    """Rows to train on from one seed, rows to predict from another."""
    X, y = generate(rows, random_state=7)
    X_test, y_test = generate(TEST_ROWS, random_state=8)
    return Split(X, y, X_test, y_test)


def task(name: str, kind: str, gamma: float, C: float, epsilon: float = 0.0) -> Task:
    load = partial(draw, getattr(datasets, name))
    return Task(name, load, 100_000, kind, gamma, C, ORIGIN, epsilon)


TASKS = [
    task("checkerboard", "svc", gamma=2.0, C=100.0),
    task("twonorm", "svc", gamma=0.05, C=1.0),
    task("ringnorm", "svc", gamma=0.05, C=1.0),
    task("friedman", "svr", gamma=0.5, C=10.0, epsilon=1.0),
]
