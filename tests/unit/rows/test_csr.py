"""CSR rows are never copied, whatever their index type."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from support.small_rows import small, squares
from widestreet._src.rows import CsrRows, as_rows


@pytest.mark.parametrize("container", [sparse.csr_matrix, sparse.csr_array])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_csr_rows_are_not_copied(container, index, dtype):
    X = container(small().astype(dtype))
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    rows = as_rows(X)
    assert isinstance(rows, CsrRows)
    assert np.shares_memory(rows.data.data, X.data)
    before = squares(rows)
    assert np.array_equal(before, (small() ** 2).sum(axis=1))
    X.data[:2] *= 2  # both entries of row 0
    assert squares(rows)[0] == 4 * before[0]


def test_csr_with_two_kinds_of_index():
    X = sparse.csr_matrix(small())
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int64)
    assert np.array_equal(squares(CsrRows(X)), (small() ** 2).sum(axis=1))
