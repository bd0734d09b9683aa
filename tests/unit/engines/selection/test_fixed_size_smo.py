"""Classical decomposition: the worst violators enter, the least violating rows leave."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.situations import situation
from widestreet.strategies import SMO


@given(st.integers(0, 2**32 - 1), st.integers(0, 32), st.integers(0, 80))
def test_the_worst_violators_replace_the_least_violating_rows(seed, size, newcomers):
    rng = np.random.default_rng(seed)
    now, strategy = situation(rng, size, newcomers), SMO(size=32)
    found = strategy.propose(now, rng)
    assert size - found.drop.sum() + len(found.add) <= 32
    assert len(found.add) == min(newcomers, 32 if size == 0 else 16)
    entering = np.isin(now.violators, found.add)
    if entering.any() and not entering.all():
        assert now.excess[entering].min() >= now.excess[~entering].max()
    for kind in (now.free, ~now.free):
        leave, stay = now.slack[kind & found.drop], now.slack[kind & ~found.drop]
        if len(leave) and len(stay):
            assert leave.min() >= stay.max()
    if found.drop[now.free].any():
        assert found.drop[~now.free].all()


def test_newest_rows_that_changed_nothing_stay(rng):
    """They violate against rows that are still outside, and must meet them in the set."""
    newest = np.arange(32) >= 16
    now = situation(rng, 32, 40, newest=newest, moved=False)
    assert not SMO(size=32).propose(now, rng).drop[newest].any()


def test_no_row_is_skipped_by_a_survey(rng):
    order = SMO().propose(situation(rng, 10, 5), rng).survey
    assert order.whole
    assert not order.skip


@pytest.mark.parametrize(("rows", "capacity", "first"), [(10, 64, 10), (99, 64, 32), (99, 20, 20)])
def test_the_first_set_is_as_large_as_it_may_be(rows, capacity, first):
    assert SMO(size=32).start(rows, capacity) == first


def test_a_set_has_two_rows_at_least():
    with pytest.raises(ValueError, match="size must be an integer of at least 2, got 1"):
        SMO(size=1)
