"""Merge equal (row, label) pairs into one variable whose weight is the sum of theirs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .kernels import dense


class Merged(NamedTuple):
    """Pairs in the order of their first appearance.

    ``first[k]`` is the original row that stands for pair k, ``inverse[i]`` the pair of row i,
    ``weight[k]`` the sum of the weights of its members.
    """

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    first: np.ndarray
    inverse: np.ndarray


def merge(X, y, weight=None) -> Merged:
    """Equal means equal numbers: -0.0 is 0.0, and both precisions compare as float64."""
    y = np.asarray(y)
    X = dense(X)
    weight = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=np.float64)
    pairs = np.column_stack([X, y.astype(np.float64)]) + 0.0  # -0.0 + 0.0 = 0.0
    _, first, inverse = np.unique(pairs, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.argsort(order)
    first, inverse = first[order], place[inverse.ravel()]
    total = np.bincount(inverse, weights=weight, minlength=len(first))
    return Merged(X[first] + 0.0, y[first], total, first, inverse)


def expand(beta, inverse, box) -> np.ndarray:
    """Give each original row its share of the merged coefficient: boxes are filled in turn."""
    beta = np.asarray(beta)
    shares = np.zeros((*beta.shape[:-1], len(inverse)))
    left = np.abs(beta)
    for i, k in enumerate(inverse):
        taken = np.minimum(left[..., k], box[i])
        shares[..., i] = np.copysign(taken, beta[..., k])
        left[..., k] -= taken
    return shares


def largest_square(X, centre=None) -> float:
    """The largest |x - centre|^2 of a row."""
    X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
    X = X if centre is None else X - centre
    return float(np.max((X * X).sum(axis=1), initial=0.0))
