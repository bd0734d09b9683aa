"""The model, version by version: what changed, and how far it may have moved."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from conftest import TOL
from widestreet._src.shards.expansion import _KEPT_VERSIONS, Expansion


def dense(ids, coef, n: int) -> np.ndarray:
    """Coefficients of all rows."""
    every = np.zeros(n)
    every[ids] = coef
    return every


def publish_random(model: Expansion, rng, n: int, length: float = 1.0) -> np.ndarray:
    """Publish random support vectors in random order; returns their coefficients over all rows."""
    ids = rng.permutation(n)[: rng.integers(0, n + 1)]
    coef = rng.choice([-1.0, 0.5, 2.0], len(ids))
    model.publish(ids, coef, rng.normal(size=len(model.bias)), length)
    return dense(ids, coef, n)


def test_the_first_model_is_zero():
    model = Expansion(2)
    assert model.version == 0
    assert len(model.ids) == len(model.coef) == 0
    assert model.bias.tolist() == [0.0, 0.0]
    assert model.drift.tolist() == [0.0]
    ids, change = model.change_since(0)
    assert len(ids) == len(change) == 0


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 30), rounds=st.integers(1, 12))
def test_changes_add_up(seed, n, rounds):
    """Coefficients of a version plus the change since are those of now; equal ones are left out."""
    rng = np.random.default_rng(seed)
    model, past = Expansion(1), [np.zeros(n)]
    for _ in range(rounds):
        past.append(publish_random(model, rng, n))
        assert model.version == len(past) - 1
        assert (np.diff(model.ids) > 0).all()
        assert np.array_equal(dense(model.ids, model.coef, n), past[-1])
        for version, coef in enumerate(past):
            ids, change = model.change_since(version)
            if version <= model.version - _KEPT_VERSIONS:
                assert ids is None
                continue
            assert np.array_equal(coef + dense(ids, change, n), past[-1])
            assert np.array_equal(ids, np.flatnonzero(past[-1] != coef))
    assert model.change_since(-1)[0] is None
    assert model.change_since(-2)[0] is None
    assert model.change_since(model.version + 1)[0] is None


@given(seed=st.integers(0, 2**32 - 1), rounds=st.integers(1, 12))
def test_drift_bounds_the_way_from_every_version(seed, rounds):
    """The sum of the steps, which is no shorter than the straight way."""
    rng = np.random.default_rng(seed)
    model, n = Expansion(1), 10
    G = rng.normal(size=(n, 4))
    w, lengths = [np.zeros(4)], []
    for _ in range(rounds):
        ids, coef = np.arange(n), rng.normal(size=n)
        w.append(G.T @ coef)
        lengths.append(float(np.linalg.norm(w[-1] - w[-2])))
        model.publish(ids, coef, np.zeros(1), lengths[-1])
    assert model.drift.shape == (rounds + 1,)
    assert model.drift[-1] == 0.0
    sums = [sum(lengths[v:]) for v in range(rounds + 1)]
    np.testing.assert_allclose(model.drift, sums, rtol=TOL.exact * rounds)
    straight = np.linalg.norm(w[-1] - np.array(w), axis=1)
    assert (straight <= model.drift + TOL.exact * sum(lengths)).all()


def test_an_unknown_length_forgets_the_past():
    model = Expansion(1)
    model.publish(np.array([3]), np.ones(1), np.zeros(1), 1.0)
    model.publish(np.array([3]), np.ones(1), np.zeros(1), np.inf)
    model.publish(np.array([3]), np.ones(1), np.zeros(1), 0.5)
    assert model.drift.tolist() == [np.inf, np.inf, 0.5, 0.0]


def test_support_vectors_that_leave_are_a_change():
    model = Expansion(1)
    model.publish(np.array([5, 2]), np.array([1.0, -1.0]), np.zeros(1), 1.0)
    assert model.ids.tolist() == [2, 5]
    assert model.coef.tolist() == [-1.0, 1.0]
    model.publish(np.array([5, 7]), np.array([1.0, 3.0]), np.ones(1), 1.0)
    ids, change = model.change_since(1)
    assert ids.tolist() == [2, 7]
    assert change.tolist() == [1.0, 3.0]
    assert model.bias.tolist() == [1.0]
