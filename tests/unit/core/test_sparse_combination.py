"""Combinations of CSR rows as sums of two numbers, against fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from support import native
from support.native import CSR, DENSE, STORAGES, sample
from widestreet import _core

ERROR_OF_TERM = Fraction(1, 2**103)  # what the header promises


@pytest.mark.parametrize("storage", CSR)
@pytest.mark.parametrize("index", [None, np.array([3, 0, 199, 3])])
def test_sums_are_within_their_bound(storage, index, rng):
    X = STORAGES[storage](sample(200, 7))
    rows = X if index is None else X[index]
    coef = 10.0 ** rng.uniform(-9, 9, rows.shape[0]) * rng.choice([-1, 1], rows.shape[0])
    high, low = _core.sparse_combination(native.rows(X), index, coef)
    exact = [Fraction(c) for c in coef.tolist()]
    for k, column in enumerate(rows.toarray().T.astype(float).tolist()):
        terms = [c * Fraction(x) for c, x in zip(exact, column, strict=True)]
        error = abs(Fraction(high[k]) + Fraction(low[k]) - sum(terms))
        assert error <= len(terms) * ERROR_OF_TERM * sum(map(abs, terms))
        assert high[k] + low[k] == high[k]


def test_columns_without_values_and_no_rows_give_zero():
    rows = native.rows(sparse.csr_array(([1.0], ([0], [1])), shape=(2, 3)))
    assert _core.sparse_combination(rows, None, np.array([2.0, 5.0])).tolist() == [
        [0, 2, 0],
        [0] * 3,
    ]
    none = np.empty(0, np.int64)
    assert not _core.sparse_combination(rows, none, np.empty(0)).any()


def test_dense_rows_and_too_few_coefficients_are_refused():
    dense, csr = (native.rows(STORAGES[next(iter(of))](sample(9, 4))) for of in (DENSE, CSR))
    with pytest.raises(ValueError, match="CSR"):
        _core.sparse_combination(dense, None, np.ones(9))
    with pytest.raises(ValueError, match="one coefficient per row"):
        _core.sparse_combination(csr, None, np.ones(8))
