"""Ctrl-C at random moments: what is left predicts, and says truly how good it is.

A moment is either a time, at which a thread sends SIGINT, or the beginning or the end of a
function, at which the process sends it to itself. Times find the native core, functions what takes
no time.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

import widestreet as ws
from faults.calls import GROUPS, Call, Failure

PACKAGE = os.path.dirname(ws.__file__)


class Step:
    """Sends SIGINT when a function of the package is entered or left, counted from the beginning.

    Python looks for signals there, and not between any two lines: not before a lock is released.
    """

    def __init__(self, at: int | None) -> None:
        self.at, self.steps, self.where = at, 0, "never"

    def _look(self, frame: Any, event: str, _: Any) -> Any:
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        frame.f_trace_lines = False
        if event in ("call", "return"):
            self.steps += 1
            if self.steps == self.at:
                name = os.path.relpath(frame.f_code.co_filename, PACKAGE)
                self.where = f"{event} of {frame.f_code.co_name} at {name}:{frame.f_lineno}"
                sys.settrace(None)
                os.kill(os.getpid(), signal.SIGINT)
        return self._look

    def __enter__(self) -> Step:
        sys.settrace(self._look)
        return self

    def __exit__(self, *error: object) -> None:
        sys.settrace(None)


class Later:
    """Sends SIGINT after some seconds, from another thread."""

    def __init__(self, seconds: float) -> None:
        self.where = f"{seconds:.4f} s"
        self._seconds, self._over = seconds, threading.Event()
        self._thread = threading.Thread(target=self._wait)

    def _wait(self) -> None:
        if not self._over.wait(self._seconds):
            os.kill(os.getpid(), signal.SIGINT)

    def __enter__(self) -> Later:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()


@dataclass(frozen=True)
class Length:
    """How long a call is when nobody interrupts it."""

    steps: int
    seconds: float

    @classmethod
    def of(cls, call: Call) -> Length:
        """Measure a call."""
        subject = call.begin()
        with Step(None) as counter:
            call.call(subject)
        subject = call.begin()
        begun = time.perf_counter()
        call.call(subject)
        return cls(counter.steps, time.perf_counter() - begun)


class Interrupts:
    """Interrupts one call at a time."""

    def __init__(self) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background
        self.calls = {group: list(made()) for group, made in GROUPS.items()}
        self._lengths: dict[str, Length] = {}

    def __call__(self, i: int, rng: np.random.Generator) -> tuple[str, str, str]:
        """Interrupt a call; return the group it is of, what it was, and what was left."""
        group = list(GROUPS)[i % len(GROUPS)]
        name, call = self.calls[group][int(rng.integers(len(self.calls[group])))]
        if name not in self._lengths:
            self._lengths[name] = Length.of(call)
        length = self._lengths[name]
        moment: Step | Later
        if rng.random() < 0.5:
            moment = Step(int(rng.integers(1, length.steps + 1)))
        else:
            moment = Later(float(rng.uniform(0.0, 1.1 * length.seconds)))
        mode = str(rng.choice(["raise", "keep"]))
        try:
            return group, name, interrupt(call, moment, mode)
        except Exception as error:
            raise Failure(f"{name}, {moment.where}, {mode}: {error!r}") from error


def interrupt(call: Call, moment: Step | Later, mode: str) -> str:
    """Interrupt a call once; return what was left."""
    subject = call.begin()
    if hasattr(subject, "on_interrupt"):
        subject.on_interrupt = mode
    error: BaseException | None = None
    try:
        with moment:
            call.call(subject)
    except KeyboardInterrupt as stop:
        error = stop
    sys.settrace(None)
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        raise Failure("somebody else listens for Ctrl-C now")
    outcome = call.after(subject, error)
    if error is not None and mode == "keep" and hasattr(subject, "on_interrupt"):
        outcome += ", raised all the same"
    return outcome


FAULT = Interrupts
