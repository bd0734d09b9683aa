"""Processors and memory of this process: affinity, quotas, and limits of control groups."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import joblib
import pytest

from widestreet._src import resources
from widestreet._src.engines.budget import parse_memory
from widestreet._src.threads import resolve_threads

# -- processors --------------------------------------------------------------------------------


@pytest.fixture
def quota(monkeypatch):
    """Set the number of processors that joblib counts."""

    def set_quota(count):
        monkeypatch.setattr(joblib, "cpu_count", lambda: count)
        resources._processors_within_quota.cache_clear()

    yield set_quota
    monkeypatch.undo()
    resources._processors_within_quota.cache_clear()


@pytest.mark.parametrize(("within", "affinity", "expected"), [(2, 64, 2), (64, 3, 3), (5, 5, 5)])
def test_the_smaller_of_quota_and_affinity(quota, monkeypatch, within, affinity, expected):
    quota(within)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(affinity)), raising=False)
    assert resources.processors() == expected


def test_without_affinity(quota, monkeypatch):
    quota(6)
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert resources.processors() == 6


def test_threads_are_as_many_as_processors(quota, monkeypatch):
    quota(3)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)), raising=False)
    for name in ("WIDESTREET_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    assert resolve_threads(None) == resolve_threads(-1) == 3
    assert resolve_threads(-2) == 2
    assert resolve_threads(7) == 7


# -- memory ------------------------------------------------------------------------------------

LIMIT = 3 * 2**20  # less than any machine has


def system(root: Path, groups: str, **limits: str) -> Path:
    """Return a root directory with the groups of a process and files of limits."""
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/cgroup").write_text(groups)
    for name, limit in limits.items():
        path = root / "sys/fs/cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{limit}\n")
    return root


V1, V2 = "memory.limit_in_bytes", "memory.max"


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


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits of POSIX")
def test_the_limit_of_the_address_space(tmp_path):
    resource = pytest.importorskip("resource")
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
