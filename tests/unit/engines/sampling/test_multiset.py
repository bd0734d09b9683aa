"""Multisets: draws follow the multiplicities, whatever their size."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from widestreet._src.engines.sampling.multiset import Multiset


def multiset(*level: int) -> Multiset:
    made = Multiset(len(level))
    made.double(np.array(level))
    return made


def test_at_first_every_row_is_there_once(rng):
    rows = Multiset(7)
    assert rows.log2_total == np.log2(7)
    assert sorted(rows.draw(7, rng)) == list(range(7))
    assert len(set(rows.draw(5, rng))) == 5


def test_draws_are_numbered_copies(rng):
    """With the same generator, those of a list that has every row as often as it is there."""
    level = rng.integers(0, 6, 30)
    copies = np.repeat(np.arange(30), 2**level)
    for seed in range(20):
        drawn = multiset(*level).draw(100, np.random.default_rng(seed))
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
    rows.double(np.array([2, 0, 1]))
    assert rows.level.tolist() == [2, 3, 2]
    assert rows.top == 3
    assert rows.weights().tolist() == [4.0, 8.0, 4.0]
    assert rows.weights(3).tolist() == [0.5, 1.0, 0.5]
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


def test_draws_are_repeatable():
    for rows in (multiset(1, 2, 3), multiset(100, 200, 201)):
        one, other = (rows.draw(10, np.random.default_rng(3)) for _ in range(2))
        assert np.array_equal(one, other)
