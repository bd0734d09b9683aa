"""Data of the paper on ensembles: splits, and rows that a part leaves."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from widestreet import datasets
from widestreet._experiments.harness.task import Split
from widestreet._experiments.papers import ensemble_data
from widestreet._src import environment


@pytest.fixture
def split() -> Split:
    X, y = datasets.twonorm(160, random_state=0)
    y = np.where(np.random.default_rng(1).random(160) < 0.1, -y, y)
    return Split(X[:100], y[:100], X[100:], y[100:])


def test_rows_are_dealt_out_anew(split):
    first, again, other = (ensemble_data.redrawn(split, seed) for seed in (3, 3, 4))
    assert np.array_equal(first.X, again.X)
    assert not np.array_equal(first.X, other.X)
    assert (len(first.y), len(first.y_test)) == (100, 60)
    both = np.concatenate([first.X, first.X_test])
    assert np.array_equal(np.sort(both[:, 0]), np.sort([*split.X[:, 0], *split.X_test[:, 0]]))


def test_what_a_part_leaves_of_a_whole():
    dense = np.array([[1, 0], [0, 2], [1, 0], [3, 3], [0, 2], [0, 0]], dtype=float)
    X, y = sparse.csr_matrix(dense), np.array([1, 1, -1, 1, 1, -1])
    assert ensemble_data.remainder((X, y), (X[[2, 4]], y[[2, 4]])).tolist() == [0, 1, 3, 5]
    assert ensemble_data.remainder((X, y), (X[[1]], y[[1]])).tolist() == [0, 2, 3, 4, 5]
    with pytest.raises(ValueError, match="another order"):
        ensemble_data.remainder((X, y), (X[[3, 0]], y[[3, 0]]))


def test_sets_are_read(tmp_path, monkeypatch):
    monkeypatch.setenv(environment.DATA, str(tmp_path))
    X, y = np.arange(20.0).reshape(10, 2), np.repeat([1, -1], 5)
    np.savez(tmp_path / "whole.npz", X=X, y=y[:, None])
    np.savez(tmp_path / "parts.npz", X_tr=X[:6], T_tr=y[:6, None], X_tst=X[6:], T_tst=y[6:, None])
    for name in ("whole.npz", "parts.npz"):
        found = ensemble_data.patterns(name)
        assert np.array_equal(found[0], X)
        assert np.array_equal(found[1], y)
    split = ensemble_data.realization("whole.npz", 3, 5)
    assert (len(split.y), len(split.y_test)) == (5, 3)
