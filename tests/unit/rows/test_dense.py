"""Dense rows are never copied, whatever their layout and type."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from reference import kernels
from support.native import DENSE
from support.small_rows import small, squares
from widestreet import _core
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import RBF
from widestreet._src.rows import DenseRows, as_rows


@pytest.mark.parametrize("storage", DENSE)
def test_dense_rows_are_not_copied(storage):
    X = DENSE[storage](small())
    rows = as_rows(X)
    assert isinstance(rows, DenseRows)
    assert rows.data is X
    assert rows.shape == X.shape == (8, 3)
    before = squares(rows)
    X[0] *= 2  # the core sees what the array holds now
    assert np.array_equal(squares(rows)[1:], before[1:])
    assert squares(rows)[0] == 4 * before[0]


@pytest.mark.parametrize("storage", DENSE)
def test_centred_rows(storage):
    """The mean is that of float64 sums, and no distance changes."""
    X = DENSE[storage](small())
    rows = as_rows(X, centred=True)
    np.testing.assert_allclose(rows.centre, small().mean(axis=0), rtol=TOL.exact)
    assert rows.centre.dtype == np.float64
    assert rows.data is X
    found = Gram(RBF(0.3), rows).block()
    np.testing.assert_allclose(
        found, kernels.matrix("rbf", X, gamma=0.3), atol=TOL.kernel_float64, rtol=0
    )
    centre = np.array([1.0, 0.0, -2.0])
    assert as_rows(X, centred=True, centre=centre).centre is centre
    assert as_rows(X).centre is None


def test_other_rows_have_the_same_centre():
    rows = as_rows(small(), centred=True)
    assert rows.holding(small()[[1, 2]]).centre is rows.centre


def test_rows_outlive_the_name_of_their_array():
    rows = _core.Rows.dense(small(), np.zeros(3))
    out = np.zeros(8)
    kernel = _core.Kernel(_core.KernelKind.linear, 1.0, 0.0, 1)
    _core.scan(kernel, rows, None, rows, np.array([1]), np.ones((1, 1)), out[None], True, 1)
    assert np.array_equal(out, small() @ small()[1])


def test_what_rounding_removed_is_taken_with_the_rows(rng):
    rows = DenseRows(rng.normal(size=(5, 2)), low=rng.normal(size=(5, 2)))
    some = rows.take(np.array([3, 0]))
    assert np.array_equal(some.values, rows.values[[3, 0]])
    assert np.array_equal(some.low, rows.low[[3, 0]])


def test_what_rounding_removed_travels_with_the_rows(rng):
    origin = np.ones(2)
    rows = DenseRows(rng.normal(size=(5, 2)), low=rng.normal(size=(5, 2)), origin=origin)
    some = rows.take(np.array([], dtype=np.int64)).holding(rows.to_send(np.array([3, 0])))
    assert np.array_equal(some.values, rows.values[[3, 0]])
    assert np.array_equal(some.low, rows.low[[3, 0]])
    assert some.origin is origin


def test_the_box_is_relative_to_the_centre(rng):
    X = rng.normal(size=(50, 2)).astype(np.float32)
    centre = np.array([1.0, -2.0])
    low, high = DenseRows(X, centre).box(2)
    assert np.array_equal(low, X.min(axis=0) - centre)
    assert np.array_equal(high, X.max(axis=0) - centre)
