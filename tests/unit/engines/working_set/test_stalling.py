"""Attempts that fail and rounds without progress, which tell that the engine stalls."""

from __future__ import annotations

import numpy as np
import pytest

from widestreet._src.engines.working_set.stalling import _IDLE_PASSES, Attempts, Progress


def test_attempts_fail_unless_they_halve_the_best():
    attempts = Attempts()
    assert [attempts.count(value) for value in (8.0, 5.0, 2.0, 1.5, 1.2, 0.5)] == [0, 1, 0, 1, 2, 0]
    assert attempts.best == 0.5
    assert attempts.count(np.nan) == 1  # nothing is better than what is no number


@pytest.mark.parametrize("better", [(2.0, 1.0), (1.0, 0.5)], ids=["objective", "violation"])
def test_progress_of_either_figure_starts_the_count_anew(better):
    progress = Progress()
    assert not progress.stuck(1.0, 1.0, busy=False, pass_rounds=1.0)
    for _ in range(_IDLE_PASSES - 1):
        assert not progress.stuck(1.0, 1.0, busy=False, pass_rounds=1.0)
    assert not progress.stuck(*better, busy=False, pass_rounds=1.0)
    for _ in range(_IDLE_PASSES - 1):
        assert not progress.stuck(1.0, 1.0, busy=False, pass_rounds=1.0)
    assert progress.stuck(1.0, 1.0, busy=False, pass_rounds=1.0)


def test_rounds_that_were_busy_do_not_count():
    progress = Progress()
    assert not any(
        progress.stuck(1.0, 1.0, busy=True, pass_rounds=1.0) for _ in range(10 * _IDLE_PASSES)
    )


def test_a_pass_of_several_rounds_counts_once():
    progress = Progress()
    found = [progress.stuck(1.0, 1.0, busy=False, pass_rounds=3.0) for _ in range(40)]
    assert found.index(True) == 3 * _IDLE_PASSES  # the first round is progress


def test_gains_below_the_rounding_of_the_objective_add_up():
    """A fit goes on as long as several rounds gain more than the rounding."""
    progress = Progress()
    values = 1.0 + np.arange(200) * 4e-15
    assert not any(progress.stuck(v, 1.0, busy=False, pass_rounds=1.0) for v in values)


def test_an_objective_that_overflowed_ends_busy_rounds():
    progress = Progress()
    found = [progress.stuck(np.nan, 1e299, busy=True, pass_rounds=1.0) for _ in range(20)]
    assert found[-1]
