"""How much memory the process holds, and held at most since the last look."""

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
    """Forget the peak so far; MB that are held now. Where that cannot be, the peak itself."""
    try:
        _CLEAR.write_text("5")
    except OSError:
        return _most_ever()
    return _line("VmRSS:") or _most_ever()


def peak() -> float:
    """MB that were held at most since `begin`."""
    return _line("VmHWM:") or _most_ever()
