"""Data of the papers that the race does not have."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from sklearn.preprocessing import minmax_scale, normalize

from widestreet import datasets
from widestreet._experiments.data import covtype, kdd99, mnist
from widestreet._experiments.data.news20 import HELD_OUT
from widestreet._experiments.harness.files import opened, svmlight
from widestreet._experiments.harness.task import TEST_ROWS, Split, given, part

EVERY = 10**9  # more test rows than any set has
SIDE = 28  # pixels of MNIST
SHIFTS = ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1))


def shifted(images: Any, down: int, right: int) -> Any:
    """Return images moved by a pixel, without wrapping around."""
    square = images.reshape(len(images), SIDE, SIDE)
    found = np.zeros_like(square)
    here = square[:, max(0, -down) : SIDE - max(0, down), max(0, -right) : SIDE - max(0, right)]
    found[:, max(0, down) : SIDE + min(0, down), max(0, right) : SIDE + min(0, right)] = here
    return found.reshape(images.shape)


def zero_one(n: int) -> Split:
    """Zeros (+1) and ones (-1) of MNIST, each training image also moved by a pixel four ways."""
    X, y, X_test, y_test = mnist.digits()
    kept, tested = np.isin(y.astype(int), (0, 1)), np.isin(y_test.astype(int), (0, 1))
    images, labels = X[kept], np.where(y[kept].astype(int) == 0, 1, -1)
    many = np.concatenate([shifted(images, *shift) for shift in SHIFTS])
    answer = np.where(y_test[tested].astype(int) == 0, 1, -1)
    split = given(many, np.tile(labels, len(SHIFTS)), X_test[tested], answer, n, EVERY)
    return Split(split.X / 255.0, split.y, split.X_test / 255.0, split.y_test)


def kdd99_apart(n: int) -> Split:
    """KDD99 with a column of tiny random numbers: no two training rows are equal."""
    split = kdd99.load(n, EVERY)
    tiny = 1e-4 * np.random.default_rng(0).random(len(split.y))
    X, X_test = np.column_stack([split.X, tiny]), np.pad(split.X_test, ((0, 0), (0, 1)))
    return Split(X, split.y, X_test, split.y_test)


def two_gaussians(centre: float, n: int, seed: int = 13) -> Split:
    """Points about (c, c) and (-c, -c), as many of each; deviation 0.5, plus noise of 0.3."""
    found = []
    for start, size in ((seed, n), (seed + 1, TEST_ROWS)):
        rng = np.random.default_rng(start)
        y = np.repeat([1, -1], [size - size // 2, size // 2])
        X = centre * y[:, None] + 0.5 * rng.standard_normal((size, 2))
        found += [X + 0.3 * rng.standard_normal((size, 2)), y]
    return Split(*found)


def news_groups(labels: tuple[int, ...], n: int) -> Split:
    """Return some of the twenty news groups (+1) against the others (-1)."""
    X, y = svmlight("news20", 62_061)
    return part(normalize(X), np.where(np.isin(y, labels), 1, -1), n, HELD_OUT)


def friedman(n: int) -> Split:
    """The regression of RandSVM's section 5.2.1: without a square on the third term."""
    found = []
    for seed, size in ((7, n), (8, TEST_ROWS)):
        rng = np.random.default_rng(seed)
        X = rng.random((size, 10))
        x = X.T
        y = 10 * np.sin(np.pi * x[0] * x[1]) + 20 * (x[2] - 0.5) + 10 * x[3] + 5 * x[4]
        found += [X, y + rng.standard_normal(size)]
    return Split(*found)


def forest_labels(n: int) -> Split:
    """Cover types 0 to 6 as a number, divided by 6."""
    X, y = covtype.scaled()
    return part(X, (y - 1) / 6.0, n)


def forest_class(n: int) -> Split:
    """Cover type 2 as +1, the others as -1: targets of a regression."""
    X, y = covtype.scaled()
    return part(X, np.where(y == 2, 1.0, -1.0), n)


def digit_labels(n: int) -> Split:
    """Digits 0 to 9 as a number, divided by 9."""
    X, y, X_test, y_test = mnist.digits()
    return given(X / 255.0, y.astype(float) / 9.0, X_test / 255.0, y_test.astype(float) / 9.0, n)


MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
NUMBERED = {word: str(i) for words in (MONTHS, DAYS) for i, word in enumerate(words, 1)}
YEAR = "YearPredictionMSD.txt"


@cache
def columns(name: str) -> tuple[Any, Any]:
    """A table with a target "y"; months and days by number. The year of a song stands first."""
    with opened(name) as file:
        lines = [line.split(",") for line in file.read().decode().split()]
    names = ["y"] if name == YEAR else lines.pop(0)
    values = np.array([[float(NUMBERED.get(word, word)) for word in line] for line in lines])
    target = names.index("y")
    return np.delete(values, target, axis=1), values[:, target]


def pool(name: str, unit: float, n: int) -> Split:
    """Return at most n rows, columns in [0, 1], targets divided by `unit`; no test rows."""
    X, y = columns(name)
    X = minmax_scale(X)
    kept = np.sort(np.random.default_rng(0).permutation(len(y))[:n])
    return Split(X[kept], y[kept] / unit, X[:0], y[:0])


def friedman_pool(n: int) -> Split:
    """Friedman's function as in the paper of INSVR, whose columns are in [0, 1] already."""
    X, y = datasets.friedman(n, random_state=0)
    return Split(X, y, X[:0], y[:0])
