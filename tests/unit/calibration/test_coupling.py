"""Coupling of pairs of classes: consistent pairs, the minimum of the objective, permutations."""

from __future__ import annotations

import numpy as np

from conftest import TOL
from widestreet._src.calibration import coupling
from widestreet._src.calibration.coupling import coupled
from widestreet._src.problems.class_pairs import PairLayout

LAYOUT = PairLayout(4)


def pairs_of(p):
    return np.stack([p[:, i] / (p[:, i] + p[:, j]) for i, j in LAYOUT.pairs], axis=1)


def test_consistent_pairs_give_their_probabilities_back(rng):
    p = rng.dirichlet(np.ones(4), 50)
    np.testing.assert_allclose(coupled(LAYOUT, pairs_of(p)), p, atol=TOL.twin)


def test_probabilities_are_the_best_for_any_pairs(rng):
    """Against probabilities near them, by the objective of the paper."""
    first = rng.uniform(0.01, 0.99, (20, 6))
    p = coupled(LAYOUT, first)
    assert (p >= 0).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=TOL.exact * 10)

    def objective(p):
        total = np.zeros(len(p))
        for r, (i, j) in zip(first.T, LAYOUT.pairs, strict=True):
            total += ((1 - r) * p[:, i] - r * p[:, j]) ** 2
        return total

    best = objective(p)
    for _ in range(10):
        move = rng.standard_normal(p.shape)
        move -= move.mean(axis=1, keepdims=True)
        assert (objective(p + 1e-3 * move) > best).all()


def test_the_order_of_classes_does_not_matter(rng):
    first, order = rng.uniform(0.01, 0.99, (20, 6)), np.array([2, 0, 3, 1])
    r = np.zeros((20, 4, 4))
    r[:, LAYOUT.first, LAYOUT.second], r[:, LAYOUT.second, LAYOUT.first] = first, 1 - first
    other = r[:, order][:, :, order][:, LAYOUT.first, LAYOUT.second]
    one = coupled(LAYOUT, first)[:, order]
    np.testing.assert_allclose(coupled(LAYOUT, other), one, atol=TOL.twin)


def test_blocks_of_rows_do_not_matter(rng, monkeypatch):
    first = rng.uniform(0, 1, (20, 6))
    whole = coupled(LAYOUT, first)
    monkeypatch.setattr(coupling, "_BLOCK_VALUES", 60)
    np.testing.assert_array_equal(coupled(LAYOUT, first), whole)


def test_certain_pairs_are_no_problem():
    """Class 0 wins all its pairs, with certainty; then no class wins all."""
    p = coupled(LAYOUT, np.array([[1.0, 1.0, 1.0, 0.0, 1.0, 0.0], [1.0, 0.0, 1.0, 1.0, 0.0, 1.0]]))
    assert np.isfinite(p).all()
    assert p[0].argmax() == 0
