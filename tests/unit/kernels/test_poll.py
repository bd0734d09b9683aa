"""Polls: whoever computes kernel values of one piece of work, they are counted together."""

from __future__ import annotations

import numpy as np
import pytest

from support.clocks import SimulatedClock
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import RBF
from widestreet._src.kernels.poll import Pace, Poll
from widestreet._src.rows import as_rows


def test_a_poll_that_looks_at_nothing_only_counts(rng):
    gram, poll = Gram(RBF(1.0), as_rows(rng.normal(size=(20, 3)))), Poll()
    poll.look()
    gram.block(poll=poll)
    gram.select(np.arange(5)).scan(None, None, np.ones(5), poll=poll)
    assert poll.kernel_values == 20 * 20 + 5 * 5


def test_what_was_computed_before_a_stop_is_not_counted(rng):
    def stop() -> None:
        raise KeyboardInterrupt

    gram, poll = Gram(RBF(1.0), as_rows(rng.normal(size=(20, 3)))), Poll(stop)
    with pytest.raises(KeyboardInterrupt):
        gram.block(poll=poll)
    assert poll.kernel_values == 0


def test_the_pace_follows_the_machine(monkeypatch):
    clock = SimulatedClock(monkeypatch)
    pace = Pace()
    for seconds in [1e-7] * 50 + [5e-7] * 2:
        begun = clock.now
        clock.wait(10_000_000 * seconds)
        pace.count(10_000_000, begun, None)
    assert 4e-7 < pace.seconds / pace.values < 5.1e-7
