"""Runners: results in order, errors and interrupts where they belong."""

from __future__ import annotations

import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from widestreet._src.shards import runner as local
from widestreet._src.shards.runner import LocalRunner

every_number = pytest.mark.parametrize("workers", [1, 2, 5])
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="signals are sent the POSIX way")


@every_number
@pytest.mark.parametrize("count", [0, 1, 3, 40])
def test_results_come_in_order(workers, count):
    def slow_at_first(k):
        time.sleep(0.01 if k == 0 else 0.0)
        return k * k

    assert LocalRunner(workers).map(slow_at_first, iter(range(count))) == [
        k * k for k in range(count)
    ]


@every_number
def test_an_error_is_raised_and_nobody_is_left_behind(workers):
    before = threading.active_count()

    def fails(k):
        if k == 3:
            raise ArithmeticError("three")
        return k

    with pytest.raises(ArithmeticError, match="three"):
        LocalRunner(workers).map(fails, range(10), on_interrupt=pytest.fail)
    assert threading.active_count() == before


@every_number
def test_as_many_at_a_time_as_there_are_workers(workers):
    lock, now, most = threading.Lock(), 0, 0

    def counted(k):
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        time.sleep(0.002)
        with lock:
            now -= 1

    LocalRunner(workers).map(counted, range(20))
    assert most <= workers
    assert (most > 1) == (workers > 1)


class Work:
    """Items that take a second unless they are told to stop; one of them presses Ctrl-C."""

    def __init__(self, presses: int, after: float) -> None:
        self.presses, self.after = presses, after
        self.stopped, self.stops = threading.Event(), 0
        self.told: list[bool] = []

    def __call__(self, k: int) -> int:
        if k == self.presses:
            self.presses = -1  # once: an item whose submission was interrupted is done again
            time.sleep(self.after)
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        self.told.append(self.stopped.wait(1.0))
        return k

    def stop(self) -> None:
        self.stops += 1
        self.stopped.set()

    def answered(self) -> None:
        """Run, and see that everybody was told."""
        try:
            found = LocalRunner(2).map(self, range(8), on_interrupt=self.stop)
        except KeyboardInterrupt:
            pytest.fail("the interrupt was not answered")
        assert found == list(range(8))
        assert self.stops == 1
        assert all(self.told)


@POSIX
@pytest.mark.parametrize(("presses", "after"), [(0, 0.0), (1, 0.0), (0, 0.05), (1, 0.05)])
def test_an_interrupt_tells_the_others_to_stop_and_what_they_return_counts(presses, after):
    Work(presses, after).answered()


@pytest.mark.parametrize("before", [0, 1, 5])
def test_an_interrupt_while_items_are_handed_out(before, monkeypatch):
    class Interrupted(ThreadPoolExecutor):
        handed = 0

        def submit(self, *arguments):
            self.handed += 1
            if self.handed == before + 1:
                raise KeyboardInterrupt
            return super().submit(*arguments)

    monkeypatch.setattr(local, "ThreadPoolExecutor", Interrupted)
    Work(-1, 0.0).answered()


@POSIX
def test_an_interrupt_that_nobody_wants_to_hear_of_is_raised():
    with pytest.raises(KeyboardInterrupt):
        LocalRunner(2).map(Work(0, 0.05), range(2))


def test_an_error_ends_the_work():
    """Items that have not begun are not begun."""
    begun = []

    def work(item):
        begun.append(item)
        if item == 0:
            raise ZeroDivisionError
        time.sleep(0.05)

    with pytest.raises(ZeroDivisionError):
        LocalRunner(2).map(work, range(100))
    assert len(begun) < 50


def test_a_result_that_was_interrupted_tells_the_others_to_stop():
    stopped = []
    found = LocalRunner(1).map(
        lambda item: (item, bool(stopped)),
        range(4),
        on_interrupt=lambda: stopped.append(1),
        interrupted=lambda result: result[0] == 1,
    )
    assert found == [(0, False), (1, False), (2, True), (3, True)]
