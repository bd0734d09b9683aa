"""Checks of rows, labels and weights."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest
from scipy import sparse

from support.machines import data, machine


def _csr_with(**arrays):
    """A CSR matrix whose arrays are replaced after it was made."""

    def change(X):
        csr = sparse.csr_matrix(X)
        for name, replace in arrays.items():
            setattr(csr, name, replace(getattr(csr, name).copy()))
        return csr

    return change


def _put(at, value):
    def change(array):
        array[at] = value
        return array

    return change


BROKEN_SPARSE = {
    "a column beyond": _csr_with(indices=_put(0, 1 << 20)),
    "a negative column": _csr_with(indices=_put(0, -1)),
    "columns that are no integers": _csr_with(indices=lambda a: a.astype(float)),
    "negative ends of rows": _csr_with(indptr=_put(1, -5)),
    "falling ends of rows": _csr_with(indptr=_put(2, 0)),
    "a late first row": _csr_with(indptr=_put(0, 1)),
    "ends of rows beyond": _csr_with(indptr=_put(-1, 1 << 20)),
    "too few ends of rows": _csr_with(indptr=lambda a: a[:-1]),
    "too few columns": _csr_with(indices=lambda a: a[:-3]),
    "too few values": _csr_with(data=lambda a: a[:-3]),
    "more columns than memory": lambda X: sparse.csr_matrix((X.shape[0], 1 << 41)),
}


@pytest.mark.parametrize("what", BROKEN_SPARSE)
def test_sparse_rows_whose_arrays_do_not_fit(kind, what):
    X, y = data(kind)
    broken = BROKEN_SPARSE[what](X)
    with pytest.raises(ValueError, match=r"X is sparse|X has"):
        machine(kind).fit(broken, y)
    with pytest.raises(ValueError, match=r"X is sparse|X has"):
        machine(kind).fit(X, y).predict(broken)


def test_coordinates_that_do_not_fit():
    X, y = data("svc")
    coo = sparse.coo_matrix(X)
    coo.col[0] = 1 << 20
    with pytest.raises(ValueError, match="X is sparse"):
        machine("svc").fit(coo, y)


def test_sparse_arrays_that_are_longer_or_strided(TOL):
    """Both are what SciPy allows: entries behind the last row, and values with gaps."""
    X, y = data("svc")
    plain = machine("svc").fit(sparse.csr_matrix(X), y).decision_function(X)
    longer = sparse.csr_matrix(X)
    stored = longer.nnz
    longer.data, longer.indices = np.append(longer.data, 7.0), np.append(longer.indices, 0)
    strided = sparse.csr_matrix(X)
    strided.data = np.repeat(strided.data, 2)[::2]
    for rows in (longer, strided):
        found = machine("svc").fit(rows, y).decision_function(X)
        np.testing.assert_allclose(found, plain, rtol=0, atol=TOL.decision)
    assert len(longer.data) == stored + 1  # the matrix of the user is as it was


def test_rows_whose_squares_vanish(kind):
    X, y = data(kind)
    with pytest.raises(ValueError, match=r"X contains no value larger than .* scale the features"):
        machine(kind).fit(X * 1e-160, y)


def test_integers_beyond_float64(kind):
    X, y = data(kind)
    huge = np.full(X.shape, 10**400, dtype=object)
    with pytest.raises(ValueError, match=r"\bX\b"):
        machine(kind).fit(huge, y)
    with pytest.raises(ValueError, match=r"\bX\b"):
        machine(kind).fit(X, y).predict(huge)


class OfPyTorch:
    """An array in the memory of a GPU with the methods of PyTorch."""

    __cuda_array_interface__: ClassVar[dict[str, int]] = {"version": 3}

    def __init__(self, values):
        self._values = values

    def detach(self):
        return self

    cpu = detach

    def numpy(self):
        return self._values

    def __array__(self, *options, **more):
        raise TypeError("can't convert cuda:0 device type tensor to numpy")


class OfCuPy(OfPyTorch):
    """The same with the method of CuPy."""

    detach = None

    def get(self):
        return self._values


@pytest.mark.parametrize("there", [OfPyTorch, OfCuPy])
@pytest.mark.parametrize("kind", ["svc", "svr"])
def test_arrays_in_the_memory_of_a_gpu(kind, there):
    X, y = data(kind)
    weight = np.linspace(0.5, 1.0, len(y))
    one = machine(kind).fit(X, y, weight)
    other = machine(kind).fit(there(X), there(y), there(weight))
    np.testing.assert_array_equal(other.dual_coef_, one.dual_coef_)
    np.testing.assert_array_equal(other.predict(there(X)), one.predict(X))
    assert other.score(there(X), y) == one.score(X, y)
