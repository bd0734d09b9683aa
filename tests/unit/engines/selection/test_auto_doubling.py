"""The default strategy: which rows stay, which enter, and how exactly the set is solved."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import TOL
from support.situations import situation
from widestreet.strategies import Auto

STRATEGY = Auto(start_size=16, max_size=40)


@given(st.integers(0, 2**32 - 1), st.integers(0, 64), st.integers(0, 80), st.integers(8, 64))
def test_the_set_stays_within_its_limits(seed, size, newcomers, capacity):
    rng = np.random.default_rng(seed)
    now = situation(rng, min(size, capacity), newcomers, capacity=capacity)
    found = STRATEGY.propose(now, rng)
    limit = min(capacity, max(STRATEGY.max_size, 2 * int(now.free.sum())))
    assert (~found.drop).sum() + len(found.add) <= limit
    assert len(np.unique(found.add)) == len(found.add)
    assert np.isin(found.add, now.violators).all()
    if newcomers:
        assert len(found.add) > 0


def test_with_room_for_all_only_rows_far_from_violating_leave(rng):
    now = situation(rng, 20, 10)
    found = STRATEGY.propose(now, rng)
    far = now.slack >= STRATEGY.keep_slack * now.violation
    np.testing.assert_array_equal(found.drop, ~now.support & far)
    assert sorted(found.add) == sorted(now.violators)


def test_the_set_is_solved_loosely_unless_it_is_everything(rng):
    now = situation(rng, 20, 10)
    middle = np.sqrt(now.excess.mean() * now.violation)
    inner = STRATEGY.propose(now, rng).inner_tol
    assert inner == pytest.approx(STRATEGY.looseness * middle, rel=TOL.twin)
    every = situation(rng, 20, 10, rows=30, support=np.ones(20, dtype=bool))
    found = STRATEGY.propose(every, rng)
    assert found.inner_tol == every.goal.within
    assert found.survey.tol == every.goal.aim


@given(st.integers(0, 2**32 - 1), st.floats(2.0, 1e6))
def test_the_average_violation_and_the_largest_decide_how_loosely(seed, worst):
    rng = np.random.default_rng(seed)
    now = situation(rng, 20, 10, violation=worst, excess=np.append(rng.random(9) + 0.1, worst))
    inner = STRATEGY.propose(now, rng).inner_tol
    assert STRATEGY.looseness * now.excess.mean() < inner < STRATEGY.looseness * worst


@given(st.integers(0, 2**32 - 1), st.integers(0, 64), st.integers(0, 80))
def test_a_survey_searches_for_no_more_than_the_next_round_admits(seed, size, newcomers):
    rng = np.random.default_rng(seed)
    now = situation(rng, size, newcomers, capacity=64)
    found = STRATEGY.propose(now, rng)
    limit = min(now.capacity, max(STRATEGY.max_size, 2 * int(now.free.sum())))
    after = int((~found.drop).sum()) + len(found.add)
    assert found.survey.quota <= max(STRATEGY.start_size, after)
    assert found.survey.quota <= max(STRATEGY.start_size, limit - after // 3)


@pytest.mark.parametrize(
    ("rows", "capacity", "first"), [(10, 64, 10), (24, 64, 24), (25, 64, 16), (25, 8, 8)]
)
def test_few_rows_are_the_first_set_together(rows, capacity, first):
    assert STRATEGY.start(rows, capacity) == first


@pytest.mark.parametrize(("rows", "factor"), [(100, 2), (3200, 2), (3201, 4), (10**6, 4)])
def test_few_rows_begin_with_a_smaller_set_on_a_device(rows, factor):
    found = STRATEGY.on_device(rows)
    assert found.start_size == factor * STRATEGY.start_size
    assert found.max_size > factor * STRATEGY.max_size
    assert found.looseness > STRATEGY.looseness


@pytest.mark.parametrize("name", ["start_size", "max_size"])
def test_a_set_has_two_rows_at_least(name):
    for size in (1, 64.0, "64"):
        with pytest.raises(ValueError, match=f"{name} must be an integer of at least 2, got"):
            Auto(**{name: size})


@pytest.mark.parametrize("name", ["looseness", "keep_slack"])
def test_fractions_are_not_negative(name):
    with pytest.raises(ValueError, match=f"{name} must be a finite number of at least 0, got -0.1"):
        Auto(**{name: -0.1})
