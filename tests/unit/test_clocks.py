"""The clock of tests of time limits."""

from __future__ import annotations

from threading import Event, Thread

from support.clocks import SimulatedClock


def test_no_second_of_several_threads_is_lost(monkeypatch):
    begun, done = Event(), Event()

    class Slow(float):
        """Seconds whose sum leaves time for another thread."""

        def __radd__(self, other):
            begun.set()
            done.wait(0.1)
            return float(other) + float(self)

    def other():
        begun.wait(60)
        clock.wait(1.0)
        done.set()

    clock, thread = SimulatedClock(monkeypatch), Thread(target=other)
    thread.start()
    clock.wait(Slow(2.0))
    thread.join()
    assert clock.now == 3.0
