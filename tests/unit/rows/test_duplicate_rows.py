"""Equal rows are one variable with a wider box."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from conftest import TOL
from reference.merge import expand, merge
from support.native import CSR, DENSE, STORAGES
from support.small_rows import small
from widestreet._src.rows import Merged, as_rows, merge_duplicates, without_empty


def test_without_empty():
    merged = without_empty(np.array([1.0, 2.0]))
    assert merged.member_of is None
    assert merged.kept.tolist() == [0, 1]
    merged = without_empty(np.array([0.0, 2.0, 0.0, 3.0]))
    assert merged.kept.tolist() == [1, 3]
    assert merged.member_of.tolist() == [-1, 0, -1, 1]
    assert merged.box.tolist() == [2.0, 3.0]
    beta = np.array([[2.0, -1.0]])
    assert merged.spread(beta, np.array([0.0, 2.0, 0.0, 3.0])).tolist() == [[0, 2.0, 0, -1.0]]


def test_rows_that_differ_stand_for_themselves():
    X, box = small(), np.arange(1.0, 9.0)
    merged = merge_duplicates(as_rows(X), np.ones(8), box, 1)
    assert merged.member_of is None
    assert merged.box is box
    beta = np.ones((1, 8))
    assert merged.spread(beta, box) is beta


def test_a_member_with_an_empty_box_gets_nothing():
    """Even if it is the first of its kind, which stands for the others."""
    X = np.array([[1.0], [1.0], [2.0], [1.0], [2.0]])
    box = np.array([0.0, 1.0, 0.0, 3.0, 0.0])
    merged = merge_duplicates(as_rows(X), np.ones(5), box, 1)
    assert merged.kept.tolist() == [0]
    assert merged.member_of.tolist() == [-1, 0, -1, 0, -1]
    assert merged.box.tolist() == [4.0]
    assert merged.spread(np.array([[2.0]]), box).tolist() == [[0.0, 1.0, 0.0, 1.0, 0.0]]
    assert merged.spread(np.array([[-0.5]]), box).tolist() == [[0.0, -0.5, 0.0, 0.0, 0.0]]


def test_small_boxes_beside_large_ones():
    merged = Merged(np.array([0, 2]), np.array([0, 0, 1, 1, 1]), np.array([2e12, 3e-8]))
    own = np.array([1e12, 1e12, 1e-8, 1e-8, 1e-8])
    spread = merged.spread(np.array([[1e12, -9e-9]]), own)
    np.testing.assert_allclose(spread, [[1e12, 0, -9e-9, 0, 0]], rtol=TOL.feasibility)


@given(
    seed=st.integers(0, 2**32 - 1), n=st.integers(1, 40), storage=st.sampled_from([*DENSE, *CSR])
)
def test_merging_any_rows(seed, n, storage):
    """The kept rows, boxes and shares of reference.merge; sums and bounds survive the spreading."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, size=(n, 2)) / 2
    label = rng.choice([-1.0, 1.0], n)
    box = rng.choice([0.0, 0.5, 1.0, 3.0], n)
    merged = merge_duplicates(as_rows(STORAGES[storage](X)), label, box, 1)
    expected = merge(X, label, box)
    present = expected.weight > 0
    assert merged.kept.tolist() == expected.first[present].tolist()
    np.testing.assert_allclose(merged.box, expected.weight[present], rtol=TOL.exact)

    beta = rng.choice([0.0, 0.25, 1.0], (2, len(merged.kept))) * merged.box
    spread = merged.spread(beta, box)
    every = np.zeros((2, len(present)))
    every[:, present] = beta
    shares = expand(every, expected.inverse, box)
    np.testing.assert_allclose(spread, shares, rtol=TOL.exact, atol=0)
    assert (spread <= box).all()
    assert (spread >= 0).all()
    member_of = np.arange(n) if merged.member_of is None else merged.member_of
    for k, total in enumerate(beta.T):
        np.testing.assert_allclose(spread[:, member_of == k].sum(axis=1), total, rtol=TOL.exact)
        at_bound = total == merged.box[k]
        full = spread[at_bound][:, member_of == k]
        assert np.array_equal(full, np.broadcast_to(box[member_of == k], full.shape))


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 40), lines=st.integers(1, 3))
def test_gathering_adds_up_over_members(seed, n, lines):
    """It undoes the spreading; rows with an empty box count for nothing."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, size=(n, 2)) / 2
    box = rng.choice([0.0, 0.5, 1.0, 3.0], n)
    merged = merge_duplicates(as_rows(X), rng.choice([-1.0, 1.0], n), box, 1)
    beta = rng.uniform(-1, 1, size=(lines, len(merged.kept))) * merged.box
    again = merged.gather(merged.spread(beta, box))
    np.testing.assert_allclose(again, beta, rtol=TOL.exact * n, atol=0)
    coef = rng.normal(size=(lines, n))
    member_of = np.arange(n) if merged.member_of is None else merged.member_of
    gathered = merged.gather(coef)
    assert gathered.shape == beta.shape
    for k in range(len(merged.kept)):
        total = coef[:, member_of == k].sum(axis=1)
        np.testing.assert_allclose(gathered[:, k], total, rtol=0, atol=TOL.exact * n)


def test_gathering_where_every_row_stands_for_itself():
    coef = np.ones((2, 3))
    assert without_empty(np.ones(3)).gather(coef) is coef
    some = without_empty(np.array([0.0, 1.0, 2.0]))
    assert some.gather(np.array([[7.0, 1.0, 2.0]])).tolist() == [[1.0, 2.0]]


@given(seed=st.integers(0, 2**32 - 1))
def test_a_duplicated_row_equals_a_doubled_box(seed):
    rng = np.random.default_rng(seed)
    X, box = rng.normal(size=(10, 3)), rng.random(10) + 0.1
    label = rng.choice([-1.0, 1.0], 10)
    once = merge_duplicates(as_rows(X), label, 2 * box, 1)
    order = np.concatenate([np.arange(10), rng.permutation(10)])
    twice = merge_duplicates(as_rows(X[order]), label[order], box[order], 1)
    assert np.array_equal(once.kept, twice.kept)
    assert np.array_equal(once.box, twice.box)
