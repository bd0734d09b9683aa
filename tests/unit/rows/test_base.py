"""What every storage of rows promises to the layers above."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from reference import kernels
from support.native import CSR, DENSE, STORAGES, sample
from widestreet._src.rows import as_rows

CENTRE = np.linspace(-1.0, 1.0, 7)
every_storage = pytest.mark.parametrize("storage", DENSE | CSR)


@every_storage
@pytest.mark.parametrize("threads", [1, 2])
def test_squares_of_some_rows_and_of_all(storage, threads):
    X = STORAGES[storage](sample(40, 7))
    rows, index = as_rows(X), np.array([3, 0, 39, 3])
    expected = np.square(kernels.dense(X)).sum(axis=1)
    np.testing.assert_allclose(rows.squares(None, threads), expected, rtol=TOL.kernel_float64)
    np.testing.assert_array_equal(rows.squares(index, threads), rows.squares()[index])
    assert rows.largest_square(1) == pytest.approx(expected.max(), rel=TOL.kernel_float64)


@pytest.mark.parametrize("storage", DENSE)
def test_squares_are_relative_to_the_centre(storage):
    X = STORAGES[storage](sample(40, 7))
    rows = as_rows(X, centre=CENTRE)
    expected = np.square(kernels.dense(X) - CENTRE).sum(axis=1)
    np.testing.assert_allclose(rows.squares(), expected, rtol=TOL.kernel_float64)
    assert rows.largest_square(1) == pytest.approx(expected.max(), rel=TOL.kernel_float64)


@every_storage
def test_few_nonzeros_are_counted(storage):
    X = np.zeros((40, 7))
    X[:, 0] = 1.0
    stored = STORAGES[storage](X)
    rows = as_rows(stored)
    part = stored.nnz / X.size if storage in CSR else 1 / 7
    assert rows.density() == pytest.approx(part, rel=TOL.exact)
    assert rows.few_nonzeros
    assert rows.sparse == (storage in CSR)


@every_storage
def test_row_numbers_select_rows_as_the_user_knows_them(storage):
    X, index = sample(40, 7), np.array([5, 1, 5])
    rows = as_rows(STORAGES[storage](X))
    assert rows.shape == (40, 7)
    np.testing.assert_array_equal(
        kernels.dense(rows.data[index]), kernels.dense(STORAGES[storage](X))[index]
    )


@every_storage
def test_some_rows_are_taken_in_the_same_form(storage):
    X, index = sample(40, 7), np.array([5, 1, 5])
    rows = as_rows(STORAGES[storage](X))
    taken = rows.take(index)
    assert taken.shape == (3, 7)
    assert (taken.sparse, taken.few_nonzeros) == (rows.sparse, rows.few_nonzeros)
    np.testing.assert_array_equal(taken.squares(), rows.squares(index))


@every_storage
def test_some_rows_arrive_as_they_were_sent(storage):
    X, index = sample(40, 7), np.array([5, 1, 5])
    rows = as_rows(STORAGES[storage](X))
    arrived = rows.take(index[:0]).holding(rows.to_send(index))
    assert (arrived.sparse, arrived.few_nonzeros) == (rows.sparse, rows.few_nonzeros)
    np.testing.assert_array_equal(kernels.dense(arrived.data), kernels.dense(rows.data)[index])
