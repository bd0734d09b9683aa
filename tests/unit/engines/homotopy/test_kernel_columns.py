"""Kernel columns: slots that are filled, emptied and shared between copies."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from widestreet._src.engines.homotopy.kernel_columns import KernelColumns


class Twin:
    """Columns and the matrix that they should be."""

    def __init__(self, rng, rows=12):
        self.columns, self.matrix, self.rng = KernelColumns(rows), np.zeros((rows, 0)), rng

    def copy(self):
        other = Twin(self.rng, len(self.matrix))
        other.columns, other.matrix = self.columns.copy(), self.matrix.copy()
        return other

    def append(self):
        column = self.rng.normal(size=len(self.matrix))
        self.columns.append(column)
        self.matrix = np.column_stack([self.matrix, column])

    def remove(self):
        if self.matrix.shape[1]:
            at = int(self.rng.integers(self.matrix.shape[1]))
            self.columns.remove(at)
            self.matrix = np.delete(self.matrix, at, axis=1)

    def extend(self):
        values = self.rng.normal(size=(3, self.matrix.shape[1]))
        self.columns.extend(values)
        self.matrix = np.vstack([self.matrix, values])

    def select(self):
        kept = max(2, len(self.matrix) - 2)
        order = self.rng.permutation(len(self.matrix))[:kept]
        order = np.where(np.isin(np.arange(kept), order), np.arange(kept), -1)
        spare = np.setdiff1d(np.arange(kept, len(self.matrix)), order)
        holes = np.flatnonzero(order < 0)[: len(spare)]
        order[holes] = spare[: len(holes)]
        order = order[order >= 0]  # rows from the end take the places of removed ones
        self.columns.select(order)
        self.matrix = self.matrix[order]

    def change(self):
        chosen = self.rng.random()
        for limit, change in (
            (0.5, self.append),
            (0.8, self.remove),
            (0.9, self.extend),
            (1.0, self.select),
        ):
            if chosen <= limit:
                change()
                return

    def check(self):
        n, k = self.matrix.shape
        assert (self.columns.rows, len(self.columns)) == (n, k)
        coef, rows = self.rng.normal(size=k), self.rng.permutation(n)[:4]
        wanted = self.matrix @ coef
        np.testing.assert_allclose(self.columns.product(coef), wanted, rtol=0, atol=TOL.twin)
        np.testing.assert_allclose(
            self.columns.product(coef, rows), wanted[rows], rtol=0, atol=TOL.twin
        )
        np.testing.assert_array_equal(self.columns.block(rows), self.matrix[rows])
        np.testing.assert_array_equal(self.columns.row(1), self.matrix[1])
        for at in range(k):
            np.testing.assert_array_equal(self.columns.column(at), self.matrix[:, at])


@pytest.mark.parametrize("seed", range(5))
def test_any_history_leaves_the_right_matrix(seed):
    """Rows and columns are appended and removed, also on copies that share values."""
    rng = np.random.default_rng(seed)
    twins = [Twin(rng)]
    for _ in range(120):
        one = twins[int(rng.integers(len(twins)))]
        if len(twins) < 4 and rng.random() < 0.1:
            twins.append(one.copy())
        one.change()
        for twin in twins:
            twin.check()


def test_all_columns_are_replaced(rng):
    twin = Twin(rng)
    twin.append()
    twin.matrix = rng.normal(size=(12, 30))
    twin.columns.replace(twin.matrix)
    twin.check()
    twin.remove()
    twin.append()
    twin.check()


def test_room_does_not_grow_with_the_number_of_changes(rng):
    """Empty slots are filled again, and closed when there are many."""
    twin = Twin(rng)
    for _ in range(40):
        twin.append()
    for _ in range(300):
        twin.append()
        twin.remove()
    assert twin.columns._values.shape[1] < 4 * 40
    for _ in range(38):
        twin.remove()
    assert twin.columns._width <= 2 * len(twin.columns) + 16
    twin.check()


def test_no_value_of_removed_rows_and_columns_is_kept(rng):
    twin = Twin(rng)
    for _ in range(10):
        twin.append()
    gone = [twin.matrix[:, 0].copy(), twin.matrix[[3, 8]].copy().ravel()]
    twin.columns.remove(0)
    twin.columns.select(np.array([0, 1, 2, 11, 4, 5, 6, 7, 10, 9]))
    kept = twin.columns._values
    assert not np.isin(np.concatenate(gone), kept).any()
    np.testing.assert_array_equal(
        twin.columns.block(np.arange(10)), twin.matrix[[0, 1, 2, 11, 4, 5, 6, 7, 10, 9], 1:]
    )
