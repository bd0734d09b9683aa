"""Two classes that overlap."""

from __future__ import annotations

from sklearn.datasets import make_classification


def noisy(n=400):
    return make_classification(n, 10, n_informative=5, flip_y=0.3, random_state=0)
