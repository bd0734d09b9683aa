"""A rare class: 74 correlated columns, 1 % of the rows positive, most support vectors free.

Like sets of candidates among which few are hits (homologous proteins): many columns that a few
factors explain, one class in a small part of the space, no noise in the labels.
"""

from __future__ import annotations

import numpy as np

from widestreet._experiments.harness.task import TEST_ROWS, Split, Task
from widestreet.datasets import Labelled

_COLUMNS, _FACTORS = 74, 12
_OWN = 0.35  # of the variance of a column, shared with no other
_POSITIVE = 0.01


def generate(n: int, random_state: int) -> Labelled:
    """Draw rows and labels 0 and 1."""
    rng = np.random.default_rng(random_state)
    fixed = np.random.default_rng(74)
    loadings = fixed.standard_normal((_FACTORS, _COLUMNS)) / np.sqrt(_FACTORS)
    Z = rng.standard_normal((n, _FACTORS))
    X = np.sqrt(1 - _OWN) * Z @ loadings + np.sqrt(_OWN) * rng.standard_normal((n, _COLUMNS))
    signal = Z[:, :6].sum(axis=1) + 0.5 * Z[:, 0] * Z[:, 1] - 0.5 * Z[:, 2] ** 2
    signal += 0.5 * np.sin(2 * Z[:, 3])
    y = (signal > np.quantile(signal, 1 - _POSITIVE)).astype(np.int64)
    X /= np.sqrt(_OWN + (1 - _OWN) * np.square(loadings).sum(axis=0))  # unit variance
    return X, y


def load(n: int) -> Split:
    """Return rows to train on from one seed, rows to predict from another."""
    return Split(*generate(n, 7), *generate(TEST_ROWS, 8))


TASKS = [
    Task("rare", load, 145_751, "svc", gamma=0.5 / _COLUMNS, C=100.0, origin="not tuned"),
]
