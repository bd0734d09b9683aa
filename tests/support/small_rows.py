"""A few rows, and their squares as the core computes them."""

from __future__ import annotations

import numpy as np

from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import Linear


def small() -> np.ndarray:
    X = np.array([[0.0, 1.0, 2.0], [3.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, -4.0, 0.5]])
    return np.concatenate([X, X + 1])


def squares(rows) -> np.ndarray:
    """x.x of every row, as the core sees them."""
    return np.diag(Gram(Linear(), rows).block())
