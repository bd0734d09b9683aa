"""A clock for tests of time limits, so that they do not depend on how busy the machine is."""

from __future__ import annotations

import time

import pytest

_LOOK = 1e-5  # seconds that pass with each look at the clock, so that no loop waits for ever


class SimulatedClock:
    """Seconds that pass where a test says so, and a few at every look."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(time, "perf_counter", self.look)

    def look(self) -> float:
        self.now += _LOOK
        return self.now

    def wait(self, seconds: float) -> None:
        self.now += seconds
