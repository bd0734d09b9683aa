"""Two classes with wrong labels, for the multiplicative updates."""

from __future__ import annotations

import numpy as np

from reference import kernels
from support.problems import toy_svc
from widestreet._src.engines.multiplicative.exponentiated_gradient import Projection

LITERAL = Projection(growth=1.0)


def noisy(n: int = 60, seed: int = 0, flipped: float = 0.1) -> tuple[np.ndarray, np.ndarray]:
    """The kernel matrix and the signs of two clouds, some labels of which are wrong."""
    problem = toy_svc(n, 3, seed=seed)
    wrong = np.random.default_rng(seed).random(n) < flipped
    return kernels.matrix("rbf", problem.X, gamma=0.3), np.where(wrong, -1.0, 1.0) * problem.sign
