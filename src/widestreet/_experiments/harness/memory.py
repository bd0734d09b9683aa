"""The memory of the process: what it holds, and its peak since `begin`."""

from __future__ import annotations

import sys
from pathlib import Path

_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def _line(name: str) -> float | None:
    try:
        for line in _STATUS.read_text().splitlines():
            if line.startswith(name):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    return None


def _most_ever() -> float:
    import resource  # absent on Windows, where nothing is measured

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 1024)


def begin() -> float:
    """Reset the peak and return the MB held now; where it cannot be reset, return the peak."""
    try:
        _CLEAR.write_text("5")
    except OSError:
        return _most_ever()
    return _line("VmRSS:") or _most_ever()


def peak() -> float:
    """Return the peak in MB since `begin`."""
    return _line("VmHWM:") or _most_ever()
