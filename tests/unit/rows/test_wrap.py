"""The storage that fits an array or a sparse matrix."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from support.small_rows import small, squares
from widestreet._src.rows import CsrRows, as_rows


@pytest.mark.parametrize("convert", ["tocsc", "tocoo", "tolil"])
def test_other_sparse_formats_become_csr(convert):
    rows = as_rows(getattr(sparse.csr_matrix(small()), convert)())
    assert isinstance(rows, CsrRows)
    assert np.array_equal(squares(rows), (small() ** 2).sum(axis=1))


def test_unsorted_and_repeated_columns_are_put_in_order_in_a_copy():
    data, columns = np.array([1.0, 2.0, 4.0, 8.0]), np.array([2, 0, 2, 1])
    X = sparse.csr_matrix((data.copy(), columns.copy(), [0, 3, 4]), shape=(2, 3))
    rows = as_rows(X)
    assert np.array_equal(rows.data.toarray(), [[2.0, 0.0, 5.0], [0.0, 8.0, 0.0]])
    assert rows.data.has_canonical_format
    assert np.array_equal(squares(rows), [29.0, 64.0])
    assert np.array_equal(X.data, data)
    assert np.array_equal(X.indices, columns)


def test_sparse_rows_have_no_centre():
    assert as_rows(sparse.csr_matrix(small()), centred=True).shape == (8, 3)
