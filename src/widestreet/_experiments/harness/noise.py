"""The processors that other processes use during a measurement."""

from __future__ import annotations

import os
import time
from pathlib import Path

_STAT = Path("/proc/stat")


def _busy() -> float | None:
    """Return the seconds that all processors have worked since the machine was started."""
    try:
        fields = _STAT.read_text().split("\n", 1)[0].split()
        user, nice, system = (int(field) for field in fields[1:4])
        return (user + nice + system) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError):
        return None


class Noise:
    """Reads the clocks when made, and again in `processors`."""

    def __init__(self) -> None:
        self._begun, self._busy = time.perf_counter(), _busy()
        self._own = time.process_time()

    def processors(self) -> float | None:
        """Return the mean number of processors in use by others; None where it is unknown."""
        busy, seconds = _busy(), time.perf_counter() - self._begun
        if busy is None or self._busy is None or seconds < 0.5:  # the clock ticks in hundredths
            return None
        own = time.process_time() - self._own
        return max(0.0, (busy - self._busy - own) / seconds)
