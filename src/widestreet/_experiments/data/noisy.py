"""A noisy set: 8 correlated columns, 20 % positive, labels that depend weakly on the columns.

About 44 % of the rows become support vectors, most of them at their bound.
"""

from __future__ import annotations

import numpy as np

from widestreet._experiments.harness.task import TEST_ROWS, Split, Task
from widestreet.datasets import Labelled

_COMMON = 0.6  # of the variance of a column, from two factors that all columns share
_SLOPE, _OFFSET = 1.1, -1.38  # of the log odds of the positive class


def generate(n: int, random_state: int) -> Labelled:
    """Draw rows and labels 0 and 1."""
    rng = np.random.default_rng(random_state)
    loadings = np.random.default_rng(99).standard_normal((2, 8)) / np.sqrt(2)
    X = np.sqrt(1 - _COMMON) * rng.standard_normal((n, 8))
    X += np.sqrt(_COMMON) * rng.standard_normal((n, 2)) @ loadings
    signal = np.sin(1.5 * X[:, 0]) + 0.5 * X[:, 1] * X[:, 2] - 0.4 * X[:, 3] ** 2
    signal += 0.7 * np.tanh(X[:, 4])
    odds = np.exp(_SLOPE * signal + _OFFSET)
    y = (rng.random(n) < odds / (1.0 + odds)).astype(np.int64)
    X /= np.sqrt(1 - _COMMON + _COMMON * np.square(loadings).sum(axis=0))  # unit variance
    return X, y


def load(n: int) -> Split:
    """Return rows to train on from one seed, rows to predict from another."""
    return Split(*generate(n, 7), *generate(TEST_ROWS, 8))


TASKS = [
    Task("noisy", load, 100_000, "svc", gamma=0.125, C=1.0, origin="gamma='scale', not tuned"),
]
