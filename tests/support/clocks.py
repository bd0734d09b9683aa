"""A clock for tests of time limits, so that they do not depend on how busy the machine is."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import pytest

from widestreet._src.kernels import gram as gram_module
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.native import NativeBackend

_LOOK = 1e-5  # seconds that pass with each look at the clock, so that no loop waits for ever


class SimulatedClock:
    """Seconds that pass where a test says so, and a few at every look."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        self._lock = threading.RLock()  # the handler of a signal may look
        monkeypatch.setattr(time, "perf_counter", self.look)

    def look(self) -> float:
        with self._lock:
            self.now += _LOOK
            return self.now

    def wait(self, seconds: float) -> None:
        with self._lock:
            self.now += seconds


class SimulatedMachine(SimulatedClock):
    """A clock on which kernel values take time, and nothing else. A native call is short.

    Parameters
    ----------
    monkeypatch : pytest.MonkeyPatch
    pace : callable
        Takes the present time and returns the seconds of a kernel value.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, pace: Callable[[float], float]) -> None:
        super().__init__(monkeypatch)
        pieces, scan, fill = Gram._pieces, NativeBackend.add_scan, NativeBackend.fill
        symmetric = gram_module.add_symmetric_piece

        def short(gram, height: int, width: int, poll, most=None) -> Iterator[slice]:
            return pieces(gram, height, width, poll, 0.0)

        def add_scan(backend, rows, columns, coef, out, double) -> None:
            scan(backend, rows, columns, coef, out, double)
            self.wait(pace(self.now) * out.shape[-1] * coef.shape[-1])

        def filled(backend, rows, columns, out, into) -> None:
            fill(backend, rows, columns, out, into)
            self.wait(pace(self.now) * len(into) * out.shape[1])

        def add_half(backend, rows, piece: slice, coef, out) -> None:
            symmetric(backend, rows, piece, coef, out)
            self.wait(pace(self.now) * (piece.stop - piece.start) * (len(rows) - piece.start))

        monkeypatch.setattr(Gram, "_pieces", short)
        monkeypatch.setattr(NativeBackend, "add_scan", add_scan)
        monkeypatch.setattr(NativeBackend, "fill", filled)
        monkeypatch.setattr(gram_module, "add_symmetric_piece", add_half)
