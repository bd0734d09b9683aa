"""The time of a function call."""

from __future__ import annotations

from widestreet._experiments.harness import clock


def test_one_call_is_timed(monkeypatch):
    now = iter([10.0, 12.5])
    monkeypatch.setattr(clock.time, "perf_counter", lambda: next(now))
    said = []
    assert clock.seconds(said.append, "work") == 2.5
    assert said == ["work"]
