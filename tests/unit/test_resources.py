"""Processors and memory of this process: affinity, quotas, and limits of control groups."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from widestreet._src import resources, threads
from widestreet._src.engines.budget import parse_memory
from widestreet._src.threads import resolve_threads

# -- processors --------------------------------------------------------------------------------

V1, V2 = "memory.limit_in_bytes", "memory.max"
QUOTA, PERIOD = "cpu.cfs_quota_us", "cpu.cfs_period_us"


def system(root: Path, groups: str, **limits: object) -> Path:
    """Return a root directory with the groups of a process and files of limits."""
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/cgroup").write_text(groups)
    for name, limit in limits.items():
        path = root / "sys/fs/cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{limit}\n")
    return root


@pytest.fixture
def many(monkeypatch):
    """A machine with 64 processors that the process may use."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)), raising=False)
    return monkeypatch


@pytest.mark.parametrize(
    ("groups", "limits", "expected"),
    [
        ("0::/", {"cpu.max": "200000 100000"}, 2),
        ("0::/", {"cpu.max": "150000 100000"}, 2),
        ("0::/", {"cpu.max": "1000 100000"}, 1),
        ("0::/a/b", {"a/cpu.max": "300000 100000", "a/b/cpu.max": "max 100000"}, 3),
        ("0::/not/here", {"cpu.max": "400000 100000"}, 4),
        ("3:cpu,cpuacct:/a", {f"cpu/a/{QUOTA}": 250000, f"cpu/a/{PERIOD}": 50000}, 5),
        ("3:cpu:/docker/1", {f"cpu/{QUOTA}": 600000, f"cpu/{PERIOD}": 100000}, 6),
        ("0::/", {"cpu.max": "max 100000"}, 64),
        ("3:cpu:/", {f"cpu/{QUOTA}": -1, f"cpu/{PERIOD}": 100000}, 64),
        ("3:cpuset:/", {f"cpu/{QUOTA}": 100000, f"cpu/{PERIOD}": 100000}, 64),
        ("0::/", {"cpu.max": "9900000 100000"}, 64),
        ("0::/", {}, 64),
        ("", {}, 64),
    ],
)
def test_the_smallest_quota_of_all_groups_counts(many, tmp_path, groups, limits, expected):
    assert resources.processors(system(tmp_path, groups, **limits)) == expected


def test_the_affinity_counts_and_may_change(many, tmp_path):
    root = system(tmp_path, "0::/", **{"cpu.max": "800000 100000"})
    for count in (3, 8, 5):
        many.setattr(os, "sched_getaffinity", lambda _, n=count: set(range(n)), raising=False)
        assert resources.processors(root) == count


def test_without_affinity(many, tmp_path):
    many.delattr(os, "sched_getaffinity", raising=False)
    many.setattr(os, "cpu_count", lambda: 6)
    assert resources.processors(tmp_path) == 6
    many.setattr(os, "cpu_count", lambda: None)
    assert resources.processors(tmp_path) == 1


def test_threads_are_as_many_as_processors(many, tmp_path):
    root = system(tmp_path, "0::/", **{"cpu.max": "300000 100000"})
    many.setattr(threads, "processors", lambda: resources.processors(root))
    for name in ("WIDESTREET_NUM_THREADS", "OMP_NUM_THREADS"):
        many.delenv(name, raising=False)
    assert resolve_threads(None) == resolve_threads(-1) == 3
    assert resolve_threads(-2) == 2
    assert resolve_threads(7) == 7


# -- memory ------------------------------------------------------------------------------------

LIMIT = 3 * 2**20  # less than any machine has


@pytest.mark.parametrize(
    ("groups", "limits"),
    [
        ("0::/\n", {V2: LIMIT}),
        ("0::/a/b\n", {V2: "max", f"a/{V2}": LIMIT, f"a/b/{V2}": 2 * LIMIT}),
        ("0::/a/b\n", {V2: "max", f"a/{V2}": "max", f"a/b/{V2}": LIMIT}),
        ("0::/not/here\n", {V2: LIMIT}),
        ("4:memory:/a\n", {f"memory/{V1}": 2**63 - 4096, f"memory/a/{V1}": LIMIT}),
        ("5:cpu,memory:/docker/1\n3:cpu:/\n", {f"memory/{V1}": LIMIT}),
        ("0::/\n4:memory:/\n", {V2: "max", f"memory/{V1}": LIMIT}),
    ],
)
def test_the_smallest_limit_of_all_groups_counts(tmp_path, groups, limits):
    assert resources.memory(system(tmp_path, groups, **limits)) == LIMIT


@pytest.mark.parametrize(
    ("groups", "limits"),
    [
        ("0::/\n", {V2: "max"}),
        ("4:memory:/\n", {f"memory/{V1}": 2**63 - 4096}),
        ("3:cpu:/\n", {f"memory/{V1}": LIMIT}),  # another controller's group
        ("0::/\n", {}),
        ("", {}),
    ],
)
def test_without_a_limit_the_machine_counts(tmp_path, groups, limits):
    empty = resources.memory(tmp_path / "none")
    assert resources.memory(system(tmp_path, groups, **limits)) == empty
    assert empty is None or empty > 2**27


def test_the_limit_of_the_address_space(tmp_path):
    resource = pytest.importorskip("resource", reason="only POSIX has such limits")
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = 2**33 if hard == resource.RLIM_INFINITY else hard
    code = (
        "import resource; from widestreet._src.resources import memory\n"
        f"before = memory(); resource.setrlimit(resource.RLIMIT_AS, ({limit}, {hard}))\n"
        f"assert memory() == min(before, {limit})"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_by_default_a_quarter_of_it(monkeypatch):
    monkeypatch.setattr("widestreet._src.engines.budget.memory", lambda: 4 * LIMIT)
    assert parse_memory(None) == LIMIT
    monkeypatch.setattr("widestreet._src.engines.budget.memory", lambda: None)
    assert parse_memory(None) == 2 * 10**9
