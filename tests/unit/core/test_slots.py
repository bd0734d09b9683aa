"""Tiles kept between rounds: moving rows, and making new rows symmetric."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import TOL
from reference import slots
from reference.kernels import KERNELS
from support import native
from support.native import PARAMS
from widestreet import _core

pytestmark = pytest.mark.numeric

DTYPES = (np.float32, np.float64)

every_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=lambda t: t.__name__)


@given(seed=st.integers(0, 2**32 - 1), size=st.integers(1, 150), room=st.integers(0, 9))
def test_relocate(seed, size, room):
    """Whatever moves where: targets are gaps, origins lie elsewhere."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(0, size // 2 + 1))
    origin, target = rng.permutation(size)[: 2 * count].reshape(2, count)
    for dtype in DTYPES:
        tile = rng.normal(size=(size + room, size + room)).astype(dtype)
        found = tile.copy()
        _core.relocate(found, size, np.ascontiguousarray(origin), np.ascontiguousarray(target), 1)
        assert np.array_equal(found, slots.relocate(tile, size, origin, target))


@given(seed=st.integers(0, 2**32 - 1), size=st.integers(1, 150), room=st.integers(0, 9))
def test_mirror(seed, size, room):
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(size)[: rng.integers(0, size + 1)]
    for dtype in DTYPES:
        tile = rng.normal(size=(size + room, size + room)).astype(dtype)
        found = tile.copy()
        _core.mirror(found, size, chosen, 1)
        assert np.array_equal(found, slots.mirror(tile, size, chosen))


@every_dtype
def test_dismissing_rows_is_leaving_them_out(dtype, rng):
    """As a working set does it: what stands behind moves into the gaps."""
    size, left = 100, 70
    tile = rng.normal(size=(size, size)).astype(dtype)
    tile += tile.T
    leaving = np.zeros(size, dtype=bool)
    leaving[rng.permutation(size)[: size - left]] = True
    gaps = np.flatnonzero(leaving[:left])
    movers = left + np.flatnonzero(~leaving[left:])
    rows = np.arange(size)
    rows[gaps] = movers
    found = tile.copy()
    _core.relocate(found, size, movers, gaps, 1)
    assert np.array_equal(found[:left, :left], tile[np.ix_(rows[:left], rows[:left])])


@every_dtype
@pytest.mark.parametrize("threads", [1, 2])
def test_a_mirrored_tile_is_symmetric_whatever_was_written(dtype, threads, rng):
    """A native kernel value may differ from its transpose in the last bit."""
    n, old = 700, 300
    X = native.rows(native.sample(n, 5))
    new = np.arange(old, n)
    for kernel in KERNELS:
        k = native.kernel(kernel, **PARAMS[kernel])
        tile = np.full((n, n), np.nan, dtype=dtype)
        _core.tile(k, X, np.arange(old), X, np.arange(old), tile, None, 1)
        _core.mirror(tile, old, np.arange(old), threads)
        _core.tile(k, X, new, X, None, tile, new, 1)
        _core.mirror(tile, n, new, threads)
        assert np.array_equal(tile, tile.T)


@every_dtype
def test_threads_change_no_bit(dtype, rng):
    size = 1200
    tile = rng.normal(size=(size, size)).astype(dtype)
    origin, target = np.arange(700, 1200), rng.permutation(700)[:500]
    moved, mirrored = [], []
    for threads in (1, 2):
        moved.append(tile.copy())
        _core.relocate(moved[-1], size, origin, target, threads)
        mirrored.append(tile.copy())
        _core.mirror(mirrored[-1], size, rng.permutation(size), threads)
    assert np.array_equal(*moved)
    assert np.array_equal(*mirrored)


@given(seed=st.integers(0, 2**32 - 1), size=st.integers(1, 150), room=st.integers(0, 9))
def test_gather(seed, size, room):
    """Any slots in any order, into the same type or the other."""
    rng = np.random.default_rng(seed)
    chosen = rng.integers(0, size, rng.integers(0, size + 1))
    for dtype in DTYPES:
        tile = rng.normal(size=(size + room, size + room)).astype(dtype)
        for other in DTYPES:
            found = np.full((len(chosen) + 1, len(chosen) + room + 1), 7, dtype=other)
            _core.gather(found, tile, size, chosen, 1)
            expected = slots.gather(tile, chosen).astype(other)
            assert np.array_equal(found[: len(chosen), : len(chosen)], expected)
            assert (found[len(chosen) :] == 7).all()
            assert (found[:, len(chosen) :] == 7).all()


@given(seed=st.integers(0, 2**32 - 1), size=st.integers(1, 150), room=st.integers(0, 9))
def test_add_scores(seed, size, room):
    rng = np.random.default_rng(seed)
    chosen = rng.integers(0, size, rng.integers(0, size + 1))
    change, score = rng.normal(size=len(chosen)), rng.normal(size=size + room)
    for dtype in DTYPES:
        tile = rng.normal(size=(size + room, size + room)).astype(dtype)
        found = score.copy()
        _core.add_scores(tile, size, chosen, change, found, 1)
        expected = slots.add_scores(tile, size, chosen, change, score)
        np.testing.assert_allclose(found, expected, rtol=0, atol=TOL.twin)
        assert np.array_equal(found[size:], score[size:])


@every_dtype
def test_threads_change_no_bit_of_a_large_set(dtype, rng):
    tile = rng.normal(size=(1200, 1200)).astype(dtype)
    chosen, change = rng.permutation(1200)[:700], rng.normal(size=700)
    one, two = np.zeros(1200), np.zeros(1200)
    for threads, score in ((1, one), (2, two)):
        _core.add_scores(tile, 1200, chosen, change, score, threads)
        out = np.empty((700, 700), dtype=dtype)
        _core.gather(out, tile, 1200, chosen, threads)
        assert np.array_equal(out, slots.gather(tile, chosen))
    assert np.array_equal(one, two)


def test_slots_outside_are_refused():
    tile, inside = np.zeros((4, 4)), np.array([3])
    for wrong in (np.array([4]), np.array([-1])):
        with pytest.raises(ValueError, match="slot out of range"):
            _core.gather(np.zeros((1, 1)), tile, 4, wrong, 1)
        with pytest.raises(ValueError, match="slot out of range"):
            _core.add_scores(tile, 4, wrong, np.ones(1), np.zeros(4), 1)
    with pytest.raises(ValueError, match="too small"):
        _core.gather(np.zeros((0, 0)), tile, 4, inside, 1)
    with pytest.raises(ValueError, match="one change per slot"):
        _core.add_scores(tile, 4, inside, np.ones(2), np.zeros(4), 1)
    with pytest.raises(ValueError, match="one score per row"):
        _core.add_scores(tile, 4, inside, np.ones(1), np.zeros(3), 1)
