"""Rows that are read when they are needed."""

from __future__ import annotations

import numpy as np

from widestreet._src.files.lazy import LazyRows
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import RBF
from widestreet._src.rows import DenseRows

X = np.random.default_rng(0).normal(size=(20, 3))
CENTRE = X.mean(axis=0)


def test_rows_are_read_once_and_only_when_needed():
    reads = []

    def load():
        reads.append(1)
        return X

    rows = LazyRows(load, 20, DenseRows(X[:0], CENTRE))
    gram = Gram(RBF(0.5), rows, rows.holding(X[:5]), longest=100.0)
    assert gram.shape == (20, 5)
    assert rows.centre is CENTRE
    assert not rows.sparse
    assert not rows.few_nonzeros
    assert not rows.loaded
    held = DenseRows(X, CENTRE)
    wanted = Gram(RBF(0.5), held, DenseRows(X[:5], CENTRE), longest=100.0).block()
    assert np.array_equal(gram.block(), wanted)
    assert rows.loaded
    assert np.array_equal(rows.data, X)
    assert np.array_equal(rows.squares(), held.squares())
    assert rows.largest_square(1) == held.largest_square(1)
    assert rows.density() == held.density()
    assert len(reads) == 1


def test_some_of_the_rows_are_not_read_either():
    rows = LazyRows(lambda: X, 20, DenseRows(X[:0], CENTRE))
    part = rows.take(np.array([3, 1]))
    assert part.shape == (2, 3)
    assert not rows.loaded
    assert np.array_equal(part.data, X[[3, 1]])
    assert rows.loaded
