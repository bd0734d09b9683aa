"""Handwritten digits: 60,000 and 10,000 images of 784 pixels from 0 to 1.

Reads the four idx files of MNIST, their names with or without "mnist-" before.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from widestreet._experiments.harness.files import find, images
from widestreet._experiments.harness.task import Split, Task, given
from widestreet._src.environment import downloads_allowed

TRAIN_ROWS = 60_000
FILES = tuple(
    f"{part}-{what}-ubyte" for part in ("train", "t10k") for what in ("images-idx3", "labels-idx1")
)


def name(file: str) -> str:
    """Return the name of a file, with or without its prefix."""
    return f"mnist-{file}" if find(f"mnist-{file}") else file


def digits() -> tuple[Any, ...]:
    """Images and labels to train on, and to test."""
    if find(name(FILES[0])) or not downloads_allowed():
        X, y, X_test, y_test = (images(name(file)) for file in FILES)
        return X.reshape(len(X), -1), y, X_test.reshape(len(X_test), -1), y_test
    from sklearn.datasets import fetch_openml

    X, y = fetch_openml("mnist_784", version=1, return_X_y=True, as_frame=False, parser="liac-arff")
    return X[:TRAIN_ROWS], y[:TRAIN_ROWS], X[TRAIN_ROWS:], y[TRAIN_ROWS:]


def load(chosen: tuple[int, ...], n: int) -> Split:
    X, y, X_test, y_test = digits()
    y, y_test = y.astype(np.int64), y_test.astype(np.int64)
    train, test = np.isin(y, chosen), np.isin(y_test, chosen)
    return given(X[train] / 255.0, y[train], X_test[test] / 255.0, y_test[test], n)


def task(title: str, chosen: tuple[int, ...], rows: int) -> Task:
    return Task(
        title,
        partial(load, chosen),
        rows,
        "svc",
        gamma=0.02,
        C=10.0,
        origin="a common choice for pixels from 0 to 1, not tuned here",
        files=tuple(map(name, FILES)),
        fetched=True,
    )


TASKS = [task("mnist-3-8", (3, 8), 11_982), task("mnist", tuple(range(10)), TRAIN_ROWS)]
