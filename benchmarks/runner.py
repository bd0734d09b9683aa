"""Runs jobs, each in a process of its own, and writes down what came of them at once.

The tolerances of a leg are tried in the order in which they matter: that of the comparison first.
If a solver does not reach the violation of the comparison at any of them, smaller ones follow, as
long as they help. A tolerance below one that took too long is not tried. Records that exist are not
made again.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from .discovery import solvers, tasks
from .plan import Leg
from .records import Job, Record, Store, disturbed, settled
from .rule import TARGET, fastest

SMALLEST_TOL = 1e-7
THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "WIDESTREET_NUM_THREADS",
)

Watcher = Callable[[Job, Record | None], None]


def environment(threads: int) -> dict[str, str]:
    """Return what a measuring process finds: threads for everybody, and this package.

    Raises
    ------
    ValueError
        Where a process cannot set itself an alarm, which ends a fit that takes too long.
    """
    if not hasattr(signal, "SIGALRM"):
        raise ValueError("measurements need the timers of POSIX: run them on Linux, macOS or WSL")
    found = os.environ | {name: str(threads) for name in THREADS}
    root = Path(__file__).resolve().parents[1]
    if __package__ == "benchmarks":
        found["PYTHONPATH"] = os.pathsep.join(filter(None, [str(root), found.get("PYTHONPATH")]))
    return found


def execute(module: str, argument: Any, threads: int, timeout: float) -> Record:
    """Run a module of this package on a JSON argument; its last line that is JSON, or why not."""
    command = [sys.executable, "-m", f"{__package__}.{module}", json.dumps(argument)]
    try:
        done = subprocess.run(
            command,
            env=environment(threads),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"status": "failed", "reason": f"not certified within {timeout:.0f} s"}
    if done.returncode == -signal.SIGALRM:
        return {"status": "timeout"}
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        said = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        return {"status": "failed", "reason": said[-1][:200], "exit": done.returncode}
    record: Record = json.loads(lines[-1])
    return record


def measured(job: Job) -> Record:
    """The record of a job, whatever happens to its process."""
    record = job.facts | execute("measure", job.facts, job.threads, job.limit + job.rest)
    return {"measures": "fit"} | record


class Runner:
    """Runs legs and keeps their records in a store.

    Attributes
    ----------
    fresh, again : bool
        Whether records that exist are made again: all, or those that others disturbed.
    watch : callable
        Told of each job before (with None) and after (with its record).
    deadline : float or None
        Clock time after which nothing new is begun.
    """

    def __init__(
        self,
        store: Store,
        threads: int,
        fresh: bool = False,
        again: bool = False,
        watch: Watcher = lambda job, record: None,
        seconds: float | None = None,
        measure: Callable[[Job], Record] = measured,
    ) -> None:
        self.store, self.threads, self.watch = store, threads, watch
        self.fresh, self.again = fresh, again
        self.deadline = None if seconds is None else time.monotonic() + seconds
        self.measure = measure
        self.records: list[Record] = []  # made by this runner
        self.left_out = 0  # measurements that the deadline prevented
        self._done: set[str] = set()

    def run(self, legs: list[Leg], names: list[str]) -> None:
        """All legs with all solvers; a leg that was not begun by the deadline is left out."""
        for leg in legs:
            for name in names:
                self.solve(leg, name)

    def solve(self, leg: Leg, name: str) -> None:
        """One solver at the tolerances of a leg."""
        found: list[Record] = []
        for tol in self._tolerances(leg, name, found):
            limit = self.limit(leg, name, found)
            if any(tol < r["tol"] and _took(r) > limit for r in found):
                continue
            if self._late():
                self.left_out += self.store.get(self._job(leg, name, tol, limit).name) is None
                continue
            found.append(self.record(leg, name, tol, limit))
            if found[-1]["status"] == "absent":
                return

    def _tolerances(self, leg: Leg, name: str, found: list[Record]) -> Iterator[float]:
        """Those of the leg, then smaller ones as long as the target is not reached."""
        if not solvers()[name].uses_tol:
            yield leg.tols[0]
            return
        for tol in leg.tols:
            yield tol
            if _narrowly_missed(found):  # no need for a tenth if a half will do
                yield float(f"{tol / 2:g}")
        tol = min(leg.tols)
        while leg.insist and found and tol > SMALLEST_TOL and fastest(found) is None:
            if any(r["status"] != "answer" for r in found) or _in_vain(found):
                return
            tol = float(f"{tol / 10:g}")
            yield tol

    def _late(self) -> bool:
        return self.deadline is not None and time.monotonic() > self.deadline

    def _job(self, leg: Leg, name: str, tol: float, limit: float) -> Job:
        rows, threads = _rows(leg), self.threads
        return Job(leg.data, rows, name, tol, threads, limit, leg.repeats, rest=leg.rest)

    def record(self, leg: Leg, name: str, tol: float, limit: float) -> Record:
        """A record from the store, or a new one."""
        job = self._job(leg, name, tol, limit)
        old = self.store.get(job.name)
        version = solvers()[name].version()
        if old is not None and settled(old, limit) and old.get("version", version) == version:
            unwanted = self.fresh or (self.again and disturbed(old))
            if job.name in self._done or not unwanted:
                return old
        self.watch(job, None)
        record = self.measure(job)
        self.store.put(job.name, record)
        self.records.append(record)
        self._done.add(job.name)
        self.watch(job, record)
        return record

    def limit(self, leg: Leg, name: str, found: list[Record]) -> float:
        """Seconds for a fit, or a multiple of what our own took."""
        limit = leg.limit if fastest(found) is None else leg.curve_limit
        if leg.times_ours is not None and solvers()[name].rank > 0:
            ours = fastest(r for r in self.store.all() if _ours(r, leg))
            limit = limit if ours is None else max(10.0, leg.times_ours * ours["seconds"])
        return limit


def _rows(leg: Leg) -> int:
    return leg.rows or tasks()[leg.data].rows


def _ours(record: Record, leg: Leg) -> bool:
    expected = ("widestreet", leg.data, _rows(leg))
    return (record["solver"], record.get("data"), record.get("rows")) == expected


def _narrowly_missed(found: list[Record]) -> bool:
    """Whether the last run missed the violation of the comparison by less than a factor of 3."""
    if not found or found[-1]["status"] != "answer" or fastest(found) is not None:
        return False
    return bool(found[-1]["violation"] < 3 * TARGET)


def _in_vain(found: list[Record]) -> bool:
    """Whether the last and smallest tolerance was no better than the one before."""
    last = sorted(found, key=lambda r: -r["tol"])[-2:]
    return len(last) == 2 and last[1]["violation"] > 0.8 * last[0]["violation"]


def _took(record: Record) -> float:
    """Seconds of a fit, or that it had no end."""
    return float(record.get("seconds", float("inf")))
