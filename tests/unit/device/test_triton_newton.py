"""Single programs of a Newton step: arcs, the next free variables, the best point."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from support.devices import device_of


@pytest.fixture
def programs():
    device_of("triton")
    from widestreet._src.device import triton_newton

    return triton_newton


def tensors(*arrays):
    import torch

    return [torch.from_numpy(np.asarray(a)).to(device_of("triton")._where) for a in arrays]


def test_points_of_an_arc_have_zero_sums(programs, rng):
    n = 10
    c, step = np.zeros(n), rng.normal(size=n)
    *arrays, out = tensors(c, c - 1.0, c + 1.0, step, c + 1.0, np.empty((16, n)))
    programs.arc[(16,)](*arrays, out, n, 0.7, 64)
    points = out.cpu().numpy()
    assert (np.abs(points) <= 1.0).all()
    assert np.abs(points.sum(axis=1)).max() < TOL.twin
    assert np.abs(points).sum() > 0


def test_variables_leave_their_box_and_are_released(programs):
    """The first leaves its box, the second stays, the third is held and should not be."""
    step, zero = np.array([3.0, 0.5, 1.0]), np.zeros(3)
    product = np.array([0.0, 0.0, 5.0])  # the third is pulled back from its upper bound
    place = np.array([0, 1, -1], dtype=np.int32)
    lists = place.copy(), zero.copy(), np.zeros(2, dtype=np.int32)
    arrays = tensors(
        step, product, np.zeros(1), zero, zero - 1, zero + 1, zero, zero, place, *lists
    )
    programs.settle[(1,)](*arrays, 3, 64)
    place, free, fixed, out = (array.cpu().numpy() for array in arrays[-4:])
    np.testing.assert_array_equal(place, [-1, 0, 1])
    np.testing.assert_array_equal(free[:2], [1, 2])
    np.testing.assert_array_equal(fixed, [1.0, 0.0, 0.0])
    np.testing.assert_array_equal(out, [2, 2])


def test_the_point_with_the_largest_gain_is_taken(programs):
    """With K the identity the gain of a point p is largest where p is F."""
    f, zero = np.array([1.0, -1.0]), np.zeros(2)
    points = np.array([[0.2, -0.2], [1.0, -1.0], [0.5, -0.5]])
    slots, coef = np.array([3, 1], dtype=np.int32), np.zeros(4)
    arrays = tensors(points, points, f, zero, zero - 2, zero + 2, slots, coef, zero.copy())
    programs.choose[(1,)](*arrays, 2, COUNT=3, B=64)
    np.testing.assert_array_equal(arrays[-2].cpu().numpy(), [0.0, -1.0, 0.0, 1.0])
    np.testing.assert_array_equal(arrays[-1].cpu().numpy(), f)
