"""What a fit may spend."""

from __future__ import annotations

import pickle
import time

import numpy as np
import pytest

from widestreet._src.engines.budget import Budget, OutOfBudget, parse_memory

# -- memory ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1, 1),
        (1000, 1000),
        (2.5e6, 2_500_000),
        (np.int64(7), 7),
        (np.float32(1024), 1024),
        ("4096", 4096),
        ("12B", 12),
        ("3kB", 3_000),
        ("500MB", 500_000_000),
        ("2GB", 2_000_000_000),
        ("2 gb", 2_000_000_000),
        ("1.5 GiB", 1_610_612_736),
        (".5KiB", 512),
        ("0.25 mib", 262_144),
        ("1TB", 10**12),
        ("1TiB", 2**40),
        ("  7  MB ", 7_000_000),
    ],
)
def test_memory(value, expected):
    found = parse_memory(value)
    assert found == expected
    assert type(found) is int


@pytest.mark.parametrize(
    "value",
    [
        0, -1, -2.5, float("nan"), float("inf"), True, False, [1], b"1GB", 1j,
        "", "GB", "-1GB", "1GBB", "1 G B", "1e3", "1,5GB", "0", "0GB", "ten",
        "9" * 400 + "GB",
    ],
    ids=lambda value: repr(value)[:12],
)  # fmt: skip
def test_what_is_no_amount_of_memory(value):
    with pytest.raises(ValueError, match="max_memory must be a positive number of bytes"):
        parse_memory(value)


def test_by_default_a_part_of_the_machine():
    found = parse_memory(None)
    assert type(found) is int
    assert found > 10**8


# -- time and steps ----------------------------------------------------------------------------


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self, monkeypatch) -> None:
        self.now = 100.0
        monkeypatch.setattr(time, "perf_counter", lambda: self.now)

    def budget(self, **limits) -> Budget:
        """A budget that begins now."""
        return Budget(**limits, _begun=self.now)


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


def test_no_limits(clock):
    budget = clock.budget()
    clock.now += 1e9
    budget.look_at_clock()
    budget.spend(10**15, finished=False)
    assert budget.steps_left > 10**18


def test_time(clock):
    budget = clock.budget(max_time=2.0)
    clock.now += 1.5
    assert budget.elapsed == 1.5
    budget.look_at_clock()
    clock.now += 1.0
    with pytest.raises(OutOfBudget) as caught:
        budget.look_at_clock()
    assert caught.value.status == "time_limit"


def test_time_kept_back_for_the_certificate(clock):
    budget = clock.budget(max_time=10.0)
    budget.keep_back(3.0)
    clock.now += 6.6
    budget.look_at_clock()
    clock.now += 0.2  # with margins for the time between two looks and for other programs
    with pytest.raises(OutOfBudget):
        budget.look_at_clock()


def test_the_certificate_may_use_what_was_kept_back(clock):
    budget = clock.budget(max_time=10.0)
    budget.keep_back(3.0)
    clock.now += 9.9
    budget.look_at_end()
    clock.now += 0.2
    with pytest.raises(OutOfBudget) as caught:
        budget.look_at_end()
    assert caught.value.status == "time_limit"


@pytest.mark.parametrize(("asked", "left"), [(0.0, 9.7), (0.2, 9.5), (3.0, 6.7), (9.5, 0.2)])
def test_what_is_asked_for_is_kept_back(clock, asked, left):
    budget = clock.budget(max_time=10.0)
    budget.keep_back(asked, least=5.0)
    clock.now += left - 0.1
    budget.look_at_clock()
    clock.now += 0.2
    with pytest.raises(OutOfBudget):
        budget.look_at_clock()


@pytest.mark.parametrize(("least", "left"), [(0.0, 10.0), (2.0, 8.0), (8.0, 5.0)])
def test_time_that_never_sufficed_is_not_kept_back(clock, least, left):
    budget = clock.budget(max_time=10.0)
    budget.keep_back(11.0, least)
    clock.now += left - 0.1
    budget.look_at_clock()
    clock.now += 0.2
    with pytest.raises(OutOfBudget):
        budget.look_at_clock()


def test_a_certificate_that_was_affordable_ends_the_rounds_before_it_is_not(clock):
    budget = clock.budget(max_time=10.0)
    budget.keep_back(4.0, 0.1)
    clock.now += 2.0
    budget.look_at_clock()
    budget.keep_back(8.5, 0.1)
    with pytest.raises(OutOfBudget):
        budget.look_at_clock()
    budget.look_at_end()


@pytest.mark.parametrize(("guess", "until"), [(2.0, 9.7), (4.5, 7.2), (8.0, 7.0), (1e3, 7.0)])
def test_a_guess_keeps_back_half_of_the_time_that_is_left_at_most(clock, guess, until):
    budget = clock.budget(max_time=12.0)
    budget.keep_back(1.0)
    clock.now += 2.0
    budget.keep_back(guess, measured=False)
    clock.now += until - 2.1
    budget.look_at_clock()
    clock.now += 0.2
    with pytest.raises(OutOfBudget):
        budget.look_at_clock()


def test_a_guess_that_fits_is_affordable(clock):
    budget = clock.budget(max_time=10.0)
    budget.keep_back(20.0, measured=False)
    assert not budget.affordable
    budget.keep_back(2.0, measured=False)
    assert budget.affordable


def test_a_stop_is_found_whatever_time_is_left(clock):
    budget = clock.budget(max_time=1.0)
    clock.now += 5.0
    budget.look_for_stop()
    budget.stopped = True
    with pytest.raises(KeyboardInterrupt):
        budget.look_for_stop()


def test_without_a_limit_nothing_is_kept_back(clock):
    budget = clock.budget()
    budget.keep_back(1e6)
    budget.look_at_clock()
    assert budget.reserve == 0.0


@pytest.mark.parametrize("limits", [{}, {"max_time": 2.0}, {"max_time": 0.5, "max_steps": 3}])
def test_whoever_is_stopped_by_somebody_else_is_interrupted(clock, limits):
    """At the next look, whatever time is left; until it may go on."""
    budget = clock.budget(**limits)
    clock.now += 1.0
    budget.stopped = True
    for look in (budget.look_at_clock, budget.look_at_end):
        with pytest.raises(KeyboardInterrupt):
            look()
    budget.spend(1, finished=False)  # steps are counted all the same
    budget.stopped = False
    if limits.get("max_time", 2.0) > 1:
        budget.look_at_clock()
        budget.look_at_end()
    assert not clock.budget(**limits).stopped


def test_a_budget_begins_when_it_is_made():
    budget = Budget(max_time=60.0)
    assert 0 <= budget.elapsed < 60
    budget.look_at_clock()


def test_steps():
    budget = Budget(max_steps=10)
    assert budget.steps_left == 10
    budget.spend(4, finished=False)
    assert budget.steps_left == 6
    with pytest.raises(OutOfBudget) as caught:
        budget.spend(6, finished=False)
    assert caught.value.status == "iteration_limit"
    assert budget.steps_left == 0


def test_the_last_step_may_be_the_last_one_needed():
    budget = Budget(max_steps=10)
    budget.spend(10, finished=True)
    assert budget.steps_left == 0
    budget.spend(5, finished=True)
    assert budget.steps_left == 0


def test_budgets_do_not_share_anything(clock):
    one = clock.budget(max_steps=5)
    one.spend(3, finished=False)
    clock.now += 1.0
    other = clock.budget(max_steps=5)
    assert other.steps_left == 5
    assert (one.elapsed, other.elapsed) == (1.0, 0.0)


def test_a_copy_for_another_process_has_what_is_left():
    budget = Budget(1000.0, 100, reserve=2.0, _begun=time.perf_counter() - 400.0)
    budget.spend(30, finished=False)
    left = budget.remaining()
    copy = pickle.loads(pickle.dumps(budget))
    assert copy.max_time <= left
    assert copy.elapsed <= budget.elapsed - 400.0
    assert (copy.steps_left, copy.reserve, copy.stopped) == (70, 2.0, False)
    assert pickle.loads(pickle.dumps(Budget())).remaining() is None


def test_a_pause_ends_steps_before_their_limit():
    budget = Budget(max_steps=100)
    budget.spend(10, finished=False)
    with budget.pausing(20):
        assert budget.steps_left == 20
        with pytest.raises(OutOfBudget) as stopped:
            budget.spend(20, finished=False)
    assert stopped.value.status == "stalled"
    assert budget.steps_left == 70
    with budget.pausing(200), pytest.raises(OutOfBudget) as stopped:
        budget.spend(70, finished=False)
    assert stopped.value.status == "iteration_limit"


def test_a_pause_ends_if_it_has_become_useless():
    budget = Budget(max_steps=100)
    with budget.pausing(20, lambda: False):
        budget.spend(30, finished=False)
        assert budget.steps_left == 70
        with pytest.raises(OutOfBudget) as stopped:
            budget.spend(70, finished=False)
    assert stopped.value.status == "iteration_limit"


def test_solves_beside_each_other_count_their_own_pair_steps():
    whole = Budget()
    one, other = whole.beside(), whole.beside()
    with one.pausing(10):
        other.spend(100, finished=False)
        assert one.steps_left == 10
        with pytest.raises(OutOfBudget):
            one.spend(10, finished=False)
    other.spend(100, finished=False)


def test_a_stop_reaches_solves_beside_each_other():
    whole = Budget()
    part = whole.beside().beside()
    part.look_at_clock()
    whole.stopped = True
    with pytest.raises(KeyboardInterrupt):
        part.look_at_clock()
    with pytest.raises(KeyboardInterrupt):
        part.look_at_end()


def test_a_budget_beside_others_has_the_same_clock():
    part = Budget(max_time=0.0).beside()
    with pytest.raises(OutOfBudget):
        part.look_at_clock()
