"""The machine and the versions of the libraries."""

from __future__ import annotations

import os
import platform
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from widestreet._experiments.harness.discovery import solvers

LIBRARIES = ("numpy", "scipy", "threadpoolctl")


def describe(threads: int) -> dict[str, str]:
    """Return processor, memory, system and versions."""
    from widestreet import _core

    found = {
        "date": time.strftime("%Y-%m-%d"),
        "processor": _processor(),
        "instruction set": _core.instruction_set(),
        "processors": str(len(_processors())),
        "threads": str(threads),
        "memory": _memory(),
        "system": _system(),
        "Python": platform.python_version(),
    }
    packages = dict.fromkeys([s.package for s in solvers().values() if s.absent() is None])
    for name in (*packages, *LIBRARIES):
        try:
            found.setdefault(name, version(name))
        except PackageNotFoundError:
            continue
    return found


def _processors() -> set[int]:
    if hasattr(os, "sched_getaffinity"):
        return set(os.sched_getaffinity(0))
    return set(range(os.cpu_count() or 1))


def threads() -> int:
    """Return the number of processors that this process may use."""
    return len(_processors())


def _processor() -> str:
    return _field(Path("/proc/cpuinfo"), "model name") or platform.processor() or platform.machine()


def _system() -> str:
    name = _field(Path("/etc/os-release"), "PRETTY_NAME", "=")
    release = ".".join(platform.release().split(".")[:2])
    return ", ".join(filter(None, [name, f"{platform.system()} {release}"]))


def _memory() -> str:
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return "?"
    return f"{size / 2**30:.0f} GiB"


def _field(path: Path, name: str, separator: str = ":") -> str:
    """Return a value from a file of names and values."""
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return ""
    for line in lines:
        key, _, value = line.partition(separator)
        if key.strip() == name:
            return value.strip().strip('"')
    return ""
