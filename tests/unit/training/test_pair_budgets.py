"""Shares of the time of a fit: by rows, with the time of the examination kept back."""

from __future__ import annotations

import pytest

from widestreet._src.engines.budget import Budget
from widestreet._src.status import Status
from widestreet._src.training.pair_budgets import PairBudgets

HOURS = 1e6  # so much time that what the test itself takes does not matter


class Forecast:
    """A forecast that is known beforehand."""

    def __init__(self, seconds: float) -> None:
        self._seconds, self.counted = seconds, []

    def seconds(self) -> float:
        return self._seconds

    def count(self, support: int, rows: int) -> None:
        self.counted.append((support, rows))


def budgets(max_time=HOURS, *, workers=1, proof=0.0) -> PairBudgets:
    return PairBudgets(Budget(max_time), 100, workers, 7, Forecast(proof))


def test_a_share_is_that_of_the_rows_that_are_left(TOL):
    shares = budgets()
    found = [shares.share(rows) for rows in (25, 25, 50)]
    parts = [one.max_time / HOURS for one in found]
    assert parts == pytest.approx([1 / 4, 1 / 3, 1.0], rel=TOL.sampled)
    assert [one.max_steps for one in found] == [7, 7, 7]


def test_pairs_that_are_solved_at_the_same_time_have_larger_shares(TOL):
    assert budgets(workers=3).share(25).max_time == pytest.approx(0.75 * HOURS, rel=TOL.sampled)
    assert budgets(workers=9).share(25).max_time == pytest.approx(HOURS, rel=TOL.sampled)


def test_the_time_of_the_examination_is_kept_back(TOL):
    assert budgets(proof=0.2 * HOURS).share(100).max_time == pytest.approx(
        0.8 * HOURS, rel=TOL.sampled
    )
    most = budgets(proof=5 * HOURS).share(100).max_time
    assert most == pytest.approx(0.4 * HOURS, rel=TOL.sampled)


def test_without_a_limit_there_is_none_for_pairs():
    assert budgets(None).share(25).max_time is None


def test_no_time_is_left():
    shares = budgets(1e-9)
    assert shares.share(25) is None
    assert shares.why == Status.TIME_LIMIT


def test_pairs_that_are_not_solved_share_the_time_again(TOL):
    shares = budgets()
    shares.share(100)
    shares.restart(50)
    parts = [shares.share(25).max_time / HOURS for _ in range(2)]
    assert parts == pytest.approx([1 / 2, 1.0], rel=TOL.sampled)


def test_a_stop_holds_for_pairs_that_were_started_and_for_others():
    shares = budgets()
    started = shares.share(25)
    shares.stop()
    assert started.stopped
    assert shares.share(25) is None
    assert shares.why == Status.INTERRUPTED


def test_pairs_that_were_solved_are_counted_in_the_forecast():
    shares = budgets()
    shares.count(3, 25)
    assert shares.proof.counted == [(3, 25)]
