"""Expansions, version by version: what changed, and how far they may have moved."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from conftest import TOL
from widestreet._src.shards.expansion import Expansion


def dense(ids, coef, n: int) -> np.ndarray:
    """Coefficients of all rows."""
    every = np.zeros(n)
    every[ids] = coef
    return every


def published_at_random(expansion: Expansion, rng, n: int) -> Expansion:
    """The next version, of random support vectors in random order."""
    ids = rng.permutation(n)[: rng.integers(0, n + 1)]
    coef = rng.choice([-1.0, 0.5, 2.0], len(ids))
    return expansion.published(ids, coef, rng.normal(size=len(expansion.bias)), 1.0)


def test_the_first_one_is_zero():
    zero = Expansion.zero(2)
    assert zero.version == 0
    assert len(zero.ids) == len(zero.coef) == 0
    assert zero.bias.tolist() == [0.0, 0.0]
    assert zero.drift.tolist() == [0.0]


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 30), rounds=st.integers(1, 8))
def test_changes_add_up(seed, n, rounds):
    """Coefficients of a version plus the change since are those of now; equal ones are left out."""
    rng = np.random.default_rng(seed)
    past = [Expansion.zero(1)]
    for _ in range(rounds):
        now = published_at_random(past[-1], rng, n)
        past.append(now)
        assert now.version == len(past) - 1
        assert (np.diff(now.ids) > 0).all()
        coef = dense(now.ids, now.coef, n)
        for one in past:
            before = dense(one.ids, one.coef, n)
            ids, change = now.change_from(one.ids, one.coef)
            assert np.array_equal(before + dense(ids, change, n), coef)
            assert np.array_equal(ids, np.flatnonzero(coef != before))


def test_few_support_vectors_among_many_rows_are_compared_alike():
    far = 10**9  # an array over all rows would need gigabytes
    one = Expansion.zero(1).published(np.array([3, far]), np.array([1.0, 2.0]), np.zeros(1), 1.0)
    other = one.published(np.array([3, 5, far]), np.array([1.0, 4.0, 0.5]), np.zeros(1), 1.0)
    ids, change = other.change_from(one.ids, one.coef)
    assert ids.tolist() == [5, far]
    assert change.tolist() == [4.0, -1.5]


@given(seed=st.integers(0, 2**32 - 1), rounds=st.integers(1, 12))
def test_drift_bounds_the_way_from_every_version(seed, rounds):
    """The sum of the steps, which is no shorter than the straight way."""
    rng = np.random.default_rng(seed)
    now, n = Expansion.zero(1), 10
    G = rng.normal(size=(n, 4))
    w, lengths = [np.zeros(4)], []
    for _ in range(rounds):
        ids, coef = np.arange(n), rng.normal(size=n)
        w.append(G.T @ coef)
        lengths.append(float(np.linalg.norm(w[-1] - w[-2])))
        now = now.published(ids, coef, np.zeros(1), lengths[-1])
    assert now.drift.shape == (rounds + 1,)
    assert now.drift[-1] == 0.0
    sums = [sum(lengths[v:]) for v in range(rounds + 1)]
    np.testing.assert_allclose(now.drift, sums, rtol=TOL.exact * rounds)
    straight = np.linalg.norm(w[-1] - np.array(w), axis=1)
    assert (straight <= now.drift + TOL.exact * sum(lengths)).all()


def test_an_unknown_length_forgets_the_past():
    now = Expansion.zero(1)
    for length in (1.0, np.inf, 0.5):
        now = now.published(np.array([3]), np.ones(1), np.zeros(1), length)
    assert now.drift.tolist() == [np.inf, np.inf, 0.5, 0.0]


def test_support_vectors_that_leave_are_a_change():
    one = Expansion.zero(1).published(np.array([5, 2]), np.array([1.0, -1.0]), np.zeros(1), 1.0)
    assert one.ids.tolist() == [2, 5]
    assert one.coef.tolist() == [-1.0, 1.0]
    other = one.published(np.array([5, 7]), np.array([1.0, 3.0]), np.ones(1), 1.0)
    ids, change = other.change_from(one.ids, one.coef)
    assert ids.tolist() == [2, 7]
    assert change.tolist() == [1.0, 3.0]
    assert other.bias.tolist() == [1.0]
