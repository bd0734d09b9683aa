"""Data of the paper on ensembles: Raetsch's benchmarks, and sets of LIBSVM's page."""

from __future__ import annotations

from typing import Any

import numpy as np

from widestreet._experiments.harness.files import opened, svmlight, table
from widestreet._experiments.harness.task import Split, given
from widestreet._experiments.papers.data import EVERY


def patterns(name: str) -> tuple[Any, Any]:
    """Read an npz file with X and y, or both parts of one with X_tr, T_tr, X_tst and T_tst."""
    with opened(name) as file, np.load(file) as packed:
        if "X" in packed:
            X, y = packed["X"], packed["y"]
        else:
            X = np.concatenate([packed["X_tr"], packed["X_tst"]])
            y = np.concatenate([packed["T_tr"].ravel(), packed["T_tst"].ravel()])
    return X.astype(float), y.ravel().astype(int)


def realization(name: str, test_rows: int, n: int) -> Split:
    """Random rows to train on, and others to test."""
    X, y = patterns(name)
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[:n], order[n : n + test_rows]
    return Split(X[train], y[train], X[test], y[test])


def redrawn(split: Split, seed: int) -> Split:
    """Return another random split of the same rows, of the same sizes."""
    X, y = np.concatenate([split.X, split.X_test]), np.concatenate([split.y, split.y_test])
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = order[: len(split.y)], order[len(split.y) :]
    return Split(X[train], y[train], X[test], y[test])


def astro(n: int) -> Split:
    """LIBSVM's svmguide1 (astro-particles), unscaled."""
    return given(*table("svmguide1.csv"), *table("svmguide1.t.csv"), n, EVERY)


def web_one(n: int) -> Split:
    """The first of the web sets; the other rows of the last one are its test rows."""
    (X, y), (every, labels) = svmlight("w1a", 300), svmlight("w8a", 300)
    rest = remainder((every, labels), (X, y))
    return given(X, y, every[rest], labels[rest], n, EVERY)


def remainder(whole: tuple[Any, Any], part: tuple[Any, Any]) -> Any:
    """Return the rows (CSR) of a set that are not in a part of it, which has the same order."""
    mine, theirs = keys(*part), keys(*whole)
    left, place = [], 0
    for row, key in enumerate(theirs):
        if place < len(mine) and key == mine[place]:
            place += 1
        else:
            left.append(row)
    if place < len(mine):
        raise ValueError("the part has rows that the whole does not have, or in another order")
    return np.array(left)


def keys(X: Any, y: Any) -> list[tuple[bytes, bytes, int]]:
    """Return keys that are equal for equal rows with equal labels."""
    parts = zip(X.indptr[:-1], X.indptr[1:], y, strict=True)
    return [(X.indices[a:b].tobytes(), X.data[a:b].tobytes(), int(label)) for a, b, label in parts]
