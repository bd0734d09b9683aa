"""Processors and memory that this process may use, also within a container.

A container has a quota of processor time and a limit of memory, which are often far below what the
machine has: more threads than the quota allows are halted in turn, and a process that exceeds the
memory is killed. Linux states both by control groups, in version 2 and version 1 of their files.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from math import ceil
from pathlib import Path

_ROOT = Path("/")


def processors(root: Path = _ROOT) -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # may change while the process runs
        count = len(os.sched_getaffinity(0))
    else:
        count = os.cpu_count() or 1
    return min(count, _quota(root) or count)


def memory(root: Path = _ROOT) -> int | None:
    """Return the bytes of memory that this process may use; None if the system does not say."""
    return min([*_installed(), *_limits_of_memory(root), *_address_space()], default=None)


@cache  # each fit asks for it, and it hardly ever changes
def _quota(root: Path) -> int | None:
    """Return the processors for which the quota of processor time suffices; None without one."""
    return min(_quotas(root), default=None)


def _quotas(root: Path) -> Iterator[int]:
    for group, unified in _control_groups(root, "cpu"):
        if unified:
            words = _text(group / "cpu.max").split()
        else:
            words = [_text(group / f"cpu.cfs_{name}_us") for name in ("quota", "period")]
        if len(words) == 2 and all(word.isdigit() and int(word) > 0 for word in words):
            quota, period = map(int, words)  # microseconds; no quota is "max" or -1
            yield ceil(quota / period)


def _limits_of_memory(root: Path) -> Iterator[int]:
    for group, unified in _control_groups(root, "memory"):
        limit = _text(group / ("memory.max" if unified else "memory.limit_in_bytes"))
        if limit.isdigit():  # not "max"
            yield int(limit)


def _control_groups(root: Path, controller: str) -> Iterator[tuple[Path, bool]]:
    """Yield the folders of the groups of this process and of all above; True for version 2.

    Within a container, the path of the group may be that on the machine, which does not exist
    there; the uppermost group is then the container's.
    """
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        folder = root / "sys/fs/cgroup" / (controller if controllers else "")
        group = Path(path.lstrip("/"))
        for one in (group, *group.parents):
            yield folder / one, not controllers


def _text(path: Path) -> str:
    """Return the text of a file; nothing if it cannot be read."""
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _installed() -> Iterator[int]:
    """Yield the memory of the machine."""
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _address_space() -> Iterator[int]:
    """Yield the limit of the address space (`ulimit -v`)."""
    try:
        import resource
    except ImportError:  # Windows
        return
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY:
        yield int(limit)
