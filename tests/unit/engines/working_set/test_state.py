"""The bookkeeping of the working-set engine: attempts and progress."""

from __future__ import annotations

import numpy as np
import pytest

from widestreet._src.engines.working_set.state import _IDLE_ROUNDS, Attempts, Progress


def test_attempts_fail_unless_they_halve_the_best():
    attempts = Attempts()
    assert [attempts.count(value) for value in (8.0, 5.0, 2.0, 1.5, 1.2, 0.5)] == [0, 1, 0, 1, 2, 0]
    assert attempts.best == 0.5
    assert attempts.count(np.nan) == 1  # nothing is better than what is no number


@pytest.mark.parametrize("better", [(2.0, 1.0), (1.0, 0.5)], ids=["objective", "violation"])
def test_progress_of_either_figure_starts_the_count_anew(better):
    progress = Progress()
    assert not progress.stuck(1.0, 1.0, busy=False)
    for _ in range(_IDLE_ROUNDS - 1):
        assert not progress.stuck(1.0, 1.0, busy=False)
    assert not progress.stuck(*better, busy=False)
    for _ in range(_IDLE_ROUNDS - 1):
        assert not progress.stuck(1.0, 1.0, busy=False)
    assert progress.stuck(1.0, 1.0, busy=False)


def test_rounds_that_were_busy_do_not_count():
    progress = Progress()
    assert not any(progress.stuck(1.0, 1.0, busy=True) for _ in range(10 * _IDLE_ROUNDS))
