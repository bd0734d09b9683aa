"""Selections are index arithmetic; diagonals are dense matrices that are never written down."""

from __future__ import annotations

import numpy as np
import pytest

from widestreet._src.kernels.selected_rows import Diagonal, Selection, compose


def test_indices_are_composed():
    outer, inner = np.array([7, 5, 3]), np.array([2, 0, 0])
    assert compose(None, None) is None
    assert compose(outer, None) is outer
    assert compose(None, inner) is inner
    assert compose(outer, inner).tolist() == [3, 7, 7]


def test_a_selection_of_a_selection():
    every = Selection()
    assert every.count(9, 4) == (9, 4)
    part = every.select(np.array([8, 2, 5]), np.array([1, 1]))
    assert part.count(9, 4) == (3, 2)
    again = part.select(np.array([2]), None)
    assert again.rows.tolist() == [5]
    assert again.columns.tolist() == [1, 1]


@pytest.mark.parametrize("repeated", [False, True])
def test_a_diagonal_is_its_dense_matrix(repeated, rng):
    values = rng.normal(size=12)
    dense, diagonal = np.diag(values), Diagonal(values)
    for _ in range(3):
        m, n = dense.shape
        I = rng.integers(0, m, 9) if repeated else rng.permutation(m)[:9]
        J = rng.integers(0, n, 8) if repeated else rng.permutation(n)[:8]
        for rows, columns in ((I, J), (None, J), (I, None), (None, None)):
            part = dense if rows is None else dense[rows]
            part = part if columns is None else part[:, columns]
            out = np.ones((part.shape[0], part.shape[1] + 1))
            where = rng.permutation(len(part))
            diagonal.add_to(out, where, rows, columns)
            np.testing.assert_array_equal(out[where, :-1], 1 + part)
            assert (out[:, -1] == 1).all()
            coef = rng.integers(-3, 4, (2, part.shape[1])).astype(float)
            assert np.allclose(diagonal.times(rows, columns, coef), coef @ part.T)
            assert np.allclose(diagonal.times(rows, columns, coef[0]), part @ coef[0])
        dense, diagonal = dense[np.ix_(I, J)], diagonal.select(I, J)
    assert np.isin(diagonal.of_rows(None), values).all()
