"""Figures of rows and columns in one native pass, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from reference import kernels, merge
from support import native
from support.native import CSR, DENSE, STORAGES, sample
from widestreet import _core
from widestreet._src.rows import as_rows

pytestmark = pytest.mark.numeric

every_storage = pytest.mark.parametrize("storage", DENSE | CSR)
threads = pytest.mark.parametrize("threads", [1, 2])


@every_storage
@threads
def test_squares(storage, threads):
    X = STORAGES[storage](sample(5000, 7))
    centre = np.linspace(-1.0, 1.0, 7) if storage in DENSE else None
    rows, index = as_rows(X, centre=centre).native, np.array([3, 0, 4999, 3])
    found = _core.squares(rows, None, threads)
    full = kernels.dense(X) - (0.0 if centre is None else centre)
    np.testing.assert_allclose(found, np.square(full).sum(axis=1), rtol=TOL.kernel_float64)
    np.testing.assert_array_equal(_core.squares(rows, index, threads), found[index])
    largest = _core.largest_square(rows, threads)
    assert largest == found.max() == pytest.approx(merge.largest_square(X, centre), rel=TOL.exact)


def test_no_rows():
    rows = as_rows(np.empty((0, 3))).native
    assert _core.largest_square(rows, 1) == 0.0
    assert len(_core.squares(rows, None, 1)) == 0
    np.testing.assert_array_equal(
        _core.column_figures(rows, 1), [[0.0] * 3, [np.inf] * 3, [-np.inf] * 3]
    )


@pytest.mark.parametrize("storage", DENSE)
def test_columns(storage):
    X = STORAGES[storage](sample(9000, 5))
    total, low, high = _core.column_figures(native.rows(X), 1)
    np.testing.assert_allclose(total, X.sum(axis=0, dtype=np.float64), rtol=TOL.kernel_float64)
    np.testing.assert_array_equal(low, X.min(axis=0))
    np.testing.assert_array_equal(high, X.max(axis=0))
    np.testing.assert_array_equal(_core.column_figures(native.rows(X), 3), [total, low, high])


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_the_sum_of_a_column_shows_what_is_not_finite(value):
    X = sample(9000, 4).copy()
    X[8000, 2] = value
    total = _core.column_figures(native.rows(X), 2)[0]
    assert np.isfinite(total).tolist() == [True, True, False, True]


def test_columns_of_sparse_rows_are_refused():
    with pytest.raises(ValueError, match="dense"):
        _core.column_figures(native.rows(STORAGES[next(iter(CSR))](sample(9, 4))), 1)
