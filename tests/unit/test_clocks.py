"""The clock of tests of time limits."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from support.clocks import SimulatedClock


def test_no_second_of_several_threads_is_lost(monkeypatch):
    clock = SimulatedClock(monkeypatch)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda k: [clock.wait(1.0) for _ in range(20_000)], range(4)))
    finally:
        sys.setswitchinterval(before)
    assert clock.now == pytest.approx(80_000, abs=1.0)
