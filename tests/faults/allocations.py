"""Allocations that fail: the estimator is as it was before the call, and the next call works.

failing.cpp is loaded before everything else and lets the k-th allocation fail, of the core and of
whatever else is C++ (operator new) or of NumPy, LAPACK and Python (malloc).
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from faults.calls import GROUPS, Call, Failure

_SOURCE = Path(__file__).with_name("failing.cpp")
_COUNT = 1 << 60  # a number that is never reached
WHICH = ("operator new", "malloc")


def compiler() -> str | None:
    """A C++ compiler, if there is one; glibc is needed, too."""
    return shutil.which("c++") if hasattr(os, "confstr") and _glibc() else None


def _glibc() -> bool:
    try:
        return bool(os.confstr("CS_GNU_LIBC_VERSION"))
    except (ValueError, OSError):
        return False


def environment() -> dict[str, str]:
    """Variables for a process whose allocations can fail."""
    library = Path(tempfile.mkdtemp()) / "failing.so"
    flags = ["-O1", "-std=c++17", "-shared", "-fPIC", "-fno-builtin-malloc"]
    subprocess.run([str(compiler()), *flags, _SOURCE, "-o", library], check=True)
    return {"LD_PRELOAD": str(library), "OPENBLAS_NUM_THREADS": "1"}


class Allocations:
    """Lets one allocation fail at a time."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(None)
        self._library.fail_at.argtypes = [ctypes.c_int, ctypes.c_long]
        self._library.fail_at.restype = None
        self._library.counted.restype = ctypes.c_long
        self.calls = {group: list(made()) for group, made in GROUPS.items()}
        self._counts: dict[str, list[int]] = {}

    def __call__(self, i: int, rng: np.random.Generator) -> tuple[str, str, str]:
        """Strike a call; return the group it is of, what it was, and what was left."""
        group = list(GROUPS)[i % len(GROUPS)]
        name, call = self.calls[group][int(rng.integers(len(self.calls[group])))]
        if name not in self._counts:
            call.call(call.begin())  # what is imported or remembered at the first call only
            self._counts[name] = [self._counted(call, which) for which in (0, 1)]
        which = int(rng.integers(2))
        if self._counts[name][which] == 0:
            which = 1 - which
        at = int(rng.integers(1, self._counts[name][which] + 1))
        try:
            outcome = self._struck(call, which, at)
        except Exception as error:
            what = f"allocation {at} of {self._counts[name][which]} by {WHICH[which]}"
            raise Failure(f"{name}, {what}: {error!r}") from error
        return f"{group}, {WHICH[which]}", name, outcome

    def _counted(self, call: Call, which: int) -> int:
        """Allocations of a call that succeeds."""
        subject = call.begin()
        self._library.fail_at(which, _COUNT)
        call.call(subject)
        found = self._library.counted(which)
        self._library.fail_at(which, 0)
        return int(found)

    def _struck(self, call: Call, which: int, at: int) -> str:
        """Let an allocation of a call fail; return what was left."""
        subject = call.begin()
        before = _state(subject)
        error: BaseException | None = None
        self._library.fail_at(which, at)
        try:
            call.call(subject)
        except (MemoryError, SystemError) as stop:  # NumPy's indexing by arrays sets no error
            error = stop
        finally:
            self._library.fail_at(which, 0)
        if error is not None and before is not None and _state(subject) != before:
            raise Failure(f"the call failed and changed {set(_state(subject)) ^ set(before)}")
        return call.after(subject, error) + (
            "" if error is None else f", {type(error).__name__.lstrip('_')}"
        )


def _state(subject: Any) -> dict[str, int] | None:
    """Which attributes an estimator has, and which objects they are; None for online machines."""
    if isinstance(subject, dict) or hasattr(subject, "_store"):
        return None
    return {name: id(value) for name, value in vars(subject).items()}


FAULT = Allocations
