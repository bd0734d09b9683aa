"""The contract of strategies: what they declare, and how a working set makes room."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.situations import situation
from widestreet._src.engines.selection.strategy_protocol import (
    make_room,
)
from widestreet.strategies import Auto, Stateless


@given(st.integers(0, 2**32 - 1), st.integers(0, 80), st.integers(0, 80), st.integers(4, 64))
def test_room_is_made_for_a_share_of_the_newcomers(seed, size, newcomers, limit):
    rng = np.random.default_rng(seed)
    now, idle = situation(rng, size, newcomers), rng.random(size) < 0.3
    drop = make_room(now, idle, limit, newcomers, rng)
    assert drop[idle].all()
    assert size - drop.sum() + min(newcomers, max(1, limit // 4)) <= limit
    if size - idle.sum() + newcomers <= limit:
        assert drop is idle


@given(st.integers(0, 2**32 - 1), st.integers(1, 60))
def test_rows_at_a_bound_leave_by_their_slack_and_the_newest_last(seed, newcomers):
    rng = np.random.default_rng(seed)
    now = situation(rng, 60, newcomers)
    drop = make_room(now, np.zeros(60, dtype=bool), 64, newcomers, rng)
    bound = ~now.free
    if (now.newest & bound & drop).any():
        assert drop[bound & ~now.newest].all()
    old = bound & ~now.newest
    if drop[old].any() and not drop[old].all():
        assert now.slack[old & drop].min() >= now.slack[old & ~drop].max()
    if (bound & ~drop).any():  # bound rows were enough, unless free ones had to go for a quarter
        assert drop[now.free].sum() <= max(0, 60 - drop[bound].sum() + 16 - 64)


@pytest.mark.parametrize(
    ("complete", "violation", "solved"),
    [(True, 1e-3, True), (False, 1e-3, False), (True, 2e-3, False)],
)
def test_solved_means_that_every_row_was_visited(complete, violation, solved, rng):
    now = situation(rng, 5, 5, complete=complete, violation=violation)
    assert now.solved == solved


def test_whoever_changes_a_strategy_must_declare_again_that_it_solves_small_problems():
    class Other(Auto):
        pass

    class Declared(Auto):
        solves_small = True

    assert Auto.solves_small
    assert not Other.solves_small
    assert Declared.solves_small
    assert not Stateless.solves_small
