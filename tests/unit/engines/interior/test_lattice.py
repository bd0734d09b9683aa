"""Lattices: bases of the integers, and integer points that are near in the norm of a matrix."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from widestreet._src.engines.interior.lattice import Lattice
from widestreet._src.kernels.poll import Poll

pytestmark = pytest.mark.numeric


def skewed(rng, n: int = 12, k: int = 5):
    """Columns of very different lengths that are nearly dependent."""
    return (rng.standard_normal((n, 1)) + 0.01 * rng.standard_normal((n, k))) * 2.0 ** np.arange(k)


@pytest.mark.parametrize("reduce", [False, True])
def test_bases_describe_the_same_points(reduce, rng):
    B = skewed(rng)
    found = Lattice.of(B)
    found = found.reduced(Poll()) if reduce else found
    np.testing.assert_array_equal(found.T, np.rint(found.T))
    assert abs(abs(np.linalg.det(found.T)) - 1.0) <= TOL.twin
    size = np.abs(B).max()
    np.testing.assert_allclose(found.M.T @ found.M, B.T @ B, atol=TOL.twin * size**2)
    np.testing.assert_allclose(found.M @ found.T, found.R, atol=TOL.twin * size)
    np.testing.assert_array_equal(np.tril(found.R, -1), 0.0)


def test_no_diagonal_entry_of_a_reduced_basis_is_much_larger_than_the_next(rng):
    R = Lattice.of(skewed(rng)).reduced(Poll()).R
    square = R.diagonal() ** 2
    assert (square[1:] >= 0.25 * (1.0 - TOL.twin) * square[:-1]).all()
    assert (np.abs(np.triu(R, 1)) <= (0.5 + TOL.twin) * np.abs(R.diagonal())[:, None]).all()


@pytest.mark.parametrize("reduce", [False, True])
def test_what_is_left_is_at_most_half_of_the_diagonal(reduce, rng):
    B, x = skewed(rng), 100.0 * rng.standard_normal(5)
    found = Lattice.of(B)
    found = found.reduced(Poll()) if reduce else found
    z = found.nearest(x)
    np.testing.assert_array_equal(z, np.rint(z))
    half = 0.5 * np.linalg.norm(found.R.diagonal())
    assert np.linalg.norm(B @ (z - x)) <= half * (1.0 + TOL.twin)
    np.testing.assert_array_equal(found.nearest(z), z)


def test_points_are_nearer_than_by_rounding_each_entry(rng):
    B, x = skewed(rng), 100.0 * rng.standard_normal(5)
    apart = [Lattice.of(B).nearest(x), Lattice.of(B).reduced(Poll()).nearest(x), np.rint(x)]
    sorted_only, reduced, rounded = (np.linalg.norm(B @ (z - x)) for z in apart)
    assert sorted_only < rounded
    assert reduced < rounded


def test_columns_of_zeros_do_not_matter():
    B = np.diag([0.0, 1.0, 2.0])
    for found in (Lattice.of(B), Lattice.of(B).reduced(Poll())):
        np.testing.assert_array_equal(found.nearest(np.array([0.3, 0.4, 1.6]))[1:], [0.0, 2.0])
