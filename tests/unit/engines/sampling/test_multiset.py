"""Multisets: draws follow the multiplicities, whatever their size."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from widestreet._src.engines.sampling import multiset as module
from widestreet._src.engines.sampling.multiset import Multiset


def multiset(*level: int) -> Multiset:
    made = Multiset(len(level))
    made.double(np.arange(len(level)), np.array(level, dtype=float))
    return made


def test_at_first_every_row_is_there_once(rng):
    rows = Multiset(7)
    assert rows.log2_total == np.log2(7)
    assert sorted(rows.draw(7, rng)) == list(range(7))
    assert len(set(rows.draw(5, rng))) == 5


def test_draws_are_numbered_copies(rng):
    """With the same generator, those of a list that has every row as often as it is there."""
    level = rng.integers(0, 6, 30) * (rng.random(30) < 0.5)
    copies = np.repeat(np.arange(30), 2**level)
    rows = Multiset(30)
    doubled = np.flatnonzero(level)
    rows.double(doubled, level[doubled].astype(float))
    for seed in range(20):
        drawn = rows.draw(100, np.random.default_rng(seed))
        ticket = np.random.default_rng(seed).choice(len(copies), 100, replace=False)
        assert np.array_equal(drawn, copies[ticket])


def test_no_copy_is_drawn_twice(rng):
    level = np.array([0, 1, 2, 5])
    for count in (1, 10, 38, 39, 40, 1000):
        often = np.bincount(multiset(*level).draw(count, rng), minlength=4)
        assert (often <= 2**level).all()
        assert often.sum() == min(count, 39)


def test_doubling_is_counted_row_by_row():
    rows = multiset(0, 3, 1)
    rows.double(np.array([0, 2]), np.array([2.0, 1.0]))
    assert rows.level(np.arange(3)).tolist() == [2, 3, 2]
    assert rows.levels == [0, 0, 2, 1]
    assert rows.top == 3
    assert rows.weights(np.arange(3)).tolist() == [4.0, 8.0, 4.0]
    assert rows.weights(np.arange(3), 3).tolist() == [0.5, 1.0, 0.5]
    assert rows.log2_total == 4.0


@pytest.mark.parametrize("base", [0, 40, 49, 50, 51, 60, 63, 64, 100, 1023, 1100, 10**6])
def test_draws_follow_the_weights_at_any_height(base, rng):
    """Far beyond what integers or even float64 could count; lower rows are as good as absent."""
    rows = multiset(*(base + np.array([0, 1, 2, 3])), *([0] * 4 if base else []))
    if base == 0:  # there are 15 copies: draw them one at a time
        drawn = np.concatenate([rows.draw(1, rng) for _ in range(20_000)])
    else:
        drawn = rows.draw(20_000, rng)
    share = np.bincount(drawn, minlength=4) / len(drawn)
    np.testing.assert_allclose(share[:4], np.array([1, 2, 4, 8]) / 15, atol=TOL.sampled)
    assert share[4:].sum() == 0
    assert rows.log2_total == pytest.approx(base + np.log2(15), rel=TOL.exact)


def test_rows_of_very_different_weight(rng):
    """Weights that float64 cannot hold beside each other."""
    rows = multiset(0, 5000, 2000, 5000, 1)
    drawn = rows.draw(20_000, rng)
    assert set(drawn) == {1, 3}
    assert np.mean(drawn == 1) == pytest.approx(0.5, abs=TOL.sampled)
    assert rows.log2_total == 5001.0


@pytest.mark.parametrize("doubled", [[], [0], [3, 4, 9], [9], list(range(10))])
def test_draws_with_replacement_follow_the_weights(doubled, rng, monkeypatch):
    monkeypatch.setattr(module, "_COUNTED", 0)
    rows = Multiset(10)
    rows.double(np.array(doubled, dtype=np.int64), np.full(len(doubled), 2.0))
    weight = np.where(np.isin(np.arange(10), doubled), 4.0, 1.0)
    share = np.bincount(rows.draw(50_000, rng), minlength=10) / 50_000
    np.testing.assert_allclose(share, weight / weight.sum(), atol=TOL.sampled)


def test_draws_are_repeatable():
    for rows in (multiset(1, 2, 3), multiset(100, 200, 201)):
        one, other = (rows.draw(10, np.random.default_rng(3)) for _ in range(2))
        assert np.array_equal(one, other)
