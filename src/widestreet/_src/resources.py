"""Processors and memory that this process may use, also within a container.

A container has a quota of processor time and a limit of memory, which are often far below what the
machine has: more threads than the quota allows are halted in turn, and a process that exceeds the
memory is killed. Linux states both by control groups.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path


@cache
def _processors_within_quota() -> int:
    """Return the number of processors by joblib, which reads the quotas of control groups."""
    from joblib import cpu_count  # scikit-learn has imported it when the first estimator is fitted

    return int(cpu_count())


def processors() -> int:
    """Return the number of processors that this process may use."""
    within = _processors_within_quota()
    if hasattr(os, "sched_getaffinity"):  # may change while the process runs
        within = min(within, len(os.sched_getaffinity(0)))
    return within


def memory(root: Path = Path("/")) -> int | None:
    """Return the bytes of memory that this process may use; None if the system does not say."""
    return min([*_installed(), *_of_control_groups(root), *_address_space()], default=None)


def _installed() -> Iterator[int]:
    """Yield the memory of the machine."""
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _of_control_groups(root: Path) -> Iterator[int]:
    """Yield the limits of the control groups of this process, in version 2 and version 1.

    The limits of all groups above count as well. Within a container, the path of the group may be
    that on the machine, which does not exist there; the uppermost group is then the container's.
    """
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if not controllers:
            folder, name = root / "sys/fs/cgroup", "memory.max"
        elif "memory" in controllers.split(","):
            folder, name = root / "sys/fs/cgroup/memory", "memory.limit_in_bytes"
        else:
            continue
        group = Path(path.lstrip("/"))
        for one in (group, *group.parents):
            try:
                limit = (folder / one / name).read_text().strip()
            except OSError:
                continue
            if limit.isdigit():  # not "max"
                yield int(limit)


def _address_space() -> Iterator[int]:
    """Yield the limit of the address space (`ulimit -v`)."""
    try:
        import resource
    except ImportError:  # Windows
        return
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY:
        yield int(limit)
