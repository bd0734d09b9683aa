"""What every device promises: scans of any rows, in any order, for each kind of kernel."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from conftest import TOL
from support.devices import DEVICES, device_of, values
from widestreet._src.device.contract import LANES, MOST_PARTS, Map

MAPS = [
    Map("rbf", 0.4),
    Map("linear", 1.0),
    Map("poly", 0.3, 0.5, 3),
    Map("sigmoid", 0.3, -0.2),
    Map("laplacian", 0.2),
    Map("far_rbf", 0.3),
]


def test_kinds_of_differences():
    assert [by.kind for by in MAPS if by.of_differences] == ["laplacian", "far_rbf"]


def test_parts_and_lanes_are_within_what_bounds_count():
    """24 units: up to ten additions of lanes, those of the parts, a product and a sum."""
    assert MOST_PARTS + 10 + 2 <= 24
    assert LANES >= 16


@pytest.mark.parametrize("where", DEVICES)
@pytest.mark.parametrize("by", MAPS, ids=lambda by: by.kind)
@pytest.mark.parametrize("many", [False, True])
def test_a_scan_is_the_sum_of_kernel_values(where, by, many, rng):
    device, features = device_of(where), (34 if by.of_differences else 70) if many else 3
    X, S = rng.normal(size=(70, features)) / features, rng.normal(size=(45, features)) / features
    centre, coef = rng.normal(size=features), rng.normal(size=(3, 45))
    left, right = device.hold(X + centre, centre, by), device.hold(S, None, by)
    assert (left.rows, right.rows) == (70, 45)
    K = values(by, X * by.factor, S * by.factor)
    I, J = rng.permutation(70)[:66], rng.permutation(45)[:7]
    size = np.abs(coef).sum()
    for double, error in ((True, TOL.scan_float64), (False, TOL.scan_float32)):
        whole = device.scan(by, left, None, right, None, coef, double)
        np.testing.assert_allclose(whole, coef @ K.T, rtol=0, atol=error * size)
        some = device.scan(by, left, I, right, J, coef[:, :7], double)
        np.testing.assert_allclose(some, coef[:, :7] @ K[np.ix_(I, J)].T, rtol=0, atol=error * size)


@pytest.mark.parametrize("where", DEVICES)
def test_sparse_rows_and_empty_scans(where, rng):
    device, by = device_of(where), MAPS[0]
    X = rng.normal(size=(20, 5)) * (rng.random((20, 5)) < 0.5)
    dense, held = (device.hold(form(X), None, by) for form in (np.asarray, sparse.csr_matrix))
    coef = np.ones((1, 20))
    every = [device.scan(by, rows, None, dense, None, coef, True) for rows in (dense, held)]
    np.testing.assert_array_equal(*every)
    nothing = np.empty(0, dtype=np.int64)
    assert device.scan(by, dense, nothing, held, None, coef, True).shape == (1, 0)
    assert not device.scan(by, dense, None, held, nothing, np.empty((2, 0)), False).any()
    assert device.room() > device.bytes_per_row(5) > 0
    device.release()
