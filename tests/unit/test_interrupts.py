"""Ctrl-C waits until a block is over."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from widestreet._src.interrupts import noticed, undisturbed

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals are sent the POSIX way")


def press() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_an_interrupt_is_raised_behind_the_block():
    done = []

    def work() -> None:
        with undisturbed():
            press()
            done.append("in the block")
        done.append("behind it")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["in the block"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_may_be_swallowed():
    with undisturbed(swallow=True):
        press()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_error_of_the_block_comes_through():
    with pytest.raises(ZeroDivisionError), undisturbed():
        raise ZeroDivisionError
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_that_is_ignored_stays_ignored():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with undisturbed():
            press()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_leave_the_handler_alone():
    seen = []

    def work() -> None:
        with undisturbed():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.default_int_handler]


def test_an_interrupt_is_noticed_before_it_is_raised():
    seen = []
    with pytest.raises(KeyboardInterrupt), noticed(lambda: seen.append("noticed")):
        press()
    assert seen == ["noticed"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with pytest.raises(KeyboardInterrupt), noticed(lambda: seen.append("again")), undisturbed():
        press()
    assert seen == ["noticed", "again"]


def test_other_threads_notice_nothing():
    done = []

    def work() -> None:
        with noticed(lambda: done.append("noticed")):
            done.append("worked")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == ["worked"]
